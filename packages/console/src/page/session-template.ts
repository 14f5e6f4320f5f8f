import { html, nothing, type TemplateResult } from 'lit-html';
import { isAddressable, type SessionView, sessionPath } from './api.ts';
import { toJsonText } from './json.ts';
import type { PageModel } from './page-model.ts';
import {
  changeTemplate,
  factList,
  firstLineOf,
  folded,
  liveTemplate,
  longText,
  moment,
  outcomeMark,
  some,
  troubleBox,
} from './page-parts.ts';
import { routeLink } from './route.ts';
import { storyTemplate } from './session-story.ts';
import { toVisible, toVisibleName } from './visible-text.ts';

type SessionTool = SessionView['tools'][number];
type SessionRule = NonNullable<SessionView['rules']>[number];

const idOf = ({ route }: PageModel): string => (route.page === 'session' ? route.id : '');

/** One session, live: what stops it, what was called, and what else is kept of it. */
export const view = (page: PageModel): TemplateResult => {
  const { session, readTrouble } = page.seen;
  const id = idOf(page);
  return html`<section aria-labelledby="session-title">
    <h2 id="session-title" tabindex="-1">Session <span class="name">${toVisibleName(id)}</span></h2>
    ${isAddressable(id) ? liveTemplate(page) : html`<p class="notice">This id cannot be written into a URL path.</p>`}
    ${troubleBox(page, readTrouble)} ${some(session, (view) => viewTemplate(page, view))}
  </section>`;
};

export const read = (page: PageModel, signal: AbortSignal): void => {
  const id = idOf(page);
  const { seen } = page;
  if (!isAddressable(id)) return;
  void page.read<SessionView>(sessionPath(id), (session) => void Object.assign(seen, { session }), signal);
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
  const { session, tools } = view;
  const isLocal = session.mode === 'local';
  const [used, healthy] = splitTools(tools);
  return html`${noticeTemplate(view)}
    ${factList([
      ['Rounds', ofLimit(session.rounds, session.max_rounds)],
      ['Calls run', ofLimit(session.calls, session.max_calls)],
      ['Retries', ofLimit(session.retries_used, session.retries_limit)],
      ['Stored in', isLocal ? 'this replica, until Redis is back' : session.mode],
    ])}
    ${used.length > 0 ? html`<h3>Budgets</h3><ul class="budgets">${used.map((tool) => budgetTemplate(page, tool, isLocal))}</ul>` : nothing}
    ${healthyTemplate(healthy)} ${storyTemplate(page, view)} ${rulesTemplate(page, view.rules ?? [])}
    <h3>Slices</h3>
    ${Object.entries(view.slice_errors ?? {}).map(
      ([name, why]) => html`<p class="trouble"><strong>${toVisibleName(name)}</strong> ${toVisible(why)}</p>`,
    )}
    ${Object.entries(view.slices).map(([name, slice]) =>
      folded(page, `slice:${name}`, toVisibleName(name), () => longText(page, `slice:${name}:all`, toJsonText(slice))),
    )}
    ${isEmpty(view) ? nothing : changesTemplate(page, isLocal)}`;
};

const changesTemplate = (page: PageModel, isLocal: boolean): TemplateResult => {
  const path = sessionPath(idOf(page));
  const resetAll = (): void => page.askDelete(RESET_ALL, `${path}/budgets`, 'All budgets are reset.');
  const end = (): void => page.askDelete(END_SESSION, path, 'The session has ended.');
  return html`<div class="row changes">
    <button type="button" class="quiet" ?disabled=${isLocal} @click=${resetAll}>Reset all budgets</button>
    <button type="button" class="quiet danger" ?disabled=${isLocal} @click=${end}>End session</button>
  </div>
  ${changeTemplate(page, `${path}/budgets`)} ${changeTemplate(page, path)}`;
};

