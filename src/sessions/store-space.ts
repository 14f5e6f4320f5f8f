import type { RecordStore, Records } from '../store/record-store.ts';
import { StoreAwayError } from '../store/store-availability.ts';
import { KEPT_BELOW_PERCENT, type Keepable, type SpaceObserver, type StoreFill } from '../store/store-observer.ts';
import { addToShare, addWeight, type BytesByHour, shareKind, sumOfShare, type Weight } from './share-kind.ts';

// The scale of the levels: what is kept within a second must fit into what is left.
const EVERY_MS = 1000;
// In looks: what is not told of a tenant before.
const TELL_EVERY = 5;
// A tenant that nobody has asked for in so many looks is asked for anew.
const FORGET_AFTER = 60;
// What a process takes for a tenant, or gives back, before the others know: so far a tenant may be beyond its part for each
// process, and so much may be counted wrongly until it ends, where a process is killed.
const AHEAD_BYTES = 64 * 1024;

/** Why something is not kept: the tenant keeps as much as it may, in bytes, or the store is fuller than so many per cent. */
export type Shortage = { readonly of: 'tenant' | 'store'; readonly limit: number };

type Shared = Exclude<Keepable, 'journals'>;

/**
 * Room in a store that several tenants use. A tenant may keep at most as much as is left free beside it, below the level of
 * what it keeps: one alone half of that, two a third each, as with the memory of requests. What it keeps is counted in a
 * record of its own, all processes together.
 */
export type StoreSpace = {
  /** Whether the store is below the level of journals. Asked before an update, not in its decision: the answer changes with time. */
  readonly mayKeepJournals: () => boolean;
  /** Takes room for what is about to be written; null: there is. At once where the tenant's record need not be asked. Never rejects. */
  readonly take: (tenant: string, what: Shared, weight: Weight) => Shortage | null | Promise<Shortage | null>;
  /** Takes room beyond every limit: for the ends of calls. */
  readonly add: (tenant: string, weight: Weight) => void;
  /** Gives back what was not written, or has gone before its time. */
  readonly give: (tenant: string, weight: Weight) => void;
};

