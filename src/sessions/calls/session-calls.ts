import type { CallSpec } from '../../executor/pending-calls.ts';
import type { Kind, RecordStore } from '../../store/record-store.ts';
import { NO_LIST, toChanges, toOwnFields } from '../record-fields.ts';
import { type Creation, RESULT_TTL_MS } from './call-kind.ts';

/** What a call is to the lists that name it. `unconfirmed`: being made, or never will be. */
export type Peeked = 'gone' | 'ended' | 'unconfirmed' | 'held' | 'waiting';

/** A call in the list of its session. */
type Entry = { readonly enteredAt: number; readonly fingerprint: string };

/** The calls of a session that have not ended, by their keys. */
type ListedCalls = Map<string, Entry>;

const ENTRY_BYTES = 400;
// A field for each, whose name begins with its format.
const FORMAT = '1:';

const toField = ([key, { enteredAt, fingerprint }]: readonly [string, Entry]): [string, string] => [
  FORMAT + key,
  `${enteredAt} ${fingerprint}`,
];

const sessionCallsKind: Kind<ListedCalls, Map<string, string>> = {
  ...NO_LIST,
  name: 'calls',
  operations: { short: 'pending', long: 'pending' },
  // As many as there are pending calls at most, whose number is bounded.
  memory: { records: null, lists: null },
  // Longer than any call is pending: it takes a day at most.
  ttlMs: 2 * RESULT_TTL_MS,
  create: () => new Map(),
  decode: (fields) => {
    const calls: ListedCalls = new Map();
    for (const [name, text] of fields) {
      const [, enteredAt, fingerprint = ''] = /^(\d{1,15}) (.*)$/s.exec(text) ?? [];
      if (name.startsWith(FORMAT) && enteredAt !== undefined)
        calls.set(name.slice(FORMAT.length), { enteredAt: Number(enteredAt), fingerprint });
    }
    return calls;
  },
  toSaved: (_calls, fields) => toOwnFields(fields, (name) => name.startsWith(FORMAT)),
  changes: (calls, saved) => toChanges(new Map([...calls].map(toField)), saved),
  isEmpty: ({ size }) => size === 0,
  bytes: ({ size }) => ENTRY_BYTES * size,
};

// Until the record of an entry is made and confirmed: two steps of a second each.
const MAKING_MS = 5000;
// How often a call looks whether the same one, which is in its session, is pending.
const MOST_TRIES = 4;

type Entered = 'known' | 'entered' | Exclude<Creation, { kind: 'created' | 'exists' }>;

/** Where the calls of each session are found that have not ended, and the same call. The record of a call is the truth. */
export type SessionCalls = {
  /** Enters a call before its record is made; `full` and `same`: it is not entered. */
  readonly enter: (key: string, spec: CallSpec) => Promise<Entered>;
  /** Enters a call that a worker has taken: the store may have lost the list. Best effort, and waits for nothing. */
  readonly enterAgain: (key: string, spec: CallSpec) => void;
  /** Takes out a call that has ended. Best effort, and waits for nothing. */
  readonly leave: (key: string, spec: Pick<CallSpec, 'sessionKey'>) => void;
  readonly list: (sessionKey: string) => Promise<readonly string[]>;
  readonly findSame: (sessionKey: string, fingerprint: string) => Promise<string | null>;
};

const decideEntry = (
  calls: ListedCalls,
  { key, fingerprint, most, how }: { key: string; fingerprint: string; most: number; how: 'alone' | 'beside' },
  now: number,
): 'known' | 'same' | 'full' | 'entered' => {
  if (calls.has(key)) return 'known';
  if (how === 'alone' && [...calls.values()].some((other) => other.fingerprint === fingerprint)) return 'same';
  if (calls.size >= most) return 'full';
  calls.set(key, { enteredAt: now, fingerprint });
  return 'entered';
};

type Listed = Entry & { readonly key: string; readonly now: number };
type Looked = { readonly one: Listed; readonly state: Peeked };

/** Oldest first. */
const toListed = (calls: ListedCalls, now: number): readonly Listed[] =>
  [...calls].map(([key, entry]) => ({ key, ...entry, now })).toSorted((one, other) => one.enteredAt - other.enteredAt);

