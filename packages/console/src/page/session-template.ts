import { html, nothing, type TemplateResult } from 'lit-html';
import { isAddressable, type SessionView, sessionPath } from './api.ts';
import { indentJson, toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import {
  factList,
  firstLineOf,
  folded,
  liveTemplate,
  longText,
  moment,
  onEnter,
  outcomeMark,
  some,
  toDuration,
  troubleBox,
} from './page-parts.ts';
import { routeLink } from './route.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

type SessionTool = SessionView['tools'][number];
type SessionRule = NonNullable<SessionView['rules']>[number];
type SessionCall = SessionView['calls'][number];

/** One session, live: its budgets, streaks and slices, and what was called. */
export const view = (page: PageModel): TemplateResult => {
  const { session, readTrouble } = page.seen;
  const id = page.route.page === 'session' ? page.route.id : '';
  const watch = (typed: string): void => {
    if (typed !== '') location.hash = routeLink({ session: typed });
  };
  return html`<section aria-labelledby="session-title">
    <h2 id="session-title" tabindex="-1">${id === '' ? 'Watch a session' : html`Session <span class="name">${toVisibleName(id)}</span>`}</h2>
    <form autocomplete="off" @submit=${onEnter('session-id', watch)}>
      <label for="session-id">Session id</label>
      <div class="row">
        <input id="session-id" spellcheck="false" maxlength="512" .value=${id} />
        <button class="primary">Watch</button>
      </div>
    </form>
    ${id === '' || isAddressable(id) ? nothing : html`<p class="notice">This id cannot be written into a URL path.</p>`}
    ${isAddressable(id) ? liveTemplate(page) : nothing} ${troubleBox(page, readTrouble)}
    ${some(session, (view) => viewTemplate(page, view))}
  </section>`;
};

export const read = (page: PageModel, signal: AbortSignal): void => {
  const { route, seen } = page;
  if (route.page !== 'session' || !isAddressable(route.id)) return;
  void page.read<SessionView>(sessionPath(route.id), (session) => void Object.assign(seen, { session }), signal);
};

const RESET_ALL = {
  title: 'Reset all budgets?',
  text: 'Every tool of this session can be called again immediately.',
  label: 'Reset all',
};
const END_SESSION = {
  title: 'End this session?',
  text: 'Its budgets, streaks and journal are deleted. An agent that continues with it starts from zero.',
  label: 'End session',
};

const viewTemplate = (page: PageModel, view: SessionView): TemplateResult => {
  const { session, tools, calls } = view;
  const isLocal = session.mode === 'local';
  const resetAll = (): void => page.confirmDelete(RESET_ALL, '/budgets', 'All budgets are reset.');
  const end = (): void => page.confirmDelete(END_SESSION, '', 'The session has ended.');
  return html`${noticeTemplate(view)}
    ${factList([
      ['Rounds', ofLimit(session.rounds, session.max_rounds)],
      ['Calls run', ofLimit(session.calls, session.max_calls)],
      ['Retries', ofLimit(session.retries_used, session.retries_limit)],
      ['Stored in', isLocal ? 'this replica, until Redis is back' : session.mode],
    ])}
    <h3>Budgets</h3>
    ${tools.length > 0 ? nothing : html`<p class="muted">No tool has used its budget or has a streak or a count yet.</p>`}
    <ul class="budgets">${tools.map((tool) => budgetTemplate(page, tool, isLocal))}</ul>
    <div class="row">
      <button type="button" ?disabled=${isLocal} @click=${resetAll}>Reset all budgets</button>
      <button type="button" class="danger" ?disabled=${isLocal} @click=${end}>End session</button>
    </div>
    ${rulesTemplate(page, view.rules ?? [])}
    <h3>Calls</h3>
    ${calls.length > 0 ? nothing : html`<p class="muted">The journal is empty.</p>`}
    <ol class="timeline" reversed>${calls.toReversed().map((call) => callTemplate(page, call))}</ol>
    <h3>Slices</h3>
    ${Object.entries(view.slice_errors ?? {}).map(
      ([name, why]) => html`<p class="trouble"><strong>${toVisibleName(name)}</strong> ${toVisible(why)}</p>`,
    )}
    ${Object.entries(view.slices).map(([name, slice]) =>
      folded(page, `slice:${name}`, toVisibleName(name), () => longText(page, `slice:${name}:all`, toJsonText(slice))),
    )}`;
};

const noticeTemplate = ({ session, tools, calls }: SessionView): unknown => {
  if (session.mode === 'local')
    return html`<p class="notice">
      <strong>Redis is away.</strong> This is what this replica counted since ${some(session.since, moment)}; the session
      itself is in Redis. It can be reset or ended when Redis is back.
    </p>`;
  const isEmpty = tools.length + calls.length === 0;
  return isEmpty ? html`<p class="notice">This session has no data: it was never used, or has ended.</p>` : nothing;
};

const ofLimit = (count: number, limit: number | null): string => (limit === null ? `${count}` : `${count} of ${limit}`);

const stateMark = ({ exhausted, failing }: SessionTool): TemplateResult => {
  if (exhausted) return outcomeMark('failed', 'blocked');
  return failing ? outcomeMark('retry', 'failing') : outcomeMark('success', 'free');
};

const budgetTemplate = (page: PageModel, tool: SessionTool, isLocal: boolean): TemplateResult => {
  const { used, running, limit } = tool;
  const name = toVisibleName(tool.name);
  const question = {
    title: `Reset the budget of ${name}?`,
    text: 'The tool can be called and retried again immediately.',
    label: 'Reset',
  };
  const reset = (): void =>
    page.confirmDelete(question, `/budgets/${encodeURIComponent(tool.name)}`, `The budget of ${name} is reset.`);
  const button = html`<button type="button" class="quiet last" aria-label="Reset ${name}"
    ?disabled=${isLocal} @click=${reset}>Reset</button>`;
  return html`<li class="card">
    <div class="row"><span class="name">${name}</span> ${stateMark(tool)} ${isAddressable(tool.name) ? button : nothing}</div>
    <div class="row">
      <meter min="0" max=${Math.max(limit, 1)} .value=${used} aria-label="Retries used by ${name}"></meter>
      <span>${used} of ${limit} retries used${running > 0 ? `, ${running} running` : ''}</span>
    </div>
    <p class="muted">${explainStreaks(tool)}</p>
    ${some(tool.last_error, (error) => longText(page, `error:${tool.name}`, error))}
  </li>`;
};

/** Nothing where no rule counts by session. */
const rulesTemplate = (page: PageModel, rules: readonly SessionRule[]): unknown =>
  rules.length === 0
    ? nothing
    : html`<h3>Rules</h3>
        <ul class="budgets">${rules.map((rule) => ruleTemplate(page, rule))}</ul>`;

const ruleTemplate = (page: PageModel, { name, used, reserved, max, until }: SessionRule): TemplateResult => {
  const question = {
    title: `Have the rule ${name} begin anew?`,
    text: 'All that it has counted in this session is forgotten. Only operators may do this.',
    label: 'Begin anew',
  };
  const reset = (): void => page.confirmDelete(question, `/rules/${name}`, `The rule ${name} has begun anew.`);
  // A browser draws no number that it cannot hold: the text beside it is exact.
  return html`<li class="card">
    <div class="row"><span class="name">${name}</span>
      <button type="button" class="quiet last" aria-label="Have ${name} begin anew" @click=${reset}>Begin anew</button></div>
    <div class="row">
      <meter min="0" max=${Number(max) || 1} .value=${Number(used) + Number(reserved)} aria-label="Used of ${name}"></meter>
      <span>${used} of ${max} used${reserved === '0' ? '' : `, ${reserved} reserved`}</span>
    </div>
    ${some(until, (time) => html`<p class="muted">Some of it is free again at ${moment(time)}.</p>`)}
  </li>`;
};

const explainStreaks = ({ streak, calls, max_calls }: SessionTool): string =>
  [
    ...(calls === null ? [] : [`${ofLimit(calls, max_calls)} calls`]),
    ...(streak.failed === 0 ? [] : [`same call failed ${streak.failed}× in a row`]),
    ...(streak.same_answer === 0 ? [] : [`same answer ${streak.same_answer}× in a row`]),
  ].join(' · ');

/** A call of the session; folds out to its arguments and its whole message. */
const callTemplate = (page: PageModel, call: SessionCall): TemplateResult => {
  const { late } = call;
  const identity = `call:${call.request_id}:${call.step}:${call.index}`;
  const brief = page.opened.has(identity) ? '' : firstLineOf(call.message);
  return html`<li>
    ${folded(page, identity, lineTemplate(call), () => detailsTemplate(page, identity, call))}
    ${some(brief, (line) => html`<p class="first-line">${toVisible(line)}</p>`)}
    ${some(
      late,
      ({ time, outcome, code, message }) => html`<p class="late muted">
        Finished later, at ${moment(time)}: ${outcomeMark(outcome)} ${some(code, (code) => html`<code>${code}</code>`)}
        ${toVisible(firstLineOf(message))}
      </p>`,
    )}
  </li>`;
};

const lineTemplate = (call: SessionCall): TemplateResult => html`<span class="row">
  <span class="muted">${moment(call.time)} <span>round ${call.step}</span></span>
  <span class="name">${toVisibleName(call.name ?? call.tool ?? '(no name)')}</span>
  ${outcomeMark(call.outcome)} ${some(call.code, (code) => html`<code>${code}</code>`)}
  ${some(call.repeats, (times) => html`<span class="muted">(${times} times)</span>`)}
  <span class="muted">${toDuration(call.duration_ms)}${call.replayed ? ', replayed' : ''}</span>
</span>`;

const detailsTemplate = (page: PageModel, identity: string, call: SessionCall): TemplateResult => {
  const entry = (term: string, text: string | undefined): unknown =>
    some(text, (all) => html`<dt>${term}</dt><dd>${longText(page, `${identity}:${term}`, all)}</dd>`);
  return html`<dl class="reading">
    ${entry('Arguments', indentJson(call.arguments))} ${entry('Message', call.message)}
    ${entry('Late message', call.late?.message)}
  </dl>
  <p class="muted">
    executed: ${call.executed} · retries left: ${call.retries_left ?? 'not counted'} · request
    <code>${toVisible(call.request_id)}</code>
  </p>`;
};
