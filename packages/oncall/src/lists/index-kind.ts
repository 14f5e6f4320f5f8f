import { createTextKind } from 'recourse-server/store/text-kind';

/** How long an entry is listed, in milliseconds. */
export const INDEX_TTL_MS = 24 * 60 * 60 * 1000;
/** Sessions, or calls, of a list. */
export const MOST_ENTRIES = 1000;
/** Elements of the list of a record. A session has one for each second: they are put together before so many are there. */
export const MOST_ELEMENTS = 6000;

/** Lists of a tenant: what was noted of sessions that fail, of others, and of failed calls. Others displace none that fails. */
export const LISTS = ['failed', 'active', 'calls'] as const;
export type ListName = (typeof LISTS)[number];

/** An element of a list: its time in Unix milliseconds, what it is of, and JSON text. */
export type Element = { readonly at: number; readonly id: string; readonly json: string };

export const toElement = ({ at, id, json }: Element): string => `${at} ${id} ${json}`;

// JSON text may have line separators, U+2028 and U+2029, as they are.
const ELEMENT = /^(\d{1,15}) (\S{1,200}) (\{.*\})$/s;

/** None where the element is damaged. */
export const readElement = (text: string): readonly Element[] => {
  const [, at, id, json] = ELEMENT.exec(text) ?? [];
  return at === undefined || id === undefined || json === undefined ? [] : [{ at: Number(at), id, json }];
};

/** A list as its writers know it: few numbers, so that replicas which write at once send each other little. */
export type IndexState = {
  /** Elements that were ever added. */
  appended: number;
  /** Elements that are there. */
  kept: number;
  /** What they take of a store, in bytes, about. */
  bytes: number;
  /** What of it the tenant's part of the store has been charged with, and until when. */
  weighed: Weighed;
  /** Not written yet. */
  added: string[];
};
export type Weighed = { readonly bytes: number; readonly endsAt: number };
export const UNWEIGHED: Weighed = { bytes: 0, endsAt: 0 };

const weigh = (elements: readonly string[]): number =>
  elements.reduce((sum, element) => sum + 24 + Buffer.byteLength(element), 0);

/** Adds elements, and drops the oldest ones beyond `most`. */
export const append = (state: IndexState, elements: readonly string[], most: number): void => {
  state.added.push(...elements);
  state.appended += elements.length;
  const all = state.kept + elements.length;
  state.kept = Math.min(all, most);
  state.bytes = all === 0 ? 0 : Math.ceil(((state.bytes + weigh(elements)) * state.kept) / all);
};

/** Puts these in the place of all elements. */
export const replace = (state: IndexState, elements: readonly string[]): void => {
  state.added = [...elements];
  state.appended += elements.length;
  state.kept = elements.length;
  state.bytes = weigh(elements);
};

const NUMBERS = /^\d{1,15}(?: \d{1,15}){4}$/;

export const indexKind = {
  ...createTextKind<IndexState>({
    name: 'oncall-list',
    operation: 'oncall',
    own: /^n$/,
    memory: { records: null, lists: 'oncall' },
    ttlMs: INDEX_TTL_MS,
    create: () => ({ appended: 0, kept: 0, bytes: 0, weighed: UNWEIGHED, added: [] }),
    decode: (fields) => {
      const text = NUMBERS.exec(fields.get('n') ?? '')?.[0] ?? '0 0 0 0 0';
      const [appended = 0, kept = 0, bytes = 0, charged = 0, endsAt = 0] = text.split(' ').map(Number);
      return { appended, kept, bytes, weighed: { bytes: charged, endsAt }, added: [] };
    },
    toTexts: ({ appended, kept, bytes, weighed }) =>
      new Map([['n', [appended, kept, bytes, weighed.bytes, weighed.endsAt].map(Math.ceil).join(' ')]]),
    isEmpty: ({ appended }) => appended === 0,
    bytes: () => 200,
  }),
  takeAdded: (state: IndexState): readonly string[] => {
    const { added } = state;
    state.added = [];
    return added;
  },
  toKeep: ({ kept }: IndexState): number => kept,
};
