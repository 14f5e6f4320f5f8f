import { html, nothing, type TemplateResult } from 'lit-html';
import { type PendingCall, resultsPath, type ToolResult } from './api.ts';
import type { Attempt } from './attempt.ts';
import { explainStop } from './explain-stop.ts';
import { indentJson, oncePerObject, toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import { changeTemplate, folded, longText, outcomeMark, some, toDuration, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** What came of the last call of a tool. */
export const attemptTemplate = (page: PageModel, tool: string, attempt: Attempt): TemplateResult => {
  const { answer } = attempt;
  if (answer === null)
    return html`<div class="result card"><p class="muted">Waiting for the answer…</p>${shownTemplate(attempt)}</div>`;
  if (answer.trouble !== null) return html`<div class="result card">${troubleBox(page, answer.trouble)}</div>`;
  const { results, request_id: requestId } = answer.body;
  return html`<div class="result card">
    <h4>Result</h4>
    ${results.map((result) => resultTemplate(page, `result:${tool}:${requestId}`, requestId, result, shownTemplate(attempt)))}
    ${folded(page, `raw:${tool}`, 'Raw answer', () => longText(page, `raw:${tool}:all`, indentAnswer(answer)))}
  </div>`;
};

const indentAnswer = oncePerObject(({ text }: { readonly text: string }) => indentJson(text));

/** What the call shows before its result. */
const shownTemplate = ({ progress, parts }: Attempt): unknown =>
  some(
    progress + parts.join('\n'),
    () => html`<h5>Shown while it runs</h5>
      ${some(progress, (text) => html`<p class="shown-progress">${toVisible(text)}</p>`)}
      ${some(parts, (texts) => html`<pre class="shown-parts">${toVisible(texts.join('\n'))}</pre>`)}`,
  );

const resultTemplate = (page: PageModel, identity: string, id: string, result: ToolResult, shown: unknown) => {
  const { error, outcome } = result;
  const marks = (['empty', 'replayed', 'truncated'] as const).filter((mark) => result[mark]);
  return html`<p class="row summary">
      ${outcomeMark(outcome)} ${some(error?.code, (code) => html`<code>${code}</code>`)}
      <span>executed: <b>${result.executed}</b></span>
      <span>${toDuration(result.duration_ms)}</span>
      ${[...(error?.fatal ? ['fatal'] : []), ...marks].map((mark) => html`<span class="mark">${mark}</span>`)}
    </p>
    ${shown} ${outcome === 'pending' ? pendingTemplate(page, id, result.pending) : nothing}
    <h5>${outcome === 'checked' ? 'What the check says: nothing was run' : 'What the model reads'}</h5>
    ${readingTemplate(page, identity, result)}
    ${some(
      explainStop(result),
      ([verdict, budget]) => html`<p class="budget">${verdict} <span class="muted">${budget}</span></p>`,
    )}
    ${(result.warnings ?? []).map(({ code, message }) => html`<p><code>${code}</code> ${toVisibleExcerpt(message)}</p>`)}
    <p class="muted">
      Request <code>${toVisible(id)}</code>
      ${some(error?.reference, (reference) => html`· log reference <code>${toVisible(reference)}</code>`)}
      ${some(error?.approval ?? (result.outcome === 'pending' ? result.pending.approval : null), ({ id }) => html`· <a href=${routeLink({ approvals: id })}>Approval</a>`)}
      ${some(page.options.sessionId, (session) => html`· <a href=${routeLink({ session })}>Session ${toVisibleName(session)}</a>`)}
    </p>`;
};

/** The state and the progress of a call that has not ended, and a button that ends it. */
const pendingTemplate = (page: PageModel, id: string, { state, progress }: PendingCall): TemplateResult =>
  html`<p class="pending row" role="status">
    <b>${state.replaceAll('_', ' ')}</b>
    ${some(progress, ({ done, total, message }) => html`<span>${done}${some(total, (all) => ` of ${all}`)} ${toVisibleExcerpt(message ?? '')}</span>`)}
    <button type="button" class="quiet" @click=${() => page.deleteAt(resultsPath(id), 'The call was asked to end.')}>Cancel the call</button>
  </p>
  ${changeTemplate(page, resultsPath(id))}`;

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
