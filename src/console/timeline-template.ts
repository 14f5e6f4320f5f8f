import { html, nothing, type TemplateResult } from 'lit-html';
import { indentJson } from './json-text.ts';
import type { LateResult, SessionCall } from './session.ts';
import { folded, longText, moment, outcomeMark, type Part, toDuration } from './small-templates.ts';
import type { View } from './view.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

/** The calls of a session, newest first; each folds out to its arguments and its whole message. */
export const timelineTemplate = (view: View, calls: readonly SessionCall[]): TemplateResult =>
  calls.length === 0
    ? html`<p class="muted">No calls are kept.</p>`
    : html`<ol class="timeline" reversed>
        ${calls.map((call) => callTemplate(view, call))}
      </ol>`;

const callTemplate = (view: View, call: SessionCall): TemplateResult => {
  const isBrief = call.message !== '' && !view.state.opened.has(call.identity);
  return html`<li>
    ${folded(view, call.identity, lineOf(call), () => detailsTemplate(view, call))}
    ${isBrief ? html`<p class="first-line">${toVisible(firstLineOf(call.message))}</p>` : nothing}
    ${call.late === null ? nothing : lateTemplate(call.late)}
  </li>`;
};

const lineOf = (call: SessionCall): TemplateResult => html`<span class="line">
  <span class="muted">${moment(call.time)} <span>round ${call.step}</span></span>
  <span class="name">${toVisibleName(call.tool)}</span>
  ${outcomeMark(call.outcome)} ${call.code === '' ? nothing : html`<code>${toVisible(call.code)}</code>`}
  <span class="muted">${toDuration(call.durationMs)}${call.replayed ? ', replayed' : ''}</span>
</span>`;

const MAX_LINE = 240;

const firstLineOf = (message: string): string => {
  const [line = ''] = message.slice(0, MAX_LINE + 1).split('\n', 1);
  return line.length < message.length ? `${line.slice(0, MAX_LINE)}…` : line;
};

const lateTemplate = ({ time, outcome, code, message }: LateResult): TemplateResult => html`<p class="late">
  Ended later, at ${moment(time)}: ${outcomeMark(outcome)}
  ${code === '' ? nothing : html`<code>${toVisible(code)}</code>`} ${toVisible(firstLineOf(message))}
</p>`;

const detailsTemplate = (view: View, call: SessionCall): TemplateResult => {
  const { identity } = call;
  return html`<dl class="reading">
    <dt>Arguments</dt>
    <dd>${longText(view, `${identity}:arguments`, indentJson(call.arguments))}</dd>
    ${call.message === '' ? nothing : html`<dt>Message</dt><dd>${longText(view, `${identity}:message`, call.message)}</dd>`}
    ${lateMessage(view, call)}
  </dl>
  <p class="muted">
    executed: ${toVisible(call.executed)} · retries left: ${call.retriesLeft ?? 'not counted'} · request
    <code>${toVisible(call.requestId)}</code>
  </p>`;
};

const lateMessage = (view: View, { identity, late }: SessionCall): Part =>
  late === null || late.message === ''
    ? nothing
    : html`<dt>Late message</dt><dd>${longText(view, `${identity}:late`, late.message)}</dd>`;
