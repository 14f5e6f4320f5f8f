import type { CallRecord } from './calls/call-kind.ts';
import type { CallRecords } from './calls/call-records.ts';

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

type CallWaitersOptions = {
  readonly records: CallRecords;
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
  /** Ends a call whose time is over, where no worker holds it; false: it is not over yet. */
  readonly endOverdue: (key: string, record: CallRecord) => Promise<boolean>;
};

/**
 * Waits for calls on behalf of requests and streams. Messages tell of what happens to them. Once a second all calls are
 * looked at for what no message came of; a call is read only where something has happened, and once for all who ask while it is
 * being read.
 */
export class CallWaiters {
  readonly #options: CallWaitersOptions;
  readonly #calls = new Map<string, WatchedCall>();
  readonly #readings = new Map<string, Promise<CallRecord | null>>();
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  // With the first who waits: hearing of calls may take a connection.
  #unwatch: (() => void) | undefined;
  #isLooking = false;

  constructor(options: CallWaitersOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the record when the call has ended, or with what is known after `waitMs`. A call whose own time is over, and that no
   * worker holds, ends here. null: unknown, or no reader waits any more since `over` has resolved. Rejects with the store.
   */
  async untilEnded(key: string, waitMs: number, over?: Promise<void>): Promise<CallRecord | null> {
    const until = performance.now() + waitMs;
    const isOver = over?.then(() => 'over' as const);
    let wake = ignore;
    const stop = waitMs > 0 ? this.onChange(key, () => wake()) : ignore;
    try {
      while (true) {
        // Before the reading: what happens meanwhile is read next.
        const { promise: changed, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const record = await this.#settle(key);
        const leftMs = until - performance.now();
        if (record === null || record.state === 'ended' || leftMs <= 0) return record;
        const timer = setTimeout(wake, Math.min(leftMs, this.#ownMs(record)));
        const next = await Promise.race([changed, isOver ?? changed]);
        clearTimeout(timer);
        if (next === 'over') return null;
      }
    } finally {
      stop();
    }
  }

  /** Until its own time is over, also by a clock that is rounded. */
  #ownMs({ expiresAt }: CallRecord): number {
    const leftMs = expiresAt + 1 - this.#options.time();
    return leftMs > 0 ? leftMs : Number.POSITIVE_INFINITY;
  }

  async #settle(key: string): Promise<CallRecord | null> {
    const record = await this.#read(key);
    if (record === null || record.state === 'ended') return record;
    return (await this.#options.endOverdue(key, record)) ? this.#read(key) : record;
  }

  /** Calls back whenever something may have happened to the call; gives the way to stop. */
  onChange(key: string, listener: () => void): () => void {
    const call = this.#calls.get(key) ?? { listeners: new Set(), version: '' };
    this.#calls.set(key, call);
    call.listeners.add(listener);
    this.#waiting += 1;
    this.#unwatch ??= this.#options.records.signals.watch(this.#tell);
    // Where the records are of this process no message gets lost.
    if (this.#options.records.durability === 'durable')
      this.#timer ??= setInterval(() => void this.#lookAgain(), LOOK_AGAIN_MS).unref();
    return () => {
      if (!call.listeners.delete(listener)) return;
      this.#waiting -= 1;
      if (call.listeners.size === 0) this.#calls.delete(key);
      if (this.#calls.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** How many wait now. */
  readonly count = (): number => this.#waiting;

  readonly close = (): void => {
    this.#unwatch?.();
    clearInterval(this.#timer);
  };

  readonly #tell = (key: string): void => {
    // What is being read may be what was before: who asks from now on reads anew.
    this.#readings.delete(key);
    for (const listener of this.#calls.get(key)?.listeners ?? []) listener();
  };

  #read(key: string): Promise<CallRecord | null> {
    const known = this.#readings.get(key);
    if (known !== undefined) return known;
    const reading = this.#options.records.find(key).finally(() => {
      if (this.#readings.get(key) === reading) this.#readings.delete(key);
    });
    this.#readings.set(key, reading);
    return reading;
  }

  /** Looks at all calls, a few at a time, so that other requests have their turns; one round after the other. */
  async #lookAgain(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const keys = [...this.#calls.keys()];
    for (let place = 0; place < keys.length; place += LOOKED_AT_ONCE) {
      const some = keys.slice(place, place + LOOKED_AT_ONCE);
      const versions = await this.#options.records.versions(some).catch(() => null);
      // The store is away.
      if (versions === null) break;
      for (const [at, key] of some.entries()) this.#compare(key, versions[at] ?? '');
    }
    this.#isLooking = false;
  }

  #compare(key: string, version: string): void {
    const call = this.#calls.get(key);
    if (call === undefined || version === '' || version === call.version) return;
    // An end is told again until no reader waits: the reading that follows may fail.
    if (version !== 'ended') call.version = version;
    this.#tell(key);
  }
}

const ignore = (): void => undefined;
