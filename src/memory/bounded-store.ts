import { attach, type LinkedNodes, moveToEnd, remove } from './linked-list.ts';

/**
 * Why a store forgot something. `full`: it had no room. `share`: the same while other tenants had entries, of the tenant
 * that held most. `expired`: its time was over. `too_large`: larger than the whole store, and never kept.
 */
export const EVICTION_REASONS = ['full', 'share', 'expired', 'too_large'] as const;
export type EvictionReason = (typeof EVICTION_REASONS)[number];

/** What a store takes of memory now, in bytes, and what it has forgotten so far. */
export type StoreUse = {
  readonly limitBytes: number;
  readonly bytes: number;
  readonly evictions: Readonly<Record<EvictionReason, number>>;
};

export type BoundedStoreOptions<Value> = {
  readonly limitBytes: number;
  /** Whose an entry is. Left out: what stands before the last colon of its key. */
  readonly tenantOf?: (key: string) => string;
  /** How long an entry stays after it was set, or got, last. Left out: as long as there is room. */
  readonly ttlMs?: number | undefined;
  readonly now: () => number;
  /** An entry is gone that was not replaced: evicted, expired, deleted or cleared. */
  readonly onGone?: (key: string, value: Value, reason: EvictionReason | 'deleted') => void;
};

/** `tenant:sha256`, as the keys of sessions, records and requests are written; '' where there is no tenant. */
export const tenantOfKey = (key: string): string => key.slice(0, Math.max(0, key.lastIndexOf(':')));

/** A value in its place. */
type Entry<Value> = {
  readonly key: string;
  readonly value: Value;
  readonly holder: Holder<Value>;
  /** Of the entry and its key. */
  readonly ownBytes: number;
  valueBytes: number;
  /** Infinity: never. */
  expiresAt: number;
  previous: Entry<Value> | null;
  next: Entry<Value> | null;
};

/** A tenant's entries, by when they were used last. */
type Holder<Value> = LinkedNodes<Entry<Value>> & { readonly tenant: string; bytes: number };

// Measured with --expose-gc: an entry with its place in the map, which is never more than half empty; a tenant the same.
const ENTRY_BYTES = 200;
const HOLDER_BYTES = 250;
// A victim is looked for among all tenants once it has lost this part of what it held, not for every entry.
const VICTIM_KEEPS = 15 / 16;

/**
 * A map within a limit of bytes. Beyond it the tenant that holds most loses what it used least recently, so that a
 * tenant which holds no more than an equal part loses nothing to others, whatever they send. Bytes are those the caller
 * gives for a value, and what the store adds for the entry and its key.
 */
export class BoundedStore<Value> implements StoreUse {
  readonly limitBytes: number;
  bytes = 0;
  readonly evictions = { full: 0, share: 0, expired: 0, too_large: 0 } satisfies Record<EvictionReason, number>;
  readonly #options: BoundedStoreOptions<Value>;
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #holders = new Map<string, Holder<Value>>();
  #victim: { readonly holder: Holder<Value>; readonly until: number } | null = null;

  constructor(options: BoundedStoreOptions<Value>) {
    this.limitBytes = Math.floor(options.limitBytes);
    this.#options = options;
  }

  /** Of all tenants, expired ones that nobody has looked at included. */
  get size(): number {
    return this.#entries.size;
  }

  /** The value, which is its tenant's newest from now on. `time`: what `now` says, where the caller has asked it. */
  get(key: string, time = this.#options.now()): Value | undefined {
    const entry = this.#find(key, time);
    if (entry === undefined) return undefined;
    const { ttlMs } = this.#options;
    if (ttlMs !== undefined) entry.expiresAt = time + ttlMs;
    if (entry.holder.last !== entry) moveToEnd(entry.holder, entry);
    return entry.value;
  }

  /** The value, and nothing changes. */
  peek(key: string): Value | undefined {
    return this.#find(key)?.value;
  }