const isLive = (state: Peeked): boolean => state === 'held' || state === 'waiting';

const isOver = (looked: Looked): boolean =>
  looked.state === 'ended' || (looked.state === 'gone' && !isBeingMade(looked));

const isBeingMade = ({ one, state }: Looked): boolean =>
  state === 'unconfirmed' || (state === 'gone' && Math.abs(one.now - one.enteredAt) < MAKING_MS);

export const createSessionCalls = ({
  store,
  most,
  peek,
  makingPauseMs,
}: {
  readonly store: RecordStore;
  /** How many calls of a session may be pending at once. */
  readonly most: number;
  readonly peek: (key: string) => Promise<Peeked>;
  /** How long is waited for a call that is being made. */
  readonly makingPauseMs: number;
}): SessionCalls => {
  const records = store.open(sessionCallsKind);
  const full: Entered = { kind: 'full', of: 'session', limit: most };
  const read = async (sessionKey: string): Promise<readonly Listed[]> =>
    (await records.read(sessionKey, toListed)) ?? [];
  const remove = async (sessionKey: string, keys: readonly string[]): Promise<void> =>
    records.update(
      sessionKey,
      (calls) => {
        for (const key of keys) calls.delete(key);
      },
      'long',
    );
  /** Those that have not ended, with their states; the others are taken out. */
  const heal = async (sessionKey: string): Promise<readonly Looked[]> => {
    const listed = await read(sessionKey);
    const looked = await Promise.all(listed.map(async (one) => ({ one, state: await peek(one.key) })));
    const over = looked.filter(isOver).map(({ one }) => one.key);
    if (over.length > 0) await remove(sessionKey, over);
    return looked.filter((each) => !isOver(each));
  };
  /** Whether it is pending. One that is being made is waited for: whoever makes it needs two steps more. */
  const isPending = async (one: Listed): Promise<boolean> => {
    const state = await peek(one.key);
    if (!isBeingMade({ one, state })) return isLive(state);
    await new Promise((resolve) => setTimeout(resolve, makingPauseMs));
    return isLive(await peek(one.key));
  };
  const findSame = async (sessionKey: string, fingerprint: string): Promise<string | null> => {
    for (const one of await read(sessionKey))
      if (one.fingerprint === fingerprint && (await isPending(one))) return one.key;
    return null;
  };
  const enter = async (key: string, spec: CallSpec, sessionKey: string, tries = 1): Promise<Entered> => {
    // At last the same call is being made for longer than that takes: whoever made it has died.
    const entry = { key, fingerprint: spec.fingerprint, most, how: tries < MOST_TRIES ? 'alone' : 'beside' } as const;
    const entered = await records.update(sessionKey, (calls, now) => decideEntry(calls, entry, now), 'long');
    if (entered === 'known' || entered === 'entered') return entered;
    if (entered === 'full' && tries > 1) return full;
    const same = await findSame(sessionKey, spec.fingerprint);
    if (same !== null) return { kind: 'same', key: same };
    await heal(sessionKey);
    return enter(key, spec, sessionKey, tries + 1);
  };
  const tryTo = (act: () => Promise<unknown>): void => void act().then(ignore, ignore);
  return {
    enter: async (key, spec) => (spec.sessionKey === null ? 'known' : enter(key, spec, spec.sessionKey)),
    enterAgain: (key, { sessionKey, fingerprint }) => {
      if (sessionKey === null) return;
      const entry = { key, fingerprint, most: Number.POSITIVE_INFINITY, how: 'beside' } as const;
      tryTo(async () => records.update(sessionKey, (calls, now) => decideEntry(calls, entry, now), 'long'));
    },
    leave: (key, { sessionKey }) => {
      if (sessionKey !== null) tryTo(() => remove(sessionKey, [key]));
    },
    list: async (sessionKey) => {
      const looked = await heal(sessionKey);
      return looked.filter(({ state }) => isLive(state)).map(({ one }) => one.key);
    },
    findSame,
  };
};

const ignore = (): void => undefined;
