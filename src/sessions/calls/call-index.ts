import * as z from 'zod';
import type { CallSpec } from '../../executor/pending-calls.ts';
import { type Creation, holderOf, type ListedCall, RESULT_TTL_MS } from '../../pending/call-records.ts';
import { createRedisScript, type RedisClient, type RunRedisScript, toPatient } from '../redis-client.ts';
import type { PendingLimits } from './memory-call-records.ts';

/** What a record says of itself to an index. `unconfirmed`: being made, or never will be. */
export const PEEKED = ['gone', 'ended', 'unconfirmed', 'held', 'waiting'] as const;
export type Peeked = (typeof PEEKED)[number];

/** Asks a record. Rejects when Redis does. */
export type PeekCall = (key: string) => Promise<Peeked>;

/**
 * Where the calls are found that have not ended: by session, and all of them. Records, sessions and the list of all lie in
 * cluster slots of their own, so that no step writes to two of them at once. The record is the truth: an entry is made
 * before its record, and one whose record is gone or ended is taken out by who finds it.
 */
export type CallIndex = {
  /** Enters a call before its record is made; `full` and `same`: it is not entered. Rejects when Redis does. */
  readonly enter: (key: string, spec: CallSpec) => Promise<Extract<Creation, { kind: 'full' | 'same' }> | 'entered'>;
  /** Enters a call that a worker has taken: Redis may have lost what was entered. Best effort, and waits for nothing. */
  readonly enterAgain: (key: string, spec: CallSpec) => void;
  /** Takes out a call that has ended. Best effort, and waits for nothing. */
  readonly leave: (key: string, spec: Pick<CallSpec, 'keyHash' | 'caller' | 'sessionKey'>) => void;
  readonly ofSession: (sessionKey: string) => Promise<readonly string[]>;
  readonly findSame: (sessionKey: string, fingerprint: string) => Promise<string | null>;
  readonly due: (most: number) => Promise<readonly string[]>;
  readonly list: () => AsyncIterable<readonly ListedCall[]>;
};

export type CallIndexOptions = {
  readonly client: RedisClient;
  readonly limits: PendingLimits;
  readonly peek: PeekCall;
  /** How long a sweep leaves a call alone that it was given. */
  readonly lookAfterMs: number;
};

// Longer than any call is pending: it takes a day at most.
const INDEX_TTL_MS = String(2 * RESULT_TTL_MS);
// Until the record of an entry is made and confirmed: two commands of a second each.
const MAKING_MS = 5000;
const MAKING_PAUSE_MS = 50;
// How often a call looks whether the same one, which is in its session, is pending.
const MOST_TRIES = 4;
// Entries that one question for calls that are due goes through, as a multiple of what it wants: most have a worker.
const DUE_ROUNDS = 5;

export const createCallIndex = (options: CallIndexOptions): CallIndex => {
  const all = createListOfAll(options);
  const sessions = createSessionLists(options);
  return {
    enter: async (key, spec) => {
      const [inSession, inAll] = await Promise.all([sessions.enter(key, spec), all.enter(key, spec)]);
      const refusal = toRefusal(inSession, inAll, options.limits);
      if (refusal === null) return 'entered';
      if (inSession === 'entered') sessions.leave(key, spec);
      if (inAll === 'entered') all.leave(key, holderOf(spec));
      return refusal;
    },
    enterAgain: (key, spec) => {
      sessions.enterAgain(key, spec);
      all.enterAgain(key, spec);
    },
    leave: (key, spec) => {
      sessions.leave(key, spec);
      all.leave(key, holderOf(spec));
    },
    ofSession: sessions.list,
    findSame: sessions.findSame,
    due: all.due,
    list: () => listAll(options.client),
  };
};

const LIMIT_OF = { session: 'ofSession', key: 'ofKey', service: 'ofService' } as const;

const toRefusal = (
  inSession: Entered,
  inAll: z.infer<typeof EnteredInAll>,
  limits: PendingLimits,
): Exclude<Creation, { kind: 'created' | 'exists' }> | null => {
  if (typeof inSession === 'object') return inSession;
  const of = inSession === 'full' ? 'session' : toFull(inAll);
  return of === null ? null : { kind: 'full', of, limit: limits[LIMIT_OF[of]] };
};

