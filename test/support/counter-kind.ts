import type { Fields, Kind } from '#src/store/record-store.ts';

/** A small kind of record: counts under names, and a list of what was added. */
export type Counter = { readonly counts: Map<string, number>; added: readonly string[]; keep: number };

export const counterKind: Kind<Counter, Map<string, string>> = {
  name: 'counter',
  operations: { short: 'admit', long: 'settle' },
  memory: { records: 'sessions', lists: 'journals' },
  ttlMs: 60_000,
  create: () => ({ counts: new Map(), added: [], keep: 3 }),
  decode: (fields) => ({
    counts: new Map(
      [...fields].flatMap(([name, text]) => (name.startsWith('n:') ? [[name.slice(2), Number(text)]] : [])),
    ),
    added: [],
    keep: 3,
  }),
  toSaved: (_state, fields) => new Map(fields),
  changes: ({ counts }, saved) => {
    const set: string[] = [];
    const gone: string[] = [];
    for (const [name, count] of counts) {
      const field = `n:${name}`;
      if (saved.get(field) === String(count)) continue;
      saved.set(field, String(count));
      set.push(field, String(count));
    }
    for (const field of [...saved.keys()].filter((known) => known.startsWith('n:') && !counts.has(known.slice(2)))) {
      saved.delete(field);
      gone.push(field);
    }
    return { set, gone };
  },
  takeAdded: (state) => {
    const { added } = state;
    state.added = [];
    return added;
  },
  toKeep: ({ keep }) => keep,
  isEmpty: ({ counts }) => counts.size === 0,
  bytes: ({ counts }) => 100 * counts.size,
};

/** One that lives for as many milliseconds as it counts under `ms`; in memory it stays, whatever room there is. */
export const brief: Kind<Counter, Map<string, string>> = {
  ...counterKind,
  name: 'brief',
  operations: { short: 'admit', long: 'settle' },
  memory: { records: null, lists: null },
  isPinned: () => true,
  ttlMs: ({ counts }) => counts.get('ms') ?? 0,
};

/** The kind as code knew it that has no count under `later` yet. */
export const olderCounterKind: Kind<Counter, Map<string, string>> = {
  ...counterKind,
  decode: (fields) => counterKind.decode(withoutLater(fields)),
  toSaved: (state, fields) => counterKind.toSaved(state, withoutLater(fields)),
};

const withoutLater = (fields: Fields): Fields => new Map([...fields].filter(([name]) => name !== 'n:later'));

/** Counts one more under a name; gives the count. */
export const countUp =
  (name = 'one') =>
  ({ counts }: Counter): number => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count;
  };

export const readCounts = ({ counts }: Counter): Readonly<Record<string, number>> => Object.fromEntries(counts);
