import type { CallRecord, CallRecords } from './call-records.ts';

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

// A message that got lost costs a waiter at most this. Each call is read once for all who wait for it.
const READ_AGAIN_MS = 1000;

/** Waits for calls on behalf of requests and streams: one reading a call and a second, however many wait for it. */
export const createCallWaiters = (records: CallRecords, time: () => number): CallWaiters => {
  const listeners = new Map<string, Set<() => void>>();
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;
  // With the first who waits: hearing of calls may take a connection.
  let unwatch: (() => void) | undefined;
  const readers = createSharedReading(records);
  const tell = (key: string): void => {
    // What is being read may be what was before.
    readers.forget(key);
    for (const listener of listeners.get(key) ?? []) listener();
  };
  // Where the records are of this process no message gets lost.
  const tick = (): void => {
    for (const key of listeners.keys()) tell(key);
  };
  const onChange = (key: string, listener: () => void): (() => void) => {
    const ofCall = listeners.get(key) ?? new Set();
    ofCall.add(listener);
    listeners.set(key, ofCall);
    waiting += 1;
    unwatch ??= records.watch(tell);
    if (records.durability === 'durable') timer ??= setInterval(tick, READ_AGAIN_MS).unref();
    return () => {
      if (!ofCall.delete(listener)) return;
      waiting -= 1;
      if (ofCall.size === 0) listeners.delete(key);
      if (listeners.size > 0) return;
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