/** Of a store that divides its room among tenants by itself. */
export const UNLIMITED_SPACE: StoreSpace = {
  mayKeepJournals: () => true,
  take: () => null,
  add: () => undefined,
  give: () => undefined,
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

/** What this process knows of a tenant's share, in bytes. */
type KnownShare = {
  /** What its record has said; null: it was not asked. */
  told: number | null;
  /** Whether it was asked since the last look. */
  isFresh: boolean;
  /** At the last look. */
  before: number;
  /** Taken since the last look. */
  taken: number;
  /** Not told to its record. */
  unsaid: BytesByHour;
  unsaidBytes: number;
  /** Told, and not answered. */
  sentBytes: number;
  /** How many looks ago it was asked for. */
  idle: number;
};

type Wanted = { readonly what: Shared; readonly weight: Weight };

const NOTHING: BytesByHour = new Map();

/** The space of a store that outlives this process. As long as no look has been answered everything is kept. */
export class OpenedStoreSpace implements StoreSpace {
  readonly #options: Options;
  readonly #records: Records<BytesByHour>;
  readonly #shares = new Map<string, KnownShare>();
  #fill: StoreFill = { used: 0, max: Number.POSITIVE_INFINITY, servers: 1, policy: null };
  /** By all tenants, since the last look. */
  #taken = 0;
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: Options) {
    this.#options = options;
    this.#records = options.store.open(shareKind);
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), EVERY_MS).unref();
  }

  /** Tells the records what they do not know; best effort. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#tellAll();
  }

  look(): void {
    const looked = this.#options.look();
    if (looked === null) return;
    void looked.then((fill) => this.#become(fill), this.#options.onFailed);
  }

  readonly mayKeepJournals = (): boolean => this.#isBelow('journals') || this.#refuse('journals', 'store', '');

  readonly take: StoreSpace['take'] = (tenant, what, weight) => {
    if (!this.#isBelow(what)) {
      this.#refuse(what, 'store', tenant);
      return { of: 'store', limit: KEPT_BELOW_PERCENT[what] };
    }
    const share = this.#find(tenant);
    share.idle = 0;
    if (share.told === null) return this.#ask(tenant, share, { what, weight });
    const shortage = this.#findShortage(share, share.told + share.unsaidBytes + share.sentBytes, { what, weight });
    if (shortage === null && share.unsaidBytes + weight.bytes <= AHEAD_BYTES) {
      this.#note(share, weight);
      return null;
    }
    if (shortage === null || !share.isFresh) return this.#ask(tenant, share, { what, weight });
    this.#refuse(what, shortage.of, tenant);
    return shortage;
  };

  readonly add: StoreSpace['add'] = (tenant, weight) => {
    const share = this.#find(tenant);
    this.#note(share, weight);
    if (Math.abs(share.unsaidBytes) > AHEAD_BYTES) void this.#tell(tenant, share, null);
  };

  readonly give: StoreSpace['give'] = (tenant, { bytes, endsAt }) => this.add(tenant, { bytes: -bytes, endsAt });

  #isBelow(what: Keepable): boolean {
    return this.#fill.used < (this.#fill.max * KEPT_BELOW_PERCENT[what]) / 100;
  }

  #refuse(what: Keepable, of: Shortage['of'], tenant: string): false {
    this.#options.observer.notKept(what, of, tenant);
    return false;
  }

  #find(tenant: string): KnownShare {
    const known = this.#shares.get(tenant);
    if (known !== undefined) return known;
    const share: KnownShare = {
      told: null,
      isFresh: false,
      before: 0,
      taken: 0,
      unsaid: new Map(),
      unsaidBytes: 0,
      sentBytes: 0,
      idle: 0,
    };
    this.#shares.set(tenant, share);
    return share;
  }

  #note(share: KnownShare, weight: Weight): void {
    addWeight(share.unsaid, weight);
    share.unsaidBytes += weight.bytes;
    this.#count(share, weight.bytes);
  }

  #count(share: KnownShare, bytes: number): void {
    share.taken += bytes;
    this.#taken += bytes;
  }

  /** What the tenant lacks where it keeps so much already. */
  #findShortage(share: KnownShare, held: number, { what, weight }: Wanted): Shortage | null {
    const { used, max, servers } = this.#fill;
    const level = (max * KEPT_BELOW_PERCENT[what]) / 100;
    const ofOthers = Math.max(0, used * servers - share.before + this.#taken - share.taken);
    // What it keeps is at most what others and it leave free.
    const part = Math.max(0, Math.floor((level * servers - ofOthers) / 2));
    return held + weight.bytes <= part ? null : { of: 'tenant', limit: part };
  }

  async #ask(tenant: string, share: KnownShare, wanted: Wanted): Promise<Shortage | null> {
    const shortage = await this.#tell(tenant, share, wanted);
    if (shortage !== null) this.#refuse(wanted.what, shortage.of, tenant);
    return shortage;
  }

  /** Tells the tenant's record what it does not know, and takes room. Where that fails, the store may keep it or not. */
  async #tell(tenant: string, share: KnownShare, wanted: Wanted | null): Promise<Shortage | null> {
    const { unsaid, unsaidBytes } = share;
    share.unsaid = new Map();
    share.unsaidBytes = 0;
    share.sentBytes += unsaidBytes;
    try {
      const { found, told, shortage } = await this.#records.update(
        toShareKey(tenant),
        (record, now) => this.#settle(record, share, { unsaid, wanted }, now),
        'claim',
      );
      // What others have given back, or has ended, is not used by this tenant any more.
      share.before = share.told === null ? share.before + found : Math.min(share.before, found + unsaidBytes);
      share.told = told;
      share.isFresh = true;
      if (wanted !== null && shortage === null) this.#count(share, wanted.weight.bytes);
      return shortage;
    } catch (error) {
      // Otherwise it may have been told: to tell it again could count it twice, until all of it ends.
      if (error instanceof StoreAwayError) this.#takeBack(share, unsaid, unsaidBytes);
      if (error instanceof StoreAwayError && wanted !== null) this.#note(share, wanted.weight);
      return null;
    } finally {
      share.sentBytes -= unsaidBytes;
    }
  }

  #settle(
    record: BytesByHour,
    share: KnownShare,
    { unsaid, wanted }: { readonly unsaid: BytesByHour; readonly wanted: Wanted | null },
    now: number,
  ): { readonly found: number; readonly told: number; readonly shortage: Shortage | null } {
    addToShare(record, NOTHING, now);
    const found = sumOfShare(record);
    addToShare(record, unsaid, now);
    const held = sumOfShare(record);
    const shortage = wanted === null ? null : this.#findShortage(share, held, wanted);
    if (wanted === null || shortage !== null) return { found, told: held, shortage };
    const added: BytesByHour = new Map();
    addWeight(added, wanted.weight);
    addToShare(record, added, now);
    return { found, told: sumOfShare(record), shortage: null };
  }

  #takeBack(share: KnownShare, unsaid: BytesByHour, bytes: number): void {
    for (const [hour, some] of unsaid) share.unsaid.set(hour, (share.unsaid.get(hour) ?? 0) + some);
    share.unsaidBytes += bytes;
  }

  #become(fill: StoreFill): void {
    this.#fill = fill;
    this.#taken = 0;
    for (const [tenant, share] of this.#shares) {
      share.before = (share.told ?? 0) + share.unsaidBytes + share.sentBytes;
      share.taken = 0;
      share.isFresh = false;
      share.idle += 1;
      const isQuiet = share.unsaid.size === 0 && share.sentBytes === 0;
      if (isQuiet && share.idle > FORGET_AFTER) this.#shares.delete(tenant);
    }
    this.#looks += 1;
    if (this.#looks % TELL_EVERY === 0) void this.#tellAll();
    this.#options.observer.filled(fill);
  }

  async #tellAll(): Promise<void> {
    const untold = [...this.#shares].filter(([, { unsaid }]) => unsaid.size > 0);
    await Promise.all(untold.map(([tenant, share]) => this.#tell(tenant, share, null)));
  }
}

// Neither names of tenants nor this have a colon: what stands before it is the tenant.
const toShareKey = (tenant: string): string => `${tenant}:kept`;