  /** Keeps a value that takes so many bytes, as its tenant's newest, for `lifeMs` or the time of the store. */
  set(key: string, value: Value, valueBytes: number, lifeMs?: number): void {
    const ownBytes = ENTRY_BYTES + textBytes(key);
    const known = this.#entries.get(key);
    if (known !== undefined) this.#remove(known);
    if (ownBytes + valueBytes + HOLDER_BYTES > this.limitBytes) {
      this.#gone(key, value, 'too_large');
      return;
    }
    const { tenantOf = tenantOfKey, now, ttlMs } = this.#options;
    const tenant = tenantOf(key);
    this.#dropExpired(tenant);
    const holder = this.#holderOf(tenant);
    const expiresAt = now() + (lifeMs ?? ttlMs ?? Number.POSITIVE_INFINITY);
    const entry: Entry<Value> = { key, value, holder, ownBytes, valueBytes, expiresAt, previous: null, next: null };
    this.#entries.set(key, entry);
    attach(holder, entry);
    this.#grow(holder, ownBytes + valueBytes);
    this.#makeRoom();
  }

  /** The value of an entry has changed, and takes so many bytes now. Its place stays, and its time where `lifeMs` is left out. */
  weigh(key: string, valueBytes: number, lifeMs?: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    if (lifeMs !== undefined) entry.expiresAt = this.#options.now() + lifeMs;
    const growth = valueBytes - entry.valueBytes;
    if (growth === 0) return;
    if (entry.ownBytes + valueBytes + HOLDER_BYTES > this.limitBytes) {
      this.#drop(entry, 'too_large');
      return;
    }
    entry.valueBytes = valueBytes;
    this.#grow(entry.holder, growth);
    this.#makeRoom();
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#remove(entry);
    this.#options.onGone?.(key, entry.value, 'deleted');
    return true;
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.delete(key);
  }

  /** An entry whose time is over is dropped. The clock is read only for one that ends. */
  #find(key: string, time?: number): Entry<Value> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt === Number.POSITIVE_INFINITY) return entry;
    if (entry.expiresAt > (time ?? this.#options.now())) return entry;
    this.#drop(entry, 'expired');
    return undefined;
  }

  #holderOf(tenant: string): Holder<Value> {
    const known = this.#holders.get(tenant);
    if (known !== undefined) return known;
    const holder: Holder<Value> = { tenant, bytes: 0, first: null, last: null, size: 0 };
    this.#holders.set(tenant, holder);
    this.#grow(holder, HOLDER_BYTES + textBytes(tenant));
    return holder;
  }

  #grow(holder: Holder<Value>, bytes: number): void {
    holder.bytes += bytes;
    this.bytes += bytes;
  }

  #makeRoom(): void {
    while (this.bytes > this.limitBytes) {
      const oldest = this.#findVictim().first;
      if (oldest === null) return;
      this.#drop(oldest, this.#holders.size > 1 ? 'share' : 'full');
    }
  }

  #findVictim(): Holder<Value> {
    const known = this.#victim;
    if (known !== null && known.holder.bytes > known.until) return known.holder;
    let holder: Holder<Value> | null = null;
    for (const one of this.#holders.values()) if (holder === null || one.bytes > holder.bytes) holder = one;
    if (holder === null) throw new Error('A store that holds nothing is never full.');
    this.#victim = { holder, until: holder.bytes * VICTIM_KEEPS };
    return holder;
  }

  #dropExpired(tenant: string): void {
    const holder = this.#holders.get(tenant);
    if (holder === undefined) return;
    const time = this.#options.now();
    while (holder.first !== null && holder.first.expiresAt <= time) this.#drop(holder.first, 'expired');
  }

  #drop(entry: Entry<Value>, reason: EvictionReason): void {
    this.#remove(entry);
    this.#gone(entry.key, entry.value, reason);
  }

  #gone(key: string, value: Value, reason: EvictionReason): void {
    this.evictions[reason] += 1;
    this.#options.onGone?.(key, value, reason);
  }

  #remove(entry: Entry<Value>): void {
    const { holder } = entry;
    this.#entries.delete(entry.key);
    remove(holder, entry);
    this.#grow(holder, -entry.ownBytes - entry.valueBytes);
    if (holder.first !== null) return;
    this.#holders.delete(holder.tenant);
    this.bytes -= holder.bytes;
    if (this.#victim?.holder === holder) this.#victim = null;
  }
}

// Header, hash and length of a string, and what its size is rounded up to.
const HEAD = 24;

/**
 * What a text takes of the heap, in bytes, at least. V8 keeps one byte a character up to U+00FF and two for all
 * characters of a text with one beyond: what is not ASCII is weighed as the second. Also makes a rope flat.
 */
export const textBytes = (text: string): number =>
  HEAD + (Buffer.byteLength(text) === text.length ? text.length : 2 * text.length);
