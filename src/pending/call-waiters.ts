import type { CallRecord } from '../sessions/calls/call-kind.ts';
import type { CallRecords } from '../sessions/calls/call-records.ts';

/** What somebody who waits for a call gets: its record when something has happened to it, or when the time is over. */
export type CallWaiters = {
  /**
   * Resolves with the record when the call has ended, or with what is known after `waitMs`, or once the call's own time is
   * over; null: unknown, or nobody waits any more since `over` has resolved. Rejects with the store.
   */
  readonly untilEnded: (key: string, waitMs: number, over?: Promise<void>) => Promise<CallRecord | null>;
  /** Calls back whenever something may have happened to the call; gives the way to stop. */
  readonly onChange: (key: string, listener: () => void) => () => void;
  /** How many wait now. */
  readonly count: () => number;
  readonly close: () => void;
};

// A message that got lost costs a waiter at most this.
const LOOK_AGAIN_MS = 1000;
// So many calls are one question to the store, and one step of its only thread.
const LOOKED_AT_ONCE = 100;

/** A call that somebody waits for. */
type WatchedCall = {
  readonly listeners: Set<() => void>;
  /** As the store said when it was last looked at; '' is what it says of a call to which nothing has happened. */
  version: string;
};

/**
 * Waits for calls on behalf of requests and streams. Messages tell of what happens to them. Once a second all calls are
 * looked at for what no message came of; a call is read only where something has happened.
 */
export const createCallWaiters = (records: CallRecords, time: () => number): CallWaiters => {
  const calls = new Map<string, WatchedCall>();
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;
  // With the first who waits: hearing of calls may take a connection.
  let unwatch: (() => void) | undefined;
  const readers = createSharedReading(records);
  const tell = (key: string): void => {
    // What is being read may be what was before.
    readers.forget(key);
    for (const listener of calls.get(key)?.listeners ?? []) listener();
  };
  const lookAgain = createLookAgain(records, calls, tell);
  const onChange = (key: string, listener: () => void): (() => void) => {
    const call = calls.get(key) ?? { listeners: new Set(), version: '' };
    calls.set(key, call);
    call.listeners.add(listener);
    waiting += 1;
    unwatch ??= records.watch(tell);
    // Where the records are of this process no message gets lost.
    if (records.durability === 'durable') timer ??= setInterval(() => void lookAgain(), LOOK_AGAIN_MS).unref();
    return () => {
      if (!call.listeners.delete(listener)) return;
      waiting -= 1;
      if (call.listeners.size === 0) calls.delete(key);
      if (calls.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  };
  return {
    onChange,
    untilEnded: (key, waitMs, over) => waitFor(key, { waitMs, over }, { read: readers.read, onChange, time }),
    count: () => waiting,
    close: () => {
      unwatch?.();
      clearInterval(timer);
    },
  };
};

/** Looks at all calls, a few at a time, so that other requests have their turns; one round after the other. */
const createLookAgain = (
  records: CallRecords,
  calls: ReadonlyMap<string, WatchedCall>,
  tell: (key: string) => void,
): (() => Promise<void>) => {
  const compare = (key: string, version: string): void => {
    const call = calls.get(key);
    if (call === undefined || version === '' || version === call.version) return;
    // An end is told again until nobody waits: the reading that follows may fail.
    if (version !== 'ended') call.version = version;
    tell(key);
  };
  const look = async (keys: readonly string[]): Promise<'looked' | 'away'> => {
    const versions = await records.versions(keys).catch(() => null);
    if (versions === null) return 'away';
    for (const [place, key] of keys.entries()) compare(key, versions[place] ?? '');
    return 'looked';
  };
  let isLooking = false;
  return async () => {
    if (isLooking) return;
    isLooking = true;
    const keys = [...calls.keys()];
    for (let place = 0; place < keys.length; place += LOOKED_AT_ONCE)
      if ((await look(keys.slice(place, place + LOOKED_AT_ONCE))) === 'away') break;
    isLooking = false;
  };
};

/** Reads a record once for all who ask while it is being read. */
const createSharedReading = (records: CallRecords) => {
  const readings = new Map<string, Promise<CallRecord | null>>();
  return {
    read: (key: string): Promise<CallRecord | null> => {
      const known = readings.get(key);
      if (known !== undefined) return known;
      const reading = records.find(key).finally(() => {
        if (readings.get(key) === reading) readings.delete(key);
      });
      readings.set(key, reading);
      return reading;
    },
    /** Who asks from now on reads anew. */
    forget: (key: string): void => void readings.delete(key),
  };
};

type Wait = { readonly waitMs: number; readonly over: Promise<void> | undefined };
type Waiting = {
  readonly read: CallRecords['find'];
  readonly onChange: CallWaiters['onChange'];
  readonly time: () => number;
};

const waitFor = async (
  key: string,
  { waitMs, over }: Wait,
  { read, onChange, time }: Waiting,
): Promise<CallRecord | null> => {
  const first = await read(key);
  if (first === null || first.state === 'ended' || waitMs <= 0) return first;
  const { promise, resolve, reject } = Promise.withResolvers<CallRecord | null>();
  const look = (): void => {
    read(key).then((record) => {
      if (record === null || record.state === 'ended') resolve(record);
    }, reject);
  };
  const stop = onChange(key, look);
  // By then it is over, also by a clock that is rounded.
  const leftMs = first.spec.expiresAt + 1 - time();
  const timer = setTimeout(() => resolve(read(key)), leftMs > 0 ? Math.min(waitMs, leftMs) : waitMs);
  void over?.then(() => resolve(null));
  // It may have ended between the first reading and this.
  look();
  try {
    return await promise;
  } finally {
    stop();
    clearTimeout(timer);
  }
};
