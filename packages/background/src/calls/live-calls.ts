import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { ByteBudget, MemoryLease } from 'recourse-server/memory/byte-budget';
import { type Creation, holderOf, weighCall } from './call-kind.ts';

/** How many calls may be pending at once. */
export type PendingLimits = {
  readonly ofSession: number;
  readonly ofKey: number;
  readonly ofService: number;
};

/** A call of all, and under whom it counts. */
export type LiveCall = { readonly key: string; readonly holder: string };

/**
 * All calls that have not ended: how many there are, in all and of each holder, and which of them nobody has looked at for a while.
 * The records are the truth: an entry is made before its record, and one whose record is gone or ended is taken out by who
 * finds it.
 */
export type LiveCalls = {
  /** Enters a call before its record is made; `full`: it is not entered. */
  readonly enter: (
    key: string,
    spec: CallSpec,
  ) => Promise<'known' | 'entered' | Extract<Creation, { readonly kind: 'full' }>>;
  /**
   * Enters a call that is in the store, unless it is there: it is looked at after so many milliseconds. Best effort, and waits for
   * nothing.
   */
  readonly enterAgain: (key: string, spec: CallSpec, lookAfterMs: number) => void;
  /** Takes out a call that has ended, or was never made. Best effort, and waits for nothing. */
  readonly leave: (call: LiveCall) => void;
  /**
   * Calls whose time to be looked at has come, each to one asker. They come again soon: an answer may get lost, and what is sent to a
   * store that is away may be done when it is back. `now`: the time of the store.
   */
  readonly popDue: (most: number) => Promise<{ readonly now: number; readonly calls: readonly LiveCall[] }>;
  /**
   * Has a call that was due at `poppedAt` looked at after so many milliseconds, unless somebody else has said when, or has taken it
   * out. Best effort, and waits for nothing.
   */
  readonly lookAgain: (call: LiveCall, poppedAt: number, afterMs: number) => void;
  /** All of them, a part at a time. */
  readonly list: () => AsyncIterable<readonly LiveCall[]>;
};

/** A call that waits is looked at once in so many milliseconds. One that is held is looked at when its lease ends. */
export const LOOK_AFTER_MS = 15_000;
/** The first look at a call, which may have got no job, and the next one at a call that is being looked at. */
export const LOOK_SOON_MS = 2000;
const LISTED_AT_ONCE = 500;

type Options = {
  readonly limits: Omit<PendingLimits, 'ofSession'>;
  /** Where the memory of these calls is taken from. */
  readonly budget: Pick<ByteBudget, 'open' | 'openBeyond' | 'partOf' | 'limitBytes'>;
  readonly now: () => number;
};

/** The live calls of a store that this process has alone. They hold memory for what each takes while it is pending. */
export const createLiveCalls = (options: Options): LiveCalls => new EmbeddedLiveCalls(options);

type Entry = LiveCall & { lookAt: number; readonly hold: MemoryLease };

class EmbeddedLiveCalls implements LiveCalls {
  readonly #options: Options;
  readonly #calls = new Map<string, Entry>();
  readonly #holders = new Map<string, number>();

  constructor(options: Options) {
    this.#options = options;
  }

  async enter(key: string, spec: CallSpec): ReturnType<LiveCalls['enter']> {
    if (this.#calls.has(key)) return 'known';
    const { limits, budget, now } = this.#options;
    const ofKey = this.#holders.get(holderOf(spec)) ?? 0;
    if (ofKey >= limits.ofKey) return { kind: 'full', of: 'key', limit: limits.ofKey };
    if (this.#calls.size >= limits.ofService) return { kind: 'full', of: 'service', limit: limits.ofService };
    const hold = budget.open(spec.caller, weighCall(spec));
    if (hold === null) {
      const part = budget.partOf(spec.caller);
      return part === null
        ? { kind: 'full', of: 'memory', limit: budget.limitBytes }
        : { kind: 'full', of: 'caller', limit: part };
    }
    this.#add({ key, holder: holderOf(spec), lookAt: now() + LOOK_SOON_MS, hold });
    return 'entered';
  }

  // It is in memory, or will be: whatever room there is.
  enterAgain(key: string, spec: CallSpec, lookAfterMs: number): void {
    const lookAt = this.#options.now() + lookAfterMs;
    const entry = this.#calls.get(key);
    if (entry !== undefined) entry.lookAt = lookAt;
    else
      this.#add({
        key,
        holder: holderOf(spec),
        lookAt,
        hold: this.#options.budget.openBeyond(spec.caller, weighCall(spec)),
      });
  }

  leave({ key }: LiveCall): void {
    const entry = this.#calls.get(key);
    if (entry === undefined) return;
    this.#calls.delete(key);
    entry.hold.release();
    const left = (this.#holders.get(entry.holder) ?? 0) - 1;
    if (left > 0) this.#holders.set(entry.holder, left);
    else this.#holders.delete(entry.holder);
  }

  async popDue(most: number): ReturnType<LiveCalls['popDue']> {
    const now = this.#options.now();
    const due: Entry[] = [];
    for (const entry of this.#calls.values()) {
      if (due.length >= most) break;
      if (entry.lookAt > now) continue;
      entry.lookAt = now + LOOK_SOON_MS;
      // To the end: or the first ones would be due again before the last ones are reached.
      this.#calls.delete(entry.key);
      this.#calls.set(entry.key, entry);
      due.push(entry);
    }
    return { now, calls: due };
  }

  lookAgain({ key }: LiveCall, poppedAt: number, afterMs: number): void {
    const entry = this.#calls.get(key);
    if (entry?.lookAt === poppedAt + LOOK_SOON_MS) entry.lookAt = this.#options.now() + afterMs;
  }

  // The event loop has other turns between two parts.
  async *list(): ReturnType<LiveCalls['list']> {
    const calls = [...this.#calls.values()];
    for (let from = 0; from < calls.length; from += LISTED_AT_ONCE) {
      yield calls.slice(from, from + LISTED_AT_ONCE).filter(({ key }) => this.#calls.has(key));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #add(entry: Entry): void {
    this.#calls.set(entry.key, entry);
    this.#holders.set(entry.holder, (this.#holders.get(entry.holder) ?? 0) + 1);
  }
}
