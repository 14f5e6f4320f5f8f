import { html, nothing, type TemplateResult } from 'lit-html';
import type { SessionItem } from './api.ts';
import { Listing, listPath, listTemplate, liveListTemplate, readFirst } from './listing.ts';
import type { PageModel } from './page-model.ts';
import { ago, firstLineOf, onEnter, outcomeMark, some, troubleBox } from './page-parts.ts';
import { type Route, routeLink, SESSIONS_STATES, type SessionsState } from './route.ts';
import { toVisible, toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

const listingOf = perVisit(() => new Listing<SessionItem>());

const stateOf = (route: Route): SessionsState => (route.page === 'sessions' ? route.state : 'recent');

const pathOf = (route: Route): string => listPath('sessions', { state: stateOf(route) });

export const read = (page: PageModel, signal: AbortSignal): void =>
  readFirst(page, listingOf(page), pathOf(page.route), signal);

/** The sessions of the last day that have failed, are blocked, or were active; beside a field for the id of any other. */
export const view = (page: PageModel): TemplateResult => {
  const state = stateOf(page.route);
  return html`<section aria-labelledby="page-title">
    <h2 id="page-title" tabindex="-1">Sessions</h2>
    ${watchForm()}
    <nav class="row tabs" aria-label="Which sessions">
      ${SESSIONS_STATES.map(
        (each) =>
          html`<a href=${routeLink({ sessions: each })} aria-current=${each === state ? 'page' : nothing}>${TABS[each]}</a>`,
      )}
    </nav>
    ${liveListTemplate(page, listingOf(page))} ${troubleBox(page, page.seen.readTrouble)}
    ${listTemplate(page, listingOf(page), pathOf(page.route), itemTemplate, EMPTY[state])}
  </section>`;
};

const TABS = { failing: 'Failing', blocked: 'Blocked', recent: 'Recent' };
const EMPTY = {
  failing: 'No session has failed in the last 24 hours.',
  blocked: 'No session has a tool that may not be called any more.',
  recent: 'No session was active in the last 24 hours. Send session_id with POST /tool-calls, and it is listed here.',
};

/** The field for the id of a session. */
const watchForm = (): TemplateResult => {
  const watch = (typed: string): void => {
    if (typed !== '') location.hash = routeLink({ session: typed });
  };
  return html`<form autocomplete="off" @submit=${onEnter('session-id', watch)}>
    <label for="session-id">Session id</label>
    <div class="row">
      <input id="session-id" spellcheck="false" maxlength="512" aria-describedby="session-id-about" />
      <button class="primary">Watch</button>
    </div>
    <div class="about" id="session-id-about">
      What the agent sends as session_id: its calls share budgets and a journal. Logs have the first 8 digits of its hash
      instead: search for those.
    </div>
  </form>`;
};

export const SESSION_MARKS = { failing: 'retry', blocked: 'failed', ok: 'success' } as const;

export const shortHash = (hash: string): string => `~${hash.slice(0, 8)}`;

/** A session on a list. */
export const itemTemplate = (item: SessionItem): TemplateResult => {
  const { session, id, state, blocked_tools: blocked, calls, failures, last_failure: failure } = item;
  return html`<li class="card">
    <div class="row">
      <a class="name" href=${routeLink({ session: `~${session}` })}>${id === null ? shortHash(session) : toVisibleName(id)}</a>
      ${outcomeMark(SESSION_MARKS[state], state)}
      <span>${calls === null ? nothing : html`<b>${failures}</b> of ${calls} calls failed`}</span>
      <span class="muted last">${ago(item.last_at)}</span>
    </div>
    ${some(blocked, (tools) => html`<p>Blocked: ${tools.map((tool) => html`<a class="name" href=${routeLink({ tool })}>${toVisibleName(tool)}</a> `)}</p>`)}
    ${some(
      failure,
      ({ tool, code, message, at }) => html`<p><span class="name">${toVisibleName(tool)}</span> <code>${code}</code>
      <span class="muted">${ago(at)}</span> <span class="brief">${toVisible(firstLineOf(message))}</span></p>`,
    )}
  </li>`;
};