/** Those whose budget somebody must know of, the blocked ones first; and the others. */
const splitTools = (tools: readonly SessionTool[]): readonly [readonly SessionTool[], readonly SessionTool[]] => {
  const matters = ({ exhausted, failing, used, running }: SessionTool): boolean =>
    exhausted || failing || used + running > 0;
  const used = tools.filter(matters).toSorted((one, other) => Number(other.exhausted) - Number(one.exhausted));
  return [used, tools.filter((tool) => !matters(tool))];
};

const healthyTemplate = (tools: readonly SessionTool[]): unknown =>
  some(tools, (healthy) => {
    const noted = healthy.map((tool) => {
      const streaks = explainStreaks(tool);
      return html`<a class="name" href=${routeLink({ tool: tool.name })}>${toVisibleName(tool.name)}</a>${streaks === '' ? '' : ` (${streaks})`} `;
    });
    return html`<p class="muted healthy">No retry used: ${noted}</p>`;
  });

const isEmpty = ({ tools, calls, pending = [] }: SessionView): boolean =>
  tools.length + calls.length + pending.length === 0;

const noticeTemplate = (view: SessionView): unknown => {
  const { session } = view;
  if (session.mode === 'local')
    return html`<p class="notice">
      <strong>Redis is away.</strong> This is what this replica counted since ${some(session.since, moment)}; the session
      itself is in Redis. It can be reset or ended when Redis is back.
    </p>`;
  return isEmpty(view)
    ? html`<p class="notice">This session has no data: it was never used, or has ended.</p>`
    : nothing;
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
  const path = `${sessionPath(idOf(page))}/budgets/${encodeURIComponent(tool.name)}`;
  const reset = (): void => page.askDelete(question, path, `The budget of ${name} is reset.`);
  const button = html`<button type="button" class="quiet last" aria-label="Reset ${name}"
    ?disabled=${isLocal} @click=${reset}>Reset</button>`;
  const streaks = explainStreaks(tool);
  return html`<li>
    <div class="row">
      <a class="name" href=${routeLink({ tool: tool.name })}>${name}</a> ${stateMark(tool)}
      <meter min="0" max=${Math.max(limit, 1)} .value=${used} aria-label="Retries used by ${name}"></meter>
      <span><b>${used} of ${limit}</b> retries used${running > 0 ? `, ${running} running` : ''}</span>
      <span class="muted">${streaks}</span>
      ${isAddressable(tool.name) ? button : nothing}
    </div>
    ${some(tool.last_error, (error) => html`<p class="brief">${toVisible(firstLineOf(error))}</p>`)}
    ${changeTemplate(page, path)}
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
  const path = `${sessionPath(idOf(page))}/rules/${name}`;
  const reset = (): void => page.askDelete(question, path, `The rule ${name} has begun anew.`);
  // A browser draws no number that it cannot hold: the text beside it is exact.
  return html`<li class="card">
    <div class="row"><span class="name">${name}</span>
      <button type="button" class="quiet last" aria-label="Have ${name} begin anew" @click=${reset}>Begin anew</button></div>
    <div class="row">
      <meter min="0" max=${Number(max) || 1} .value=${Number(used) + Number(reserved)} aria-label="Used of ${name}"></meter>
      <span>${used} of ${max} used${reserved === '0' ? '' : `, ${reserved} reserved`}</span>
    </div>
    ${some(until, (time) => html`<p class="muted">Some of it is free again at ${moment(time)}.</p>`)}
    ${changeTemplate(page, path)}
  </li>`;
};

const explainStreaks = ({ streak, calls, max_calls }: SessionTool): string =>
  [
    ...(calls === null ? [] : [`${ofLimit(calls, max_calls)} calls`]),
    ...(streak.failed === 0 ? [] : [`same call failed ${streak.failed}× in a row`]),
    ...(streak.same_answer === 0 ? [] : [`same answer ${streak.same_answer}× in a row`]),
  ].join(' · ');
