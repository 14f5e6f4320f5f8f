import type { RecordStore, Records } from '../store/record-store.ts';
import { StoreAwayError } from '../store/store-availability.ts';
import { KEPT_BELOW_PERCENT, type Keepable, type SpaceObserver, type StoreFill } from '../store/store-observer.ts';
import { addBytes, addToShare, type BytesByHour, hourOf, shareKind, sumOfShare, type Weight } from './share-kind.ts';

// The scale of the levels: what is kept within a second must fit into what is left.
const EVERY_MS = 1000;
// In looks: what a tenant's record lacks is written so often.
const WRITE_EVERY = 5;
// A tenant that was not asked for in so many looks is read anew.
const FORGET_AFTER = 60;
// What a process takes for a tenant, or gives back, before the others know: so far a tenant may be beyond its part for each
// process, and so much may be counted wrongly until it ends, where a process is killed.
const AHEAD_BYTES = 64 * 1024;

/** Why something is not kept: the tenant keeps as much as it may, in bytes, or the store is fuller than so many per cent. */
export type Shortage = { readonly of: 'tenant' | 'store'; readonly limit: number };

export type StoreSpace = Pick<OpenedStoreSpace, 'mayKeepJournals' | 'take' | 'add' | 'give' | 'fill'>;

// Until the first look is answered.
const UNKNOWN_FILL: StoreFill = { used: 0, max: Number.POSITIVE_INFINITY, servers: 1, policy: null };

/** Of a store that divides its room among tenants by itself. */
export const UNLIMITED_SPACE: StoreSpace = {
  mayKeepJournals: () => true,
  take: () => null,
  add: () => undefined,
  give: () => undefined,
  fill: () => null,
};

/** What `keep` gives. Room that was taken for it is given back where it rejects. */
export const inRoom = async <Result>(
  { give }: Pick<StoreSpace, 'give'>,
  tenant: string,
  weight: Weight,
  keep: () => Result | Promise<Result>,
): Promise<Result> => {
  try {
    return await keep();
  } catch (error) {
    give(tenant, weight);
    throw error;
  }
};

type Options = {
  readonly store: RecordStore;
  /** How full the store is; null: it cannot be asked now. */
  readonly look: () => Promise<StoreFill> | null;
  readonly observer: SpaceObserver;
  readonly onFailed: (error: unknown) => void;
};

/**
 * What this process knows of a tenant's share, in bytes.
 *
 * | state   | `stored` | a request for room                                                | becomes                         |
 * |---------|----------|-------------------------------------------------------------------|---------------------------------|
 * | unread  | null     | asks the record                                                   | read                            |
 * | read    | a number | as if others kept all that is used: what the record has may be    | stale: the next look            |
 * |         |          | younger than the last look; a refusal looks again first           |                                 |
 * | fresh   | a number | is decided here, where 64 KiB are not exceeded; else asks          | stale: the next look            |
 * | stale   | a number | the same; a refusal asks the record first                         | fresh: it was asked; unread: 60 looks without a request |
 */
class KnownShare {
  /** What the record has; null: it was not asked. */
  stored: number | null = null;
  /** Whether the record was asked since the last look. */
  isFresh = false;
  /** Whether there was a look since the record was read first. Until then nobody knows how much of what is used is this tenant's. */
  isLooked = false;
  /** At the last look. */
  before = 0;
  /** Taken since the last look. */
  taken = 0;
  /** What the record lacks, and of that what is on its way. */
  unwritten: BytesByHour = new Map();
  unwrittenBytes = 0;
  sentBytes = 0;
  /** How many looks ago it was asked for. */
  idle = 0;

  get bytes(): number {
    return (this.stored ?? 0) + this.unwrittenBytes + this.sentBytes;
  }

  add(weight: Weight): void {
    addBytes(this.unwritten, hourOf(weight), weight.bytes);
    this.unwrittenBytes += weight.bytes;
  }

