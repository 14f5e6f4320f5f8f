import { html, nothing, type TemplateResult } from 'lit-html';
import type { FailedCall, SearchResult } from './api.ts';
import { itemTemplate } from './calls-template.ts';
import { type ListPage, listPath } from './listing.ts';
import type { PageModel } from './page-model.ts';
import { outcomeMark, some, troubleBox } from './page-parts.ts';
import { routeLink } from './route.ts';
import { SESSION_MARKS, shortHash } from './sessions-template.ts';
import { toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

type Found = SearchResult['found'][number];

const foundOf = perVisit((): { found: readonly Found[] | null; calls: readonly FailedCall[] } => ({
  found: null,
  calls: [],
}));

const textOf = ({ route }: PageModel): string => (route.page === 'search' ? route.text.trim() : '');

export const read = (page: PageModel, signal: AbortSignal): void => {
  const shown = foundOf(page);
  if (page.seen.tools === null) void page.loadTools();
  if (textOf(page) !== '' && shown.found === null) void readFound(page, shown, signal);
};

const readFound = async (page: PageModel, shown: ReturnType<typeof foundOf>, signal: AbortSignal): Promise<void> => {
  const path = listPath('search', { q: textOf(page) });
  await page.readOnce<SearchResult>(path, ({ found }) => Object.assign(shown, { found }), signal);
  const request = shown.found?.find((one) => one.kind === 'request' && one.failures > 0);
  if (request?.kind !== 'request') return;
  const calls = listPath('calls', { request_id: request.request_id });
  await page.readOnce<ListPage<FailedCall>>(calls, ({ items }) => Object.assign(shown, { calls: items }), signal);
};

const MAX_TOOLS = 20;

/** What an id, the hash of a session, or a name leads to. */
export const view = (page: PageModel): TemplateResult => {
  const text = textOf(page);
  const { found, calls } = foundOf(page);
  const part = text.toLowerCase();
  const tools = page.seen.tools?.filter(({ name }) => name.toLowerCase().includes(part)) ?? [];
  const isNothing = found !== null && found.length + tools.length === 0;
  return html`<section aria-labelledby="page-title">
    <h2 id="page-title" tabindex="-1">Search for <span class="name">${toVisibleName(text)}</span></h2>
    ${troubleBox(page, page.seen.readTrouble)} ${isNothing ? html`<p class="notice">${NOTHING}</p>` : nothing}
    ${some(found, (all) => html`<ul class="list">${all.map(foundTemplate)}</ul>`)}
    ${some(calls, (all) => html`<h3>Failed calls of the request</h3><ul class="list">${all.map(itemTemplate)}</ul>`)}
    ${some(
      tools.slice(0, MAX_TOOLS),
      (first) => html`<h3>Tools</h3>
        <ul class="links">${first.map(({ name }) => html`<li><a class="name" href=${routeLink({ tool: name })}>${toVisibleName(name)}</a></li>`)}</ul>
        ${tools.length > MAX_TOOLS ? html`<p class="muted">${tools.length - MAX_TOOLS} more: <a href="#tools">search the tools</a></p>` : nothing}`,
    )}
  </section>`;
};

const NOTHING =
  'Nothing of the last 24 hours has this id. The search knows request ids, references of failures, handles of pending calls, session ids, their hashes (or the first 8 digits, as logs have them), and tools by any part of the name.';

const foundTemplate = (found: Found): TemplateResult => {
  switch (found.kind) {
    case 'session':
      return html`<li class="row"><a href=${routeLink({ session: `~${found.session}` })}>Session <span class="name">${shortHash(found.session)}</span></a>
        ${outcomeMark(SESSION_MARKS[found.state], found.state)}</li>`;
    case 'call':
      return html`<li class="row"><a href=${routeLink({ call: found.reference })}>Failed call <span class="name">${toVisibleName(found.reference)}</span></a>
        <span class="name">${toVisibleName(found.tool)}</span> <code>${found.code}</code></li>`;
    case 'request':
      return html`<li class="row">Request <span class="name">${toVisibleName(found.request_id)}</span>
        <span>${found.failures === 1 ? '1 failure' : `${found.failures} failures`} in the last day</span>
        ${found.has_results ? html`<span class="muted">its results are at GET /tool-calls/${toVisibleName(found.request_id)}</span>` : nothing}</li>`;
    case 'pending':
      return html`<li class="row"><a href=${routeLink({ pending: '', tool: found.tool })}>Pending call of <span class="name">${toVisibleName(found.tool)}</span></a>
        <span class="muted">request ${toVisibleName(found.request_id)}, call ${found.index}</span></li>`;
  }
};
