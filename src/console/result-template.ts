import { html, nothing, type TemplateResult } from 'lit-html';
import type { CallResult, Issue } from './call-result.ts';
import { explainStop } from './explain-stop.ts';
import { indentJson, oncePerObject, toJsonText } from './json-text.ts';
import { folded, longText, outcomeMark, type Part, toDuration, troubleBox } from './small-templates.ts';
import { type Attempt, sessionLink } from './state.ts';
import type { ToolDescription } from './tool-description.ts';
import type { View } from './view.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from './visible-text.ts';

/** What came of the last call of a tool. */
export const attemptTemplate = (view: View, tool: ToolDescription, attempt: Attempt): Part => {
  switch (attempt.kind) {
    case 'none':
      return nothing;
    case 'sending':
      return html`<div class="result"><p class="muted">Waiting for the answer…</p></div>`;
    case 'troubled':
      return html`<div class="result">${troubleBox(view, attempt.trouble)}</div>`;
    case 'answered':
      return answerTemplate(view, tool, attempt);
  }
};

type Answered = Extract<Attempt, { readonly kind: 'answered' }>;

const toRawText = oncePerObject(({ raw }: Answered) => indentJson(raw));

const answerTemplate = (view: View, { name }: ToolDescription, attempt: Answered): TemplateResult => {
  const { result, requestId } = attempt.answer;
  const identity = `result:${name}:${requestId}`;
  const { sessionId } = view.state.options;
  return html`<div class="result">
    <h4>Result</h4>
    <p class="summary">
      ${outcomeMark(result.outcome)} ${result.code === '' ? nothing : html`<code>${toVisible(result.code)}</code>`}
      <span>executed: <b>${toVisible(result.executed)}</b></span>
      <span>${toDuration(result.durationMs)}</span>
      ${result.marks.map((mark) => html`<span class="mark other">${mark}</span>`)}
    </p>
    <h5>What the model reads</h5>
    ${readingTemplate(view, identity, result)} ${stopTemplate(result)}
    ${warningsTemplate(result)}
    ${folded(view, `${identity}:raw`, 'Raw answer', () => longText(view, `${identity}:raw:all`, toRawText(attempt)))}
    <p class="muted">
      Request <code>${toVisible(requestId)}</code>
      ${result.reference === '' ? nothing : html`· log reference <code>${toVisible(result.reference)}</code>`}
      ${sessionId === '' ? nothing : html`· <a href=${sessionLink(sessionId)}>Session ${toVisibleName(sessionId)}</a>`}
    </p>
  </div>`;
};

const readingTemplate = (view: View, identity: string, result: CallResult): TemplateResult => html`<dl class="reading">
  ${result.message === '' ? nothing : html`<dt>Message</dt><dd>${longText(view, `${identity}:message`, result.message)}</dd>`}
  ${result.retryAfterMs === null ? nothing : html`<dt>Retry after</dt><dd>${toDuration(result.retryAfterMs)}</dd>`}
  ${result.issues.length === 0 ? nothing : html`<dt>Issues</dt><dd>${issuesTemplate(result.issues)}</dd>`}
  <dt>Value</dt>
  <dd>${longText(view, `${identity}:value`, toJsonText(result.value))}</dd>
</dl>`;

const issuesTemplate = (issues: readonly Issue[]): TemplateResult => html`<ul class="issues">
  ${issues.map(
    ({ path, expected, received, message }) => html`<li>
      <code>${path === '' ? '(whole)' : toVisibleName(path)}</code>
      <span>${toVisibleExcerpt(message)}</span>
      <span class="muted">expected ${toVisibleExcerpt(expected)}, received ${toVisibleExcerpt(received)}</span>
    </li>`,
  )}
</ul>`;

const stopTemplate = (result: CallResult): Part => {
  const stop = explainStop(result);
  if (stop === null) return nothing;
  const { verdict, budget } = stop;
  return html`<p class="budget">
    ${toVisible(verdict)} ${budget === '' ? nothing : html`<span class="muted">${toVisible(budget)}</span>`}
  </p>`;
};

const warningsTemplate = ({ warnings }: CallResult): Part =>
  warnings.length === 0
    ? nothing
    : html`<ul class="warnings">
        ${warnings.map(({ code, message }) => html`<li><code>${toVisible(code)}</code> ${toVisibleExcerpt(message)}</li>`)}
      </ul>`;
