import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { Decide, Kind, RecordStore } from 'recourse-server/store/record-store';
import { NO_LIST, toChanges, toOwnFields } from 'recourse-server/store/text-kind';
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

type Entered = 'existing' | 'entered' | Exclude<Creation, { kind: 'created' | 'exists' }>;

/** Where the calls of each session are found that have not ended, and the same call. The record of a call is the truth. */
export type SessionCalls = ReturnType<typeof createSessionCalls>;

const decideEntry = (
  calls: ListedCalls,
  { key, fingerprint, most, how }: { key: string; fingerprint: string; most: number; how: 'alone' | 'beside' },
  now: number,
): 'existing' | 'same' | 'full' | 'entered' => {
  if (calls.has(key)) return 'existing';
  if (how === 'alone' && [...calls.values()].some((other) => other.fingerprint === fingerprint)) return 'same';
  if (calls.size >= most) return 'full';
  calls.set(key, { enteredAt: now, fingerprint });
  return 'entered';
};

/** `isNew`: its record may be on its way. */
type Listed = Entry & { readonly key: string; readonly isNew: boolean };
type Looked = Listed & { readonly state: Peeked };

/** Oldest first. */
const toListed = (calls: ListedCalls, now: number): readonly Listed[] =>
  [...calls]
    .map(([key, entry]) => ({ key, ...entry, isNew: Math.abs(now - entry.enteredAt) < MAKING_MS }))
    .toSorted((one, other) => one.enteredAt - other.enteredAt);

const isLive = ({ state }: Looked): boolean => state === 'held' || state === 'waiting';

const isBeingMade = ({ isNew, state }: Looked): boolean => state === 'unconfirmed' || (state === 'gone' && isNew);

const isOver = ({ isNew, state }: Looked): boolean => state === 'ended' || (state === 'gone' && !isNew);

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
}) => {
  const records = store.open(sessionCallsKind);
  const full: Entered = { kind: 'full', of: 'session', limit: most };
  const update = async <Result>(sessionKey: string, decide: Decide<ListedCalls, Result>): Promise<Result> =>
    records.update(sessionKey, decide, 'long');
  const read = async (sessionKey: string): Promise<readonly Listed[]> =>
    (await records.read(sessionKey, toListed)) ?? [];
  const look = async (one: Listed): Promise<Looked> => ({ ...one, state: await peek(one.key) });
  const remove = (sessionKey: string, keys: readonly string[]): Promise<void> =>
    update(sessionKey, (calls) => {
      for (const key of keys) calls.delete(key);
    });
  /** Those that have not ended, with their states; the others are taken out. */
  const heal = async (sessionKey: string): Promise<readonly Looked[]> => {
    const looked = await Promise.all((await read(sessionKey)).map(look));
    const over = looked.filter(isOver).map(({ key }) => key);
    if (over.length > 0) await remove(sessionKey, over);
    return looked.filter((each) => !isOver(each));
  };
  /** Whether it is pending. One that is being made is waited for: its maker needs two steps more. */
  const isPending = async (one: Listed): Promise<boolean> => {
    const looked = await look(one);
    if (!isBeingMade(looked)) return isLive(looked);
    await new Promise((resolve) => setTimeout(resolve, makingPauseMs));
    return isLive(await look(one));
  };
  const findSame = async (sessionKey: string, fingerprint: string): Promise<string | null> => {
    for (const one of await read(sessionKey))
      if (one.fingerprint === fingerprint && (await isPending(one))) return one.key;
    return null;
  };
  const enter = async (key: string, spec: CallSpec, sessionKey: string, tries = 1): Promise<Entered> => {
    // At last the same call is being made for longer than that takes: its maker has died.
    const entry = { key, fingerprint: spec.fingerprint, most, how: tries < MOST_TRIES ? 'alone' : 'beside' } as const;
    const entered = await update(sessionKey, (calls, now) => decideEntry(calls, entry, now));
    if (entered === 'existing' || entered === 'entered') return entered;
    if (entered === 'full' && tries > 1) return full;
    const same = await findSame(sessionKey, spec.fingerprint);
    if (same !== null) return { kind: 'same', key: same };
    await heal(sessionKey);
    return enter(key, spec, sessionKey, tries + 1);
  };
  return {
    /** Enters a call before its record is made; `full` and `same`: it is not entered. */
    enter: async (key: string, spec: CallSpec): Promise<Entered> =>
      spec.sessionKey === null ? 'existing' : enter(key, spec, spec.sessionKey),
    /** Enters a call that a worker has taken: the store may have lost the list. Best effort, and waits for nothing. */
    enterAgain: (key: string, { sessionKey, fingerprint }: CallSpec): void => {
      if (sessionKey === null) return;
      const entry = { key, fingerprint, most: Number.POSITIVE_INFINITY, how: 'beside' } as const;
      void update(sessionKey, (calls, now) => decideEntry(calls, entry, now)).then(ignore, ignore);
    },
    /** Takes out a call that has ended. Best effort, and waits for nothing. */
    leave: (key: string, { sessionKey }: Pick<CallSpec, 'sessionKey'>): void => {
      if (sessionKey !== null) void remove(sessionKey, [key]).then(ignore, ignore);
    },
    list: async (sessionKey: string): Promise<readonly string[]> =>
      (await heal(sessionKey)).filter(isLive).map(({ key }) => key),
    findSame,
  };
};

const ignore = (): void => undefined;
