import { html, nothing, type TemplateResult } from 'lit-html';
import type { CallsAnswer, ToolResult } from './api.ts';
import { explainStop } from './explain-stop.ts';
import { indentJson, oncePerObject, toJsonText } from './json.ts';
import type { Attempt, PageModel } from './page-model.ts';
import { folded, longText, outcomeMark, some, toDuration, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** What came of the last call of a tool. */
export const attemptTemplate = (page: PageModel, tool: string, attempt: Attempt): TemplateResult => {
  const { answer } = attempt;
  if (answer === null)
    return html`<div class="result card"><p class="muted">Waiting for the answer…</p>${shownTemplate(attempt)}</div>`;
  if (answer.kind !== 'done') return html`<div class="result card">${troubleBox(page, answer)}</div>`;
  return html`<div class="result card">
    <h4>Result</h4>
    ${answer.body.results.map((result) => resultTemplate(page, tool, attempt, answer.body, result))}
    ${folded(page, `raw:${tool}`, 'Raw answer', () => longText(page, `raw:${tool}:all`, indentAnswer(answer)))}
  </div>`;
};

const indentAnswer = oncePerObject(({ text }: { readonly text: string }) => indentJson(text));

/** What the call shows before its result. */
const shownTemplate = ({ progress, parts }: Attempt): unknown =>
  some(
    [
      ...(progress === '' ? [] : [html`<p class="shown-progress">${toVisible(progress)}</p>`]),
      ...(parts.length === 0 ? [] : [html`<pre class="shown-parts">${toVisible(parts.join('\n'))}</pre>`]),
    ],
    (shown) => html`<h5>Shown while it runs</h5>${shown}`,
  );

const resultTemplate = (
  page: PageModel,
  tool: string,
  attempt: Attempt,
  { request_id: requestId }: CallsAnswer,
  result: ToolResult,
): TemplateResult => {
  const { sessionId } = page.options;
  const flags = [
    result.error?.fatal && 'fatal',
    result.empty && 'empty',
    result.replayed && 'replayed',
    result.truncated && 'truncated',
  ];
  return html`<p class="row summary">
      ${outcomeMark(result.outcome)} ${some(result.error?.code, (code) => html`<code>${code}</code>`)}
      <span>executed: <b>${result.executed}</b></span>
      <span>${toDuration(result.duration_ms)}</span>
      ${flags.map((flag) => (flag ? html`<span class="mark">${flag}</span>` : nothing))}
    </p>
    ${shownTemplate(attempt)} ${result.outcome === 'pending' ? pendingTemplate(page, requestId, result) : nothing}
    <h5>What the model reads</h5>
    ${readingTemplate(page, `result:${tool}:${requestId}`, result)}
    ${some(
      explainStop(result),
      ([verdict, budget]) => html`<p class="budget">${verdict} <span class="muted">${budget}</span></p>`,
    )}
    ${(result.warnings ?? []).map(({ code, message }) => html`<p><code>${code}</code> ${toVisibleExcerpt(message)}</p>`)}
    <p class="muted">
      Request <code>${toVisible(requestId)}</code>
      ${some(result.error?.reference, (reference) => html`· log reference <code>${toVisible(reference)}</code>`)}
      ${some(sessionId, (session) => html`· <a href=${routeLink({ session })}>Session ${toVisibleName(session)}</a>`)}
    </p>`;
};

/** The state and the progress of a call that has not ended, and a button that ends it. */
const pendingTemplate = (
  page: PageModel,
  requestId: string,
  { pending: { state, progress } }: Extract<ToolResult, { readonly outcome: 'pending' }>,
): TemplateResult => html`<p class="pending row" role="status">
  <b>${state.replaceAll('_', ' ')}</b>
  ${some(progress, ({ done, total, message }) => html`<span>${done}${some(total, (all) => ` of ${all}`)} ${toVisibleExcerpt(message ?? '')}</span>`)}
  <button type="button" class="quiet" @click=${() => page.cancelCall(requestId)}>Cancel the call</button>
</p>`;

const readingTemplate = (page: PageModel, identity: string, { message, error, value }: ToolResult): TemplateResult =>
  html`<dl class="reading">
    ${some(message, (text) => html`<dt>Message</dt><dd>${longText(page, `${identity}:message`, text)}</dd>`)}
    ${some(error?.retry_after_ms, (ms) => html`<dt>Retry after</dt><dd>${toDuration(ms)}</dd>`)}
    ${some(
      error?.issues,
      (issues) => html`<dt>Issues</dt>
        <dd>
          <ul class="issues">
            ${issues.map(
              ({ path, expected, received, message }) => html`<li>
                <code>${path === '' ? '(whole)' : toVisibleName(path)}</code>
                <span>${toVisibleExcerpt(message)}</span>
                <span class="muted">expected ${toVisibleExcerpt(expected)}, received ${toVisibleExcerpt(received)}</span>
              </li>`,
            )}
          </ul>
        </dd>`,
    )}
    <dt>Value</dt>
    <dd>${longText(page, `${identity}:value`, toJsonText(value))}</dd>
  </dl>`;
