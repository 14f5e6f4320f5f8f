import { html, nothing, type TemplateResult } from 'lit-html';
import type { Overview } from './api.ts';
import * as approvals from './approvals-template.ts';
import { namesOf, type Section } from './overview-parts.ts';
import type { PageModel } from './page-model.ts';
import { moment, outcomeMark, some, toCount, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import * as unknown from './unknown-template.ts';
import { toVisibleExcerpt, toVisibleName } from './visible-text.ts';

type Session = Overview['sessions']['blocked'][number];
const DECISIONS = { unknown, approvals };

/** What is done with each reading: unknown outcomes and approvals are read, too, once there are any. */
export const readDecisions = (page: PageModel, signal: AbortSignal): ((overview: Overview) => void) => {
  const begun = new Set<string>();
  const begin = (name: keyof typeof DECISIONS, total: number): void => {
    if (total === 0 || begun.has(name)) return;
    begun.add(name);
    DECISIONS[name].readEntries(page, signal);
  };
  return ({ unknown, approvals }) => {
    begin('unknown', unknown.total);
    begin('approvals', approvals.total);
  };
};

// More are a page of their own.
const MOST = 5;

export const unknownSection = (page: PageModel, { unknown: { total } }: Overview): Section => ({
  isWrong: total > 0,
  title: 'Unknown outcomes',
  line: total === 0 ? 'none' : toCount(total, 'write'),
  content: () => html`${troubleBox(page, page.seen.outcomeTrouble)}
    <ul class="outcomes">${unknown.entries(page, MOST)}</ul>
    <p><a href="#unknown=">All unknown outcomes</a></p>`,
});

export const approvalsSection = (page: PageModel, { approvals: { total } }: Overview): Section => ({
  isWrong: total > 0,
  title: 'Approvals',
  line: total === 0 ? 'no call waits for a person' : toCount(total, 'call waits', 'calls wait'),
  content: () => html`${troubleBox(page, page.seen.approvalTrouble)}
    <ul class="outcomes">${approvals.entries(page, MOST)}</ul>
    <p><a href="#approvals=">All approvals</a></p>`,
});

export const blockedSection = (_page: PageModel, { sessions: { failing, blocked } }: Overview): Section => ({
  isWrong: blocked.length > 0,
  title: 'Sessions with blocked tools',
  line: blocked.length === 0 ? `none; ${toCount(failing, 'session fails', 'sessions fail')}` : `${blocked.length}`,
  content: () => html`<ul class="findings">${blocked.map(sessionTemplate)}</ul>
    <p><a href="#sessions=blocked">All blocked sessions</a> · <a href="#sessions=failing">Failing sessions</a></p>`,
});

const sessionTemplate = (session: Session): TemplateResult => {
  const { id, session: hash, last_failure: last } = session;
  const name = id === null ? `${hash.slice(0, 8)}…` : toVisibleName(id);
  return html`<li>
    <div class="row">
      <a class="name strong" href=${routeLink({ session: id ?? `~${hash}` })}>${name}</a>
      ${outcomeMark('failed', `may not call ${namesOf(session.blocked_tools)}`)}
      <span>${session.calls === null ? nothing : `${session.failures} of ${toCount(session.calls, 'call')} failed`}</span>
      <span class="muted">last ${moment(session.last_at)}</span>
    </div>
    ${last === null ? nothing : html`<p class="message"><span class="name">${toVisibleName(last.tool)}</span> <code>${last.code}</code> ${some(last.message, toVisibleExcerpt)}</p>`}
  </li>`;
};
