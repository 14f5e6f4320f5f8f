import { html, nothing, type TemplateResult } from 'lit-html';
import type { Answer, Trouble } from './api.ts';
import type { PageModel, Path } from './page-model.ts';
import { liveTemplate, moment, troubleBox } from './page-parts.ts';

export type ListPage<Item> = { readonly items: readonly Item[]; readonly next_cursor: string | null };

/**
 * A list that is read page by page, newest first.
 *
 * | what        | begins                            | ends                                     |
 * |-------------|-----------------------------------|------------------------------------------|
 * | first page  | with the visit; read again and again | a further page was asked for          |
 * | more pages  | `More` was pressed                | *Read anew*, or another address or key   |
 */
export class Listing<Item> {
  items: readonly Item[] | null = null;
  next: string | null = null;
  /** When it stopped to follow what happens; '' while it does. */
  stoppedAt = '';
  isAsking = false;
  trouble: Trouble | null = null;

  takeFirst({ items, next_cursor: next }: ListPage<Item>): void {
    // An answer may come behind the one of a further page.
    if (this.stoppedAt === '') Object.assign(this, { items, next });
  }

  takeMore(answer: Answer<ListPage<Item>>): void {
    this.isAsking = false;
    this.trouble = answer.trouble;
    if (answer.trouble !== null) return;
    const { items, next_cursor: next } = answer.body;
    Object.assign(this, { items: [...(this.items ?? []), ...items], next });
  }
}

/** The path of a page of a list, with what narrows it; what is empty narrows nothing. */
export const listPath = (path: string, filters: Readonly<Record<string, string>>): string => {
  const given = Object.entries(filters).filter(([, value]) => value !== '');
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
};

/** Reads a list's first page again and again, as long as no further one is shown. */
export const readFirst = <Item>(page: PageModel, listing: Listing<Item>, path: Path, signal: AbortSignal): void => {
  if (listing.stoppedAt === '') void page.read<ListPage<Item>>(path, (first) => listing.takeFirst(first), signal);
};

/** Whether a list is read again and again, and a button that changes that. */
export const liveListTemplate = (page: PageModel, { stoppedAt }: Listing<unknown>): TemplateResult =>
  stoppedAt === ''
    ? liveTemplate(page)
    : html`<p class="row">
        <button type="button" class="quiet" @click=${() => page.go(location.hash)}>Read anew</button>
        <span class="muted">The entries are shown as they were at ${moment(stoppedAt)}.</span>
      </p>`;

/** The rows of a list with a button for more of them; `empty` says what to do where there is none. */
export const listTemplate = <Item>(
  page: PageModel,
  listing: Listing<Item>,
  path: string,
  row: (item: Item) => TemplateResult,
  empty: unknown,
): TemplateResult => {
  const { items, next, isAsking, trouble } = listing;
  if (items === null) return html`${nothing}`;
  if (items.length === 0) return html`<p class="notice">${empty}</p>`;
  return html`<ul class="list">${items.map(row)}</ul>
    ${next === null ? nothing : html`<button type="button" ?disabled=${isAsking} @click=${() => void readMore(page, listing, path, next)}>More</button>`}
    ${troubleBox(page, trouble)}`;
};

const readMore = async <Item>(page: PageModel, listing: Listing<Item>, path: string, cursor: string): Promise<void> => {
  // What is read again and again would take away what is added.
  listing.stoppedAt ||= new Date().toISOString();
  listing.isAsking = true;
  page.readPage();
  page.update({});
  const joined = `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ cursor })}`;
  const answer = await page.ask<ListPage<Item>>({ path: joined });
  if (answer !== null) listing.takeMore(answer);
  page.update({});
};