  look(): void {
    this.before = this.bytes;
    this.taken = 0;
    this.isFresh = false;
    this.isLooked = this.stored !== null;
    this.idle += 1;
  }

  get isForgettable(): boolean {
    return this.idle > FORGET_AFTER && this.unwritten.size === 0 && this.sentBytes === 0;
  }
}

type Wanted = { readonly what: Exclude<Keepable, 'journals'>; readonly weight: Weight };

/**
 * Room in a store that several tenants use and that outlives this process. A tenant may keep at most as much as is left free beside it,
 * below the level of what it keeps: one alone half of that, two a third each, as with the memory of requests. What it keeps is counted
 * in a record of its own, all processes together. Until the first look is answered everything is kept.
 */
export class OpenedStoreSpace {
  readonly #options: Options;
  readonly #records: Records<BytesByHour>;
  readonly #shares = new Map<string, KnownShare>();
  #fill: StoreFill = UNKNOWN_FILL;
  /** By all tenants, since the last look. */
  #taken = 0;
  #looks = 0;
  #looking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#records = options.store.open(shareKind);
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), EVERY_MS).unref();
  }

  /** Writes what the records lack; best effort. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writeAll();
  }

  /** How full the store was at the last look; null: nobody knows, or the store divides its room by itself. */
  readonly fill = (): StoreFill | null => (this.#fill === UNKNOWN_FILL ? null : this.#fill);

  /** Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      const fill = await this.#options.look();
      if (fill !== null) this.#setFill(fill);
    } catch (error) {
      this.#options.onFailed(error);
    }
  }

  /** Whether the store is below the level of journals. Asked before an update, not in its decision: the answer changes with time. */
  readonly mayKeepJournals = (): boolean => {
    const hasRoom = this.#hasRoom('journals');
    if (!hasRoom) this.#options.observer.notKept('journals', 'store', '');
    return hasRoom;
  };

  /** Reserves room for what is about to be written; null: there is. At once where the tenant's record need not be asked. Never rejects. */
  readonly take = (
    tenant: string,
    what: Wanted['what'],
    weight: Weight,
  ): Shortage | null | Promise<Shortage | null> => {
    if (!this.#hasRoom(what)) return this.#refuse(what, tenant, { of: 'store', limit: KEPT_BELOW_PERCENT[what] });
    const share = this.#find(tenant);
    const wanted = { what, weight };
    share.idle = 0;
    if (share.stored === null) return this.#ask(tenant, share, wanted);
    const shortage = this.#findShortage(share, share.bytes, wanted);
    if (shortage === null && share.unwrittenBytes + weight.bytes <= AHEAD_BYTES) {
      share.add(weight);
      this.#count(share, weight.bytes);
      return null;
    }
    return shortage === null || !share.isFresh || !share.isLooked
      ? this.#ask(tenant, share, wanted)
      : this.#refuse(what, tenant, shortage);
  };

  /** Reserves room beyond every limit: for the ends of calls. */
  readonly add = (tenant: string, weight: Weight): void => {
    const share = this.#find(tenant);
    share.add(weight);
    this.#count(share, weight.bytes);
    if (Math.abs(share.unwrittenBytes) > AHEAD_BYTES) void this.#write(share, tenant, null);
  };

  /** Gives back what was not written, or has gone before its time. */
  readonly give = (tenant: string, { bytes, endsAt }: Weight): void => this.add(tenant, { bytes: -bytes, endsAt });

  #hasRoom(what: Keepable): boolean {
    return this.#fill.used < (this.#fill.max * KEPT_BELOW_PERCENT[what]) / 100;
  }

  #refuse(what: Wanted['what'], tenant: string, shortage: Shortage): Shortage {
    this.#options.observer.notKept(what, shortage.of, tenant);
    return shortage;
  }

  #find(tenant: string): KnownShare {
    const share = this.#shares.get(tenant) ?? new KnownShare();
    this.#shares.set(tenant, share);
    return share;
  }

  #count(share: KnownShare, bytes: number): void {
    share.taken += bytes;
    this.#taken += bytes;
  }

  /** What the tenant lacks where it has so many `bytes` already: at most as many as others and it leave free. */
  #findShortage(share: KnownShare, bytes: number, { what, weight }: Wanted): Shortage | null {
    const { used, max, servers } = this.#fill;
    const level = (max * KEPT_BELOW_PERCENT[what]) / 100;
    const ofOthers = Math.max(0, used * servers - share.before + this.#taken - share.taken);
    const limit = Math.max(0, Math.floor((level * servers - ofOthers) / 2));
    return bytes + weight.bytes <= limit ? null : { of: 'tenant', limit };
  }

  async #ask(tenant: string, share: KnownShare, wanted: Wanted): Promise<Shortage | null> {
    let shortage = await this.#write(share, tenant, wanted);
    if (shortage !== null && !share.isLooked) {
      await this.look();
      shortage = await this.#write(share, tenant, wanted);
    }
    return shortage === null ? null : this.#refuse(wanted.what, tenant, shortage);
  }

  /** Adds to the tenant's record what it lacks, and takes room. Where that fails, the store may keep it or not. */
  async #write(share: KnownShare, tenant: string, wanted: Wanted | null): Promise<Shortage | null> {
    const { unwritten, unwrittenBytes } = share;
    share.unwritten = new Map();
    share.unwrittenBytes = 0;
    share.sentBytes += unwrittenBytes;
    try {
      const { found, stored, shortage } = await this.#records.update(
        keyOf(tenant),
        (record, now) => this.#decide(record, share, { unwritten, wanted }, now),
        'claim',
      );
      // What others have given back, or has ended, is not used by this tenant any more.
      share.before = Math.min(share.before, found + unwrittenBytes);
      share.stored = stored;
      share.isFresh = true;
      if (wanted !== null && shortage === null) this.#count(share, wanted.weight.bytes);
      return shortage;
    } catch (error) {
      // Otherwise it may have been written: to write it again could count it twice, until all of it ends.
      if (error instanceof StoreAwayError) this.#restore(share, unwritten, unwrittenBytes, wanted);
      return null;
    } finally {
      share.sentBytes -= unwrittenBytes;
    }
  }

  #restore(share: KnownShare, unwritten: BytesByHour, bytes: number, wanted: Wanted | null): void {
    for (const [hour, some] of unwritten) addBytes(share.unwritten, hour, some);
    share.unwrittenBytes += bytes;
    if (wanted === null) return;
    share.add(wanted.weight);
    this.#count(share, wanted.weight.bytes);
  }

  #decide(
    record: BytesByHour,
    share: KnownShare,
    { unwritten, wanted }: { readonly unwritten: BytesByHour; readonly wanted: Wanted | null },
    now: number,
  ): { readonly found: number; readonly stored: number; readonly shortage: Shortage | null } {
    addToShare(record, [], now);
    const found = sumOfShare(record);
    addToShare(record, unwritten, now);
    const shortage = wanted === null ? null : this.#findShortage(share, sumOfShare(record), wanted);
    if (wanted !== null && shortage === null) addToShare(record, [[hourOf(wanted.weight), wanted.weight.bytes]], now);
    return { found, stored: sumOfShare(record), shortage };
  }

  #setFill(fill: StoreFill): void {
    this.#fill = fill;
    this.#taken = 0;
    for (const [tenant, share] of this.#shares) {
      share.look();
      if (share.isForgettable) this.#shares.delete(tenant);
    }
    this.#looks += 1;
    if (this.#looks % WRITE_EVERY === 0) void this.#writeAll();
    this.#options.observer.filled(fill);
  }

  async #writeAll(): Promise<void> {
    const lacking = [...this.#shares].filter(([, { unwritten }]) => unwritten.size > 0);
    await Promise.all(lacking.map(([tenant, share]) => this.#write(share, tenant, null)));
  }
}

// Neither names of tenants nor this have a colon: what stands before it is the tenant.
const keyOf = (tenant: string): string => `${tenant}:kept`;