const toFull = (entered: z.infer<typeof EnteredInAll>): 'key' | 'service' | null =>
  entered === 'key' || entered === 'service' ? entered : null;

const ignore = (): void => undefined;

const loadScript = (client: RedisClient, file: string): RunRedisScript =>
  createRedisScript(toPatient(client), new URL('../lua/', import.meta.url), ['fields.lua', file]);

const CALLS = 'recourse:{pending}:calls';
const CALLERS = 'recourse:{pending}:callers';

const EnteredInAll = z.enum(['known', 'entered', 'key', 'service']);
const Entries = z.array(z.string());
const Entry = z.tuple([z.string(), z.string()]);

const toEntry = (key: string, holder: string): string => JSON.stringify([key, holder]);

/** All calls that have not ended, how many each key has, and when a sweep looks at them. */
const createListOfAll = ({ client, limits, peek, lookAfterMs }: CallIndexOptions) => {
  const script = loadScript(client, 'pending-index.lua');
  const run = (step: string, ...words: readonly string[]): Promise<unknown> =>
    script([CALLS, CALLERS], [step, INDEX_TTL_MS, ...words]);
  const wait = String(lookAfterMs);
  const leave = (key: string, holder: string): void =>
    void run('leave', toEntry(key, holder), holder).then(ignore, ignore);
  const popDue = async (most: number): Promise<readonly z.infer<typeof Entry>[]> =>
    Entries.parse(await run('due', String(most), wait)).map((entry) => Entry.parse(JSON.parse(entry)));
  /** Those that no worker holds; what is over is taken out. */
  const findWaiting = async (entries: readonly z.infer<typeof Entry>[]): Promise<readonly string[]> => {
    const looked = await Promise.all(entries.map(async ([key, holder]) => ({ key, holder, state: await peek(key) })));
    for (const { key, holder, state } of looked) if (state === 'gone' || state === 'ended') leave(key, holder);
    return looked.filter(({ state }) => state === 'waiting').map(({ key }) => key);
  };
  return {
    leave,
    enter: async (key: string, spec: CallSpec): Promise<z.infer<typeof EnteredInAll>> => {
      const holder = holderOf(spec);
      const words = [toEntry(key, holder), holder, wait, String(limits.ofKey), String(limits.ofService)];
      return EnteredInAll.parse(await run('enter', ...words));
    },
    enterAgain: (key: string, spec: CallSpec): void => {
      const holder = holderOf(spec);
      void run('enter', toEntry(key, holder), holder, wait, '', '').then(ignore, ignore);
    },
    due: async (most: number): Promise<readonly string[]> => {
      const due: string[] = [];
      for (let round = 0; round < DUE_ROUNDS && due.length < most; round += 1) {
        const entries = await popDue(most - due.length);
        if (entries.length === 0) break;
        due.push(...(await findWaiting(entries)));
      }
      return due;
    },
  };
};

const Scanned = z.tuple([z.string(), Entries]);
// Redis goes through so many in some 0.1 ms.
const SCANNED_AT_ONCE = '500';

/** All entries, each once, however many there are; a scan may tell one twice. */
async function* listAll(client: RedisClient): AsyncIterable<readonly ListedCall[]> {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const scanned = await client.callPatiently('ZSCAN', CALLS, cursor, 'COUNT', SCANNED_AT_ONCE);
    const [next, words] = Scanned.parse(scanned);
    cursor = next;
    // Each entry is followed by its score.
    const fresh = words.filter((word, place) => place % 2 === 0 && !seen.has(word));
    for (const entry of fresh) seen.add(entry);
    yield fresh.map(toListedCall);
  } while (cursor !== '0');
}

const toListedCall = (entry: string): ListedCall => {
  const [key, holder] = Entry.parse(JSON.parse(entry));
  return { key, keyHash: holder.startsWith('key:') ? holder.slice('key:'.length) : null };
};

const EnteredInSession = z.enum(['known', 'entered', 'full', 'same']);
const SessionCalls = z.tuple([z.int(), z.array(z.string())]);

/** A call in the list of its session. Times by Redis's clock. */
type Listed = { readonly key: string; readonly enteredAt: number; readonly fingerprint: string; readonly now: number };

