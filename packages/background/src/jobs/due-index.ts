import type { MemoryLease } from 'recourse-server/memory/byte-budget';

/** A record that waits, and under whom it counts. */
export type DueEntry = { readonly key: string; readonly holder: string };

/** How many entries there may be. */
export type DueLimits = { readonly ofHolder: number; readonly ofAll: number };

/** Entries whose time has come. */
export type DueEntries = {
  /** The time of the index, in Unix milliseconds. */
  readonly now: number;
  readonly entries: readonly DueEntry[];
  /** How many entries there are. */
  readonly count: number;
  /** Milliseconds until the next one is due, those that were given included; null: there is none. */
  readonly nextMs: number | null;
};

/** Memory that an entry of this process holds until it leaves; null: there is none. */
export type Reserve = () => MemoryLease | null;

/**
 * Records that have something to be done: how many there are, in all and of each holder, and when each is due. The records are
 * the truth: an entry whose record is gone is taken out when it is found. What returns a promise rejects with the store.
 */
export type DueIndex = {
  /** Enters a record, due in so many milliseconds, unless there is no room: then it is not entered. */
  readonly enter: (
    entry: DueEntry,
    afterMs: number,
    reserve?: Reserve,
  ) => Promise<'existing' | 'entered' | 'holder_full' | 'full' | 'no_memory'>;
  /** Enters a record whatever room there is, or has one that is there due in so many milliseconds. */
  readonly enterAgain: (entry: DueEntry, afterMs: number, reserve?: Reserve) => Promise<void>;
  /** Takes out an entry, if it is there. */
  readonly leave: (entry: DueEntry) => Promise<void>;
  /** Gives entries that are due, each to one asker. They are due again in `againMs`: an answer may get lost. */
  readonly popDue: (most: number, againMs: number) => Promise<DueEntries>;
  /** Has an entry that is due at `dueAt` be due in so many milliseconds, unless it was moved or taken out since. */
  readonly putOff: (entry: DueEntry, dueAt: number, afterMs: number) => Promise<void>;
  /** All of them, a part at a time. */
  readonly list: () => AsyncIterable<readonly DueEntry[]>;
};

const LISTED_AT_ONCE = 500;

type Entry = DueEntry & { dueAt: number; readonly hold: MemoryLease | null };
type Options = { readonly limits: DueLimits; readonly now: () => number };

/** The index of a store that this process has alone. */
export const createDueIndex = (options: Options): DueIndex => new EmbeddedDueIndex(options, () => undefined);

/** Such indexes by their names. Each is opened anew for each step: one without entries is forgotten. */
export const createDueIndexes = (options: Options): ((name: string) => DueIndex) => {
  const indexes = new Map<string, DueIndex>();
  return (name) =>
    indexes.get(name) ??
    new EmbeddedDueIndex(options, (index, size) => void (size === 0 ? indexes.delete(name) : indexes.set(name, index)));
};

class EmbeddedDueIndex implements DueIndex {
  readonly #limits: DueLimits;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #holders = new Map<string, number>();

  readonly #onSize: (index: DueIndex, size: number) => void;

  constructor({ limits, now }: Options, onSize: (index: DueIndex, size: number) => void) {
    this.#limits = limits;
    this.#now = now;
    this.#onSize = onSize;
  }

  async enter(entry: DueEntry, afterMs: number, reserve?: Reserve): ReturnType<DueIndex['enter']> {
    if (this.#entries.has(entry.key)) return 'existing';
    if ((this.#holders.get(entry.holder) ?? 0) >= this.#limits.ofHolder) return 'holder_full';
    if (this.#entries.size >= this.#limits.ofAll) return 'full';
    const hold = reserve?.() ?? null;
    if (reserve !== undefined && hold === null) return 'no_memory';
    this.#add(entry, afterMs, hold);
    return 'entered';
  }

  async enterAgain(entry: DueEntry, afterMs: number, reserve?: Reserve): Promise<void> {
    const existing = this.#entries.get(entry.key);
    if (existing === undefined) this.#add(entry, afterMs, reserve?.() ?? null);
    else existing.dueAt = this.#now() + afterMs;
  }

  async leave({ key }: DueEntry): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    entry.hold?.release();
    this.#onSize(this, this.#entries.size);
    const left = (this.#holders.get(entry.holder) ?? 0) - 1;
    if (left > 0) this.#holders.set(entry.holder, left);
    else this.#holders.delete(entry.holder);
  }

  async popDue(most: number, againMs: number): Promise<DueEntries> {
    const now = this.#now();
    const entries: Entry[] = [];
    for (const entry of this.#entries.values()) {
      if (entries.length >= most) break;
      if (entry.dueAt > now) continue;
      entry.dueAt = now + againMs;
      // To the end: or the first ones would be due again before the last ones are reached.
      this.#entries.delete(entry.key);
      this.#entries.set(entry.key, entry);
      entries.push(entry);
    }
    let nextAt = Number.POSITIVE_INFINITY;
    for (const { dueAt } of this.#entries.values()) nextAt = Math.min(nextAt, dueAt);
    const count = this.#entries.size;
    return { now, entries, count, nextMs: count === 0 ? null : Math.max(0, nextAt - now) };
  }

  async putOff({ key }: DueEntry, dueAt: number, afterMs: number): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry?.dueAt === dueAt) entry.dueAt = this.#now() + afterMs;
  }

  // The event loop has other turns between two parts.
  async *list(): ReturnType<DueIndex['list']> {
    const entries = [...this.#entries.values()];
    for (let from = 0; from < entries.length; from += LISTED_AT_ONCE) {
      yield entries.slice(from, from + LISTED_AT_ONCE).filter(({ key }) => this.#entries.has(key));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #add({ key, holder }: DueEntry, afterMs: number, hold: MemoryLease | null): void {
    this.#entries.set(key, { key, holder, dueAt: this.#now() + afterMs, hold });
    this.#holders.set(holder, (this.#holders.get(holder) ?? 0) + 1);
    this.#onSize(this, this.#entries.size);
  }
}
