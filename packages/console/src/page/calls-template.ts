import { html, nothing, type TemplateResult } from 'lit-html';
import type { FailedCall } from './api.ts';
import { Listing, listPath, listTemplate, liveListTemplate, readFirst } from './listing.ts';
import type { PageModel } from './page-model.ts';
import { ago, briefOf, fieldBox, outcomeMark, toDuration, troubleBox, typedIn } from './page-parts.ts';
import { type Route, routeLink } from './route.ts';
import { CODES } from './service-facts.ts';
import { toVisible, toVisibleName } from './visible-text.ts';
import { perVisit } from './visit.ts';

type Filters = { readonly tool: string; readonly code: string; readonly since: string };

const listingOf = perVisit(() => new Listing<FailedCall>());

const NO_FILTERS: Filters = { tool: '', code: '', since: '' };

const filtersOf = (route: Route): Filters => (route.page === 'calls' ? route : NO_FILTERS);

const SPANS: Readonly<Record<string, readonly [string, number]>> = {
  '15m': ['The last 15 minutes', 15],
  '1h': ['The last hour', 60],
  '6h': ['The last 6 hours', 360],
};

const sinceTime = (since: string): string => {
  const minutes = SPANS[since]?.[1];
  return minutes === undefined ? since : new Date(Date.now() - minutes * 60_000).toISOString();
};

// A span of time ends with each reading.
const pathOf = (route: Route): string => {
  const { tool, code, since } = filtersOf(route);
  return listPath('calls', { tool, code, since: sinceTime(since) });
};

export const read = (page: PageModel, signal: AbortSignal): void =>
  readFirst(page, listingOf(page), () => pathOf(page.route), signal);

/** The failed calls of the last day, newest first, narrowed by what stands in the address. */
export const view = (page: PageModel): TemplateResult => {
  const filters = filtersOf(page.route);
  return html`<section aria-labelledby="page-title">
    <h2 id="page-title" tabindex="-1">Failed calls</h2>
    ${filterTemplate(page, filters)} ${liveListTemplate(page, listingOf(page))} ${troubleBox(page, page.seen.readTrouble)}
    ${listTemplate(page, listingOf(page), pathOf(page.route), itemTemplate, emptyTemplate(filters))}
  </section>`;
};

const emptyTemplate = ({ tool, code, since }: Filters): unknown =>
  tool + code + since === ''
    ? 'No call has failed in the last 24 hours.'
    : html`No call of the last 24 hours is like that. <a href=${routeLink({ calls: '' })}>Show all failed calls</a>`;

const filterTemplate = (page: PageModel, filters: Filters): TemplateResult => {
  const { tool, code, since } = filters;
  const go = (change: Partial<Filters>): void => {
    const { tool, code, since } = { ...filters, ...change };
    const given = Object.entries({ tool, code, since }).filter(([, value]) => value !== '');
    location.hash = routeLink({ calls: '', ...Object.fromEntries(given) });
  };
  const names = page.seen.tools?.map(({ name }) => name) ?? [];
  const spans: readonly (readonly [string, unknown])[] = [
    ['', 'The last 24 hours'],
    ...Object.entries(SPANS).map(([name, [label]]) => [name, label] as const),
  ];
  const given = since === '' || since in SPANS ? [] : [[since, `Since ${toVisibleName(since)}`] as const];
  return html`<form class="row filters" autocomplete="off" @submit=${(event: Event) => event.preventDefault()}>
    ${fieldBox(
      'filter-tool',
      'Tool',
      html`<input id="filter-tool" list="tool-names" spellcheck="false" .value=${tool} @change=${(event: Event) => go({ tool: typedIn(event).trim() })} />
        <datalist id="tool-names">${names.slice(0, 300).map((name) => html`<option value=${name}></option>`)}</datalist>`,
      nothing,
    )}
    ${selectBox('filter-code', 'Code', [['', 'All codes'], ...withGiven(Object.keys(CODES), code)], code, (code) => go({ code }))}
    ${selectBox('filter-since', 'Since', [...spans, ...given], since, (since) => go({ since }))}
  </form>`;
};

// An address may name a code that the service does not know.
const withGiven = (codes: readonly string[], given: string): readonly (readonly [string, string])[] =>
  [...new Set([...codes, ...(given === '' ? [] : [given])])].map((code) => [code, toVisibleName(code)] as const);

/** A choice that is made where it stands. */
export const selectBox = (
  id: string,
  label: string,
  options: readonly (readonly [string, unknown])[],
  chosen: string,
  choose: (value: string) => void,
): TemplateResult =>
  fieldBox(
    id,
    label,
    html`<select id=${id} @change=${(event: Event) => choose(typedIn(event))}>
      ${options.map(([value, text]) => html`<option value=${value} .selected=${value === chosen}>${text}</option>`)}
    </select>`,
    nothing,
  );

/** A failed call on a list. */
export const itemTemplate = (call: FailedCall): TemplateResult => html`<li class="card">
  <div class="row">
    <a class="name" href=${routeLink({ call: call.reference, request_id: call.request_id, index: `${call.index}` })}>${toVisibleName(call.name ?? call.tool)}</a>
    ${outcomeMark(call.outcome)} <code>${call.code}</code>
    <span class="muted">${call.fault} · ${toDuration(call.duration_ms)}</span>
    <span class="muted last">${ago(call.at)}</span>
  </div>
  <p class="brief">${toVisible(briefOf(call.message))}</p>
  ${call.outcome === 'unknown' ? html`<p>${SETTLE_LINK}</p>` : nothing}
</li>`;

/** Where a person settles a call whose outcome is unknown, if its tool can be asked for it. */
export const SETTLE_LINK = html`<a href="#unknown">Unknown outcomes that can be settled</a>`;
