import { html, nothing, type TemplateResult } from 'lit-html';
import type { View } from './actions.ts';
import type { LateResult, Session, SessionCall, SessionTool } from './answers.ts';
import { isAddressable } from './call-service.ts';
import { indentJson, toJsonText } from './json.ts';
import { folded, longText, moment, outcomeMark, type Part, toDuration, troubleBox } from './page-parts.ts';
import { sessionLink } from './state.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

/** One session, live: its budgets, streaks and slices, and what was called. */
export const sessionTemplate = (view: View, id: string): TemplateResult => {
  const { session, sessionTrouble } = view.state;
  return html`<section class="session" aria-labelledby="session-title">
    <h2 id="session-title" tabindex="-1">${id === '' ? 'Watch a session' : html`Session <span class="name">${toVisibleName(id)}</span>`}</h2>
    ${chooseTemplate(id)} ${id === '' || isAddressable(id) ? nothing : html`<p class="notice">This id cannot be written into a URL path.</p>`}
    ${isAddressable(id) ? liveTemplate(view) : nothing} ${troubleBox(view, sessionTrouble)}
    ${session === null ? nothing : viewTemplate(view, session)}
  </section>`;
};

const chooseTemplate = (id: string): TemplateResult => {
  const choose = (event: SubmitEvent): void => {
    event.preventDefault();
    const input = document.getElementById('session-id');
    if (input instanceof HTMLInputElement && input.value !== '') location.hash = sessionLink(input.value);
  };
  return html`<form class="choose" autocomplete="off" @submit=${choose}>
    <label for="session-id">Session id</label>
    <div class="row">
      <input id="session-id" spellcheck="false" maxlength="512" .value=${id} />
      <button class="primary">Watch</button>
    </div>
  </form>`;
};

const liveTemplate = ({ state, act }: View): TemplateResult => {
  const isLive = state.polling === 'live';
  return html`<div class="live">
    <button type="button" class="quiet pause" @click=${() => act.setPolling(isLive ? 'paused' : 'live')}>
      ${isLive ? 'Pause' : 'Resume'}
    </button>
    <span class="muted">
      ${isLive ? 'Live: read every 2 s.' : 'Paused.'} ${state.readAt === '' ? nothing : html`Last read ${moment(state.readAt)}.`}
    </span>
  </div>`;
};

