import { hash } from 'node:crypto';
import { textBytes } from '../memory/bounded-store.ts';
import type { RecordStore } from '../store/record-store.ts';
import { createTextKind } from '../store/text-kind.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';

/** Pages by the field that the record has for each: how many were new to its session before it, and its token. */
type Pages = Map<string, { readonly place: number; readonly token: string }>;

// Of a page beside its token: its field of 67 characters, its place in the map, and the object.
const PAGE_BYTES = 300;

const FIELD = 'p:';
const PAGE = /^(\d{1,15}) (.*)$/s;

/** The pages of a session, a field each. Their record ends `ttlMs` after a page was stored last. */
const createPagesKind = (ttlMs: number) =>
  createTextKind<Pages>({
    name: 'pages',
    operation: 'page',
    own: /^p:/,
    memory: { records: 'pages', lists: null },
    ttlMs,
    create: () => new Map(),
    decode: (fields) => {
      const pages: Pages = new Map();
      for (const [field, text] of fields) {
        const [, place, token = ''] = (field.startsWith(FIELD) ? PAGE.exec(text) : null) ?? [];
        if (isPageToken(token)) pages.set(field, { place: Number(place), token });
      }
      return pages;
    },
    toTexts: (pages) => new Map(Array.from(pages, ([field, { place, token }]) => [field, `${place} ${token}`])),
    isEmpty: (pages) => pages.size === 0,
    bytes: (pages) => [...pages.values()].reduce((sum, { token }) => sum + PAGE_BYTES + textBytes(token), 0),
  });

/** Stores a page; of too many the one that was new first goes. */
const setPage = (pages: Pages, field: string, token: string): void => {
  const places = Array.from(pages.values(), ({ place }) => place);
  const place = pages.get(field)?.place ?? Math.max(-1, ...places) + 1;
  if (isPageToken(token)) pages.set(field, { place, token });
  else pages.delete(field);
  if (pages.size <= MAX_PAGES_PER_SESSION) return;
  const first = Math.min(place, ...places);
  for (const [name, page] of pages) if (page.place === first) pages.delete(name);
};

// Queries may be long, and are not stored.
const fieldOf = ({ tool, query }: PageList, page: number): string =>
  `${FIELD}${hash('sha256', JSON.stringify([tool, query, page]))}`;

/**
 * Page tokens in a store, one record a session. `local`: where this process has those of its own, too, and finds them while the store is
 * away; null where the store is in this process. The answer of the store counts: a session which has ended at one replica has ended at all.
 */
export const createRecordPageTokens = (options: {
  readonly store: RecordStore;
  readonly local: RecordStore | null;
  readonly ttlMs: number;
}): PageTokenStore => {
  const kind = createPagesKind(options.ttlMs);
  const shared = options.store.open(kind);
  const own = options.local?.open(kind) ?? null;
  return {
    find: async (list, page) => {
      const field = fieldOf(list, page);
      const look = (pages: Pages): string | null => pages.get(field)?.token ?? null;
      try {
        return await shared.read(list.session, look, [field]);
      } catch (_away) {
        return own?.read(list.session, look) ?? null;
      }
    },
    keep: async (list, page, token) => {
      const { session } = list;
      const field = fieldOf(list, page);
      const set = (pages: Pages): void => setPage(pages, field, token);
      await own?.update(session, set);
      await Promise.resolve(shared.update(session, set)).catch(ignore);
    },
    forget: async (session) => {
      await own?.delete(session);
      await Promise.resolve(shared.delete(session)).catch(ignore);
    },
  };
};

const ignore = (): void => undefined;