/** The calls of each session that have not ended. */
const createSessionLists = ({ client, limits, peek }: CallIndexOptions) => {
  const script = loadScript(client, 'pending-session.lua');
  const run = (sessionKey: string, ...words: readonly string[]): Promise<unknown> =>
    script([`recourse:{${sessionKey}}:pending`], words);
  const read = async (sessionKey: string): Promise<readonly Listed[]> => {
    const [now, words] = SessionCalls.parse(await run(sessionKey, 'read'));
    return toListed(now, words);
  };
  const tryToEnter = async (key: string, { fingerprint }: CallSpec, sessionKey: string, how: 'alone' | 'beside') => {
    const words = [key, fingerprint, String(limits.ofSession), INDEX_TTL_MS, how];
    return EnteredInSession.parse(await run(sessionKey, 'enter', ...words));
  };
  /** Those that have not ended, with their states; the others are taken out. */
  const heal = async (sessionKey: string): Promise<readonly Looked[]> => {
    const listed = await read(sessionKey);
    const looked = await Promise.all(listed.map(async (one) => ({ one, state: await peek(one.key) })));
    const over = looked.filter(isOver).map(({ one }) => one.key);
    if (over.length > 0) await run(sessionKey, 'leave', ...over);
    return looked.filter((each) => !isOver(each));
  };
  /** Whether it is pending. One that is being made is waited for: whoever makes it needs two commands more. */
  const isPending = async (one: Listed): Promise<boolean> => {
    const state = await peek(one.key);
    if (!isBeingMade({ one, state })) return isLive(state);
    await new Promise((resolve) => setTimeout(resolve, MAKING_PAUSE_MS));
    return isLive(await peek(one.key));
  };
  const findSame = async (sessionKey: string, fingerprint: string): Promise<string | null> => {
    for (const one of await read(sessionKey))
      if (one.fingerprint === fingerprint && (await isPending(one))) return one.key;
    return null;
  };
  const enter = async (key: string, spec: CallSpec, sessionKey: string, tries = 1): Promise<Entered> => {
    // At last the same call is being made for longer than that takes: whoever made it has died.
    const entered = await tryToEnter(key, spec, sessionKey, tries < MOST_TRIES ? 'alone' : 'beside');
    if (entered !== 'same' && (entered !== 'full' || tries > 1)) return entered;
    const same = await findSame(sessionKey, spec.fingerprint);
    if (same !== null) return { kind: 'same', key: same };
    await heal(sessionKey);
    return enter(key, spec, sessionKey, tries + 1);
  };
  return {
    enter: async (key: string, spec: CallSpec): Promise<Entered> =>
      spec.sessionKey === null ? 'known' : enter(key, spec, spec.sessionKey),
    enterAgain: (key: string, { sessionKey, fingerprint }: CallSpec): void => {
      if (sessionKey === null) return;
      const words = [key, fingerprint, String(Number.MAX_SAFE_INTEGER), INDEX_TTL_MS];
      void run(sessionKey, 'enter', ...words).then(ignore, ignore);
    },
    leave: (key: string, { sessionKey }: Pick<CallSpec, 'sessionKey'>): void => {
      if (sessionKey !== null) void run(sessionKey, 'leave', key).then(ignore, ignore);
    },
    list: async (sessionKey: string): Promise<readonly string[]> => {
      const looked = await heal(sessionKey);
      return looked.filter(({ state }) => isLive(state)).map(({ one }) => one.key);
    },
    findSame,
  };
};

type Entered = 'known' | 'entered' | 'full' | Extract<Creation, { kind: 'same' }>;

type Looked = { readonly one: Listed; readonly state: Peeked };

const isLive = (state: Peeked): boolean => state === 'held' || state === 'waiting';

const isOver = (looked: Looked): boolean =>
  looked.state === 'ended' || (looked.state === 'gone' && !isBeingMade(looked));

const isBeingMade = ({ one, state }: Looked): boolean =>
  state === 'unconfirmed' || (state === 'gone' && Math.abs(one.now - one.enteredAt) < MAKING_MS);

/** Oldest first. */
const toListed = (now: number, words: readonly string[]): readonly Listed[] => {
  const listed: Listed[] = [];
  for (let position = 0; position < words.length; position += 2) {
    const [enteredAt = '', fingerprint = ''] = (words[position + 1] ?? '').split(' ');
    listed.push({ key: words[position] ?? '', enteredAt: Number(enteredAt), fingerprint, now });
  }
  return listed.sort((one, other) => one.enteredAt - other.enteredAt);
};