const viewTemplate = (view: View, session: Session): TemplateResult => {
  const isStored = session.mode !== 'local';
  return html`${noticeTemplate(session, isStored)}
    <dl class="facts">
      ${factsOf(session).map(([term, fact]) => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`)}
    </dl>
    <h3>Budgets</h3>
    ${
      session.tools.length === 0
        ? html`<p class="muted">No tool has used its budget or has a streak or a count yet.</p>`
        : html`<ul class="budgets">${session.tools.map((tool) => budgetTemplate(view, tool, session))}</ul>`
    }
    <div class="actions">
      <button type="button" ?disabled=${!isStored} @click=${view.act.resetAll}>Reset all budgets</button>
      <button type="button" class="danger" ?disabled=${!isStored} @click=${view.act.endSession}>End session</button>
    </div>
    <h3>Calls</h3>
    ${timelineTemplate(view, session.journal)} ${slicesTemplate(view, session)}`;
};

const noticeTemplate = (session: Session, isStored: boolean): Part => {
  if (!isStored)
    return html`<p class="notice">
      <strong>Redis is away.</strong> This is what this replica counted since ${moment(session.localSince)}; the session
      itself is in Redis. It can be reset or ended when Redis is back.
    </p>`;
  const isEmpty = session.tools.length === 0 && session.journal.length === 0;
  return isEmpty ? html`<p class="notice">This session has no data: it was never used, or has ended.</p>` : nothing;
};

const ofLimit = (count: number, limit: number | null): string => (limit === null ? `${count}` : `${count} of ${limit}`);

const factsOf = (session: Session): readonly (readonly [string, string])[] => [
  ['Rounds', ofLimit(session.rounds, session.maxRounds)],
  ['Calls run', ofLimit(session.calls, session.maxCalls)],
  ['Retries', ofLimit(session.retriesUsed, session.retriesLimit)],
  ['Stored in', session.mode === 'local' ? 'this replica, until Redis is back' : toVisible(session.mode)],
];

const stateOf = ({ exhausted, failing }: SessionTool): TemplateResult => {
  if (exhausted) return html`<span class="mark failed"><span aria-hidden="true">✕</span> blocked</span>`;
  if (failing) return html`<span class="mark retry"><span aria-hidden="true">↻</span> failing</span>`;
  return html`<span class="mark success"><span aria-hidden="true">✓</span> free</span>`;
};

const budgetTemplate = (view: View, tool: SessionTool, session: Session): TemplateResult => {
  const name = toVisibleName(tool.name);
  return html`<li>
    <div class="head">
      <span class="name">${name}</span> ${stateOf(tool)}
      ${
        isAddressable(tool.name)
          ? html`<button type="button" class="quiet reset" aria-label="Reset ${name}" ?disabled=${session.mode === 'local'} @click=${() => view.act.resetTool(tool.name)}>
              Reset
            </button>`
          : nothing
      }
    </div>
    <div class="meter">
      <meter min="0" max=${Math.max(tool.limit, 1)} .value=${tool.used} aria-label="Retries used by ${name}"></meter>
      <span>${tool.used} of ${tool.limit} retries used${tool.running > 0 ? `, ${tool.running} running` : ''}</span>
    </div>
    <p class="muted">${streaksOf(tool)}</p>
    ${tool.lastError === '' ? nothing : longText(view, `error:${tool.name}`, lastErrorOf(tool, session.journal))}
  </li>`;
};

const inOneLine = (text: string): string => text.replace(/\s+/g, ' ');

/** The last error with the line ends that the journal keeps of it: a budget keeps one line. */
const lastErrorOf = ({ name, lastError }: SessionTool, journal: readonly SessionCall[]): string =>
  journal.find(({ tool, message }) => tool === name && message !== '' && inOneLine(message) === inOneLine(lastError))
    ?.message ?? lastError;

const streaksOf = ({ failedStreak, sameAnswerStreak, calls, maxCalls }: SessionTool): string => {
  const counted = calls === null ? [] : [`${ofLimit(calls, maxCalls)} calls`];
  const failed = failedStreak === 0 ? [] : [`same call failed ${failedStreak}× in a row`];
  const same = sameAnswerStreak === 0 ? [] : [`same answer ${sameAnswerStreak}× in a row`];
  return [...counted, ...failed, ...same].join(' · ');
};

const slicesTemplate = (view: View, { slices, sliceErrors }: Session): Part => {
  if (slices.length + sliceErrors.length === 0) return nothing;
  return html`<h3>Slices</h3>
    ${sliceErrors.map(
      ([name, why]) => html`<p class="trouble"><strong>${toVisibleName(name)}</strong> ${toVisible(why)}</p>`,
    )}
    ${slices.map(([name, slice]) =>
      folded(view, `slice:${name}`, toVisibleName(name), () => longText(view, `slice:${name}:all`, toJsonText(slice))),
    )}`;
};

/** The calls of a session, newest first; each folds out to its arguments and its whole message. */
const timelineTemplate = (view: View, calls: readonly SessionCall[]): TemplateResult =>
  calls.length === 0
    ? html`<p class="muted">The journal is empty.</p>`
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
  ${call.repeats === null ? nothing : html`<span class="muted">(${call.repeats} times)</span>`}
  <span class="muted">${toDuration(call.durationMs)}${call.replayed ? ', replayed' : ''}</span>
</span>`;

const MAX_LINE = 240;

const firstLineOf = (message: string): string => {
  const [line = ''] = message.slice(0, MAX_LINE + 1).split('\n', 1);
  return line.length < message.length ? `${line.slice(0, MAX_LINE)}…` : line;
};

const lateTemplate = ({ time, outcome, code, message }: LateResult): TemplateResult => html`<p class="late">
  Finished later, at ${moment(time)}: ${outcomeMark(outcome)}
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
