import { hash } from 'node:crypto';
import { textBytes } from '../memory/bounded-store.ts';
import type { Fields, Kind, RecordStore } from '../store/record-store.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';
import { NO_LIST, toChanges } from './record-fields.ts';

/** A page: how many were new to its session before it, and its token. */
type Page = { readonly place: number; readonly token: string };

/** By the field that the record has for each. */
type Pages = Map<string, Page>;

// Of a page beside its token: its field of 67 characters, its place in the map, and the object.
const PAGE_BYTES = 300;

const FIELD = 'p:';
const PAGE = /^(\d{1,15}) (.*)$/s;

const decode = (fields: Fields): Pages => {
  const pages: Pages = new Map();
  for (const [field, text] of fields) {
    const [, place, token = ''] = (field.startsWith(FIELD) ? PAGE.exec(text) : null) ?? [];
    if (isPageToken(token)) pages.set(field, { place: Number(place), token });
  }
  return pages;
};

const toTexts = (pages: Pages): Map<string, string> =>
  new Map(Array.from(pages, ([field, { place, token }]) => [field, `${place} ${token}`]));

/** The pages of a session, a field each. Their record ends `ttlMs` after a page was kept last. */
const createPagesKind = (ttlMs: number): Kind<Pages, Map<string, string>> => ({
  name: 'pages',
  operations: { short: 'page', long: 'page' },
  memory: { records: 'pages', lists: null },
  ttlMs,
  create: () => new Map(),
  decode,
  toSaved: toTexts,
  changes: (pages, saved) => toChanges(toTexts(pages), saved),
  ...NO_LIST,
  isEmpty: (pages) => pages.size === 0,
  bytes: (pages) => [...pages.values()].reduce((sum, { token }) => sum + PAGE_BYTES + textBytes(token), 0),
});

const keepPage = (pages: Pages, field: string, token: string): void => {
  const place = pages.get(field)?.place ?? toNextPlace(pages);
  if (isPageToken(token)) pages.set(field, { place, token });
  else pages.delete(field);
  if (pages.size > MAX_PAGES_PER_SESSION) pages.delete(findFirst(pages));
};

const toNextPlace = (pages: Pages): number =>
  [...pages.values()].reduce((next, { place }) => Math.max(next, place + 1), 0);

const findFirst = (pages: Pages): string =>
  [...pages].reduce((first, page) => (page[1].place < first[1].place ? page : first))[0];

// Queries may be long, and are not kept.
const toField = ({ tool, query }: PageList, page: number): string =>
  `${FIELD}${hash('sha256', JSON.stringify([tool, query, page]))}`;

/** Page tokens as records, one a session. Rejects where the store does. */
const createPages = (store: RecordStore, ttlMs: number) => {
  const sessions = store.open(createPagesKind(ttlMs));
  return {
    find: async ({ session }: PageList, field: string): Promise<string | null> =>
      sessions.read(session, (pages) => pages.get(field)?.token ?? null, [field]),
    keep: async ({ session }: PageList, field: string, token: string): Promise<void> =>
      sessions.update(session, (pages) => keepPage(pages, field, token)),
    forget: async (session: string): Promise<void> => sessions.delete(session),
  };
};

/**
 * Page tokens in a store. `local`: where this process keeps those of its own, too, and finds them while the store is away; null
 * where the store is in this process. What the store answers counts: a session which has ended at one replica has ended at all.
 */
export const createRecordPageTokens = (options: {
  readonly store: RecordStore;
  readonly local: RecordStore | null;
  readonly ttlMs: number;
}): PageTokenStore => {
  const { store, local, ttlMs } = options;
  const shared = createPages(store, ttlMs);
  const own = local === null ? null : createPages(local, ttlMs);
  return {
    find: async (list, page) => {
      const field = toField(list, page);
      return shared.find(list, field).catch(() => own?.find(list, field) ?? null);
    },
    keep: async (list, page, token) => {
      const field = toField(list, page);
      await own?.keep(list, field, token);
      await shared.keep(list, field, token).catch(ignore);
    },
    forget: async (session) => {
      await own?.forget(session);
      await shared.forget(session).catch(ignore);
    },
  };
};

const ignore = (): void => undefined;
