import { setTimeout } from 'node:timers/promises';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { DueEntry, DueIndex } from '../jobs/due-index.ts';
import type { Creation } from './call-kind.ts';

/** What a call is to the lists that name it. `unconfirmed`: being made, or never will be. */
export type Peeked = 'gone' | 'ended' | 'unconfirmed' | 'held' | 'waiting';

/** Until the record of an entry is made and confirmed: two steps of a second each. */
const MAKING_MS = 5000;
// How often a call looks whether the same one, which is in its session, is pending.
const MOST_TRIES = 4;

/** Where the calls of each session are found that have not ended, and the same call. The record of a call is the truth. */
export type SessionCalls = ReturnType<typeof createSessionCalls>;

type Entered = 'existing' | 'entered' | Exclude<Creation, { kind: 'created' | 'exists' }>;

const isLive = (state: Peeked): boolean => state === 'held' || state === 'waiting';

/**
 * The calls of each session in an index, each held by its fingerprint: a session has one of a fingerprint, and as many as the limits
 * of the index say. An entry is due once its record must be there: then one without is taken out.
 */
export const createSessionCalls = ({
  openIndex,
  most,
  peek,
  makingPauseMs,
}: {
  /** Opens the index of a session, for one step. */
  readonly openIndex: (sessionKey: string) => DueIndex;
  /** How many calls of a session may be pending at once. */
  readonly most: number;
  readonly peek: (key: string) => Promise<Peeked>;
  /** How long is waited for a call that is being made. */
  readonly makingPauseMs: number;
}) => {
  /** Whether it is pending. One that is being made is waited for: its maker needs two steps more. */
  const isPending = async ({ key }: DueEntry): Promise<boolean> => {
    const state = await peek(key);
    if (state === 'ended' || isLive(state)) return isLive(state);
    await setTimeout(makingPauseMs);
    return isLive(await peek(key));
  };
  const findSame = async (sessionKey: string, fingerprint: string): Promise<string | null> => {
    for await (const entries of openIndex(sessionKey).list())
      for (const entry of entries) if (entry.holder === fingerprint && (await isPending(entry))) return entry.key;
    return null;
  };
  const listAll = async (sessionKey: string): Promise<readonly (DueEntry & { readonly state: Peeked })[]> => {
    const listed = (await Array.fromAsync(openIndex(sessionKey).list())).flat();
    return Promise.all(listed.map(async (entry) => ({ ...entry, state: await peek(entry.key) })));
  };
  /** Takes out what has ended, and what has no record when it must have one. */
  const heal = async (sessionKey: string): Promise<void> => {
    const listed = await listAll(sessionKey);
    const { entries } = await openIndex(sessionKey).popDue(listed.length, MAKING_MS);
    const due = new Set(entries.map(({ key }) => key));
    for (const { state, ...entry } of listed)
      if (state === 'ended' || (state === 'gone' && due.has(entry.key))) await openIndex(sessionKey).leave(entry);
  };
  const enter = async (sessionKey: string, entry: DueEntry, tries = 1): Promise<Entered> => {
    // The same call is being made for longer than that takes: its maker has died.
    if (tries === MOST_TRIES)
      return openIndex(sessionKey)
        .enterAgain(entry, MAKING_MS)
        .then(() => 'entered');
    const entered = await openIndex(sessionKey).enter(entry, MAKING_MS);
    if (entered === 'existing' || entered === 'entered') return entered;
    if (entered === 'full' && tries > 1) return { kind: 'full', of: 'session', limit: most };
    const same = await findSame(sessionKey, entry.holder);
    if (same !== null) return { kind: 'same', key: same };
    await heal(sessionKey);
    return enter(sessionKey, entry, tries + 1);
  };
  return {
    /** Enters a call before its record is made; `full` and `same`: it is not entered. */
    enter: async (key: string, { sessionKey, fingerprint }: CallSpec): Promise<Entered> =>
      sessionKey === null ? 'existing' : enter(sessionKey, { key, holder: fingerprint }),
    /** Enters a call that is in the store: the list may be lost. Best effort, and waits for nothing. */
    enterAgain: (key: string, { sessionKey, fingerprint }: CallSpec): void => {
      if (sessionKey === null) return;
      void openIndex(sessionKey).enterAgain({ key, holder: fingerprint }, MAKING_MS).then(ignore, ignore);
    },
    /** Takes out a call that has ended. Best effort, and waits for nothing. */
    leave: (key: string, { sessionKey, fingerprint }: Pick<CallSpec, 'sessionKey' | 'fingerprint'>): void => {
      if (sessionKey !== null) void openIndex(sessionKey).leave({ key, holder: fingerprint }).then(ignore, ignore);
    },
    /** Of those that have not ended. */
    list: async (sessionKey: string): Promise<readonly string[]> =>
      (await listAll(sessionKey)).filter(({ state }) => isLive(state)).map(({ key }) => key),
    findSame,
  };
};

const ignore = (): void => undefined;
