import { html, nothing, type TemplateResult } from 'lit-html';
import { type PendingItem, resultsPath } from './api.ts';
import { Listing, listPath, listTemplate, liveListTemplate, readFirst } from './listing.ts';
import type { PageModel } from './page-model.ts';
import { ago, changeTemplate, fieldBox, outcomeMark, some, toLeft, troubleBox, typedIn } from './page-parts.ts';
import { type Route, routeLink } from './route.ts';
import { shortHash } from './sessions-template.ts';
import { toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

const listingOf = perVisit(() => new Listing<PendingItem>());

const toolOf = (route: Route): string => (route.page === 'pending' ? route.tool : '');

const pathOf = (route: Route): string => listPath('calls/pending', { tool: toolOf(route) });

export const read = (page: PageModel, signal: AbortSignal): void =>
  readFirst(page, listingOf(page), pathOf(page.route), signal);

/** The calls that were accepted and have not ended, newest first. */
export const view = (page: PageModel): TemplateResult => {
  const tool = toolOf(page.route);
  const go = (event: Event): void => {
    const typed = typedIn(event).trim();
    location.hash = routeLink({ pending: '', ...(typed !== '' && { tool: typed }) });
  };
  return html`<section aria-labelledby="page-title">
    <h2 id="page-title" tabindex="-1">Pending calls</h2>
    <form class="row filters" autocomplete="off" @submit=${(event: Event) => event.preventDefault()}>
      ${fieldBox('filter-tool', 'Tool', html`<input id="filter-tool" spellcheck="false" .value=${tool} @change=${go} />`, nothing)}
    </form>
    ${liveListTemplate(page, listingOf(page))} ${troubleBox(page, page.seen.readTrouble)}
    ${listTemplate(page, listingOf(page), pathOf(page.route), (item) => itemTemplate(page, item), emptyTemplate(tool))}
  </section>`;
};

const emptyTemplate = (tool: string): unknown =>
  tool === ''
    ? 'No call is pending. A call is listed here while it runs in the background, waits in a queue, or waits for an approval.'
    : html`No call of this tool is pending. <a href=${routeLink({ pending: '' })}>Show all pending calls</a>`;

const itemTemplate = (page: PageModel, item: PendingItem): TemplateResult => {
  const { tool, state, lane, since, expires_at: until, session, key, request_id: requestId, index } = item;
  const name = toVisibleName(tool);
  const path = resultsPath(requestId);
  const question = {
    title: `Cancel this call of ${name}?`,
    text: 'The call is asked to end. If it runs, it may already have taken effect. Other calls of its request that have not ended are cancelled with it.',
    label: 'Cancel the call',
  };
  const cancel = (): void => page.askDelete(question, path, 'The call was asked to end.');
  return html`<li class="card">
    <div class="row">
      <a class="name" href=${routeLink({ tool })}>${name}</a> ${outcomeMark('pending', state.replaceAll('_', ' '))}
      <span class="muted">since ${ago(since)}; <span class="left">${toLeft(Date.parse(until) - Date.now())}</span> left</span>
      <button type="button" class="quiet last" aria-label="Cancel ${name} of ${toVisibleName(requestId)}" @click=${cancel}>Cancel</button>
    </div>
    <p class="muted row">
      <span>request <code>${toVisibleName(requestId)}</code>, call ${index}</span>
      ${some(lane, (lane) => html`<span>lane <code>${toVisibleName(lane)}</code></span>`)}
      ${some(key, (key) => html`<span>key <code>${toVisibleName(key)}</code></span>`)}
      ${some(session, (hash) => html`<a href=${routeLink({ session: `~${hash}` })}>Session ${shortHash(hash)}</a>`)}
      ${state === 'waiting_for_approval' ? html`<a href=${routeLink({ approvals: '' })}>Approvals</a>` : nothing}
    </p>
    ${changeTemplate(page, path)}
  </li>`;
};
