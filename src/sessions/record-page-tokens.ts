import { hash } from 'node:crypto';
import { textBytes } from '../memory/bounded-store.ts';
import type { Kind, RecordStore } from '../store/record-store.ts';
import { isPageToken, MAX_PAGES_PER_SESSION, type PageList, type PageTokenStore } from '../tools/page-tokens.ts';

/** A page: how many were new to its session before it, and its token. */
type Page = { readonly place: number; readonly token: string };

type Pages = { readonly pages: Map<string, Page>; bytes: number };

// Of a page beside its token: its field of 67 characters, its place in the map, and the object.
const PAGE_BYTES = 300;
const toBytes = ({ token }: Page): number => PAGE_BYTES + textBytes(token);

const putPage = (state: Pages, field: string, page: Page): void => {
  removePage(state, field);
  state.pages.set(field, page);
  state.bytes += toBytes(page);
};

const removePage = (state: Pages, field: string): void => {
  const page = state.pages.get(field);
  if (page === undefined) return;
  state.bytes -= toBytes(page);
  state.pages.delete(field);
};

const FIELD = 'p:';
const PAGE = /^(\d{1,15}) (.*)$/s;

/** The pages of a session, a field each. Their record ends `ttlMs` after a page was kept last. */
const createPagesKind = (ttlMs: number): Kind<Pages, Map<string, Page>> => ({
  name: 'pages',
  memory: { records: 'pages', lists: null },
  ttlMs,
  create: () => ({ pages: new Map(), bytes: 0 }),
  decode: (fields) => {
    const state: Pages = { pages: new Map(), bytes: 0 };
    for (const [field, text] of fields) {
      const [, place, token = ''] = (field.startsWith(FIELD) ? PAGE.exec(text) : null) ?? [];
      if (isPageToken(token)) putPage(state, field, { place: Number(place), token });
    }
    return state;
  },
  toSaved: ({ pages }) => new Map(pages),
  changes: ({ pages }, saved) => {
    const set = [...pages].flatMap(([field, page]) =>
      saved.get(field) === page ? [] : [field, `${page.place} ${page.token}`],
    );
    const gone = [...saved.keys()].filter((field) => !pages.has(field));
    for (const field of gone) saved.delete(field);
    for (const [field, page] of pages) saved.set(field, page);
    return { set, gone };
  },
  takeAdded: () => [],
  toKeep: () => 0,
  isEmpty: ({ pages }) => pages.size === 0,
  bytes: ({ bytes }) => bytes,
});

const keepPage = (state: Pages, field: string, token: string): void => {
  const known = state.pages.get(field);
  if (!isPageToken(token)) removePage(state, field);
  else if (known?.token !== token) putPage(state, field, { place: known?.place ?? toNextPlace(state), token });
  if (state.pages.size > MAX_PAGES_PER_SESSION) removePage(state, findFirst(state));
};

const toNextPlace = ({ pages }: Pages): number =>
  [...pages.values()].reduce((next, { place }) => Math.max(next, place + 1), 0);

const findFirst = ({ pages }: Pages): string =>
  [...pages].reduce((first, page) => (page[1].place < first[1].place ? page : first))[0];

// Queries may be long, and are not kept.
const toField = ({ tool, query }: PageList, page: number): string =>
  `${FIELD}${hash('sha256', JSON.stringify([tool, query, page]))}`;

/** Page tokens as records, one a session. Rejects where the store does. */
export const createRecordPageTokens = (options: {
  readonly store: RecordStore;
  readonly ttlMs: number;
}): PageTokenStore => {
  const sessions = options.store.open(createPagesKind(options.ttlMs));
  return {
    find: async (list, page) => {
      const field = toField(list, page);
      return sessions.read(list.session, ({ pages }) => pages.get(field)?.token ?? null, [field]);
    },
    keep: async (list, page, token) => {
      const field = toField(list, page);
      await sessions.update(list.session, (state) => keepPage(state, field, token));
    },
    forget: async (session) => sessions.delete(session),
  };
};
