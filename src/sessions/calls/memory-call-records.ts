import type { CallSpec } from '../../executor/pending-calls.ts';
import { type BoundedStore, tenantOfKey, textBytes } from '../../memory/bounded-store.ts';
import type { ByteBudget, ByteHold } from '../../memory/byte-budget.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import {
  CALL_LEASE_MS,
  type CallLease,
  type CallListener,
  type CallProgress,
  type CallRecord,
  type CallRecords,
  type CancelRequest,
  type Claim,
  type CommitKind,
  type Creation,
  holderOf,
  type ListedCall,
  type PartsWatch,
  RESULT_TTL_MS,
  weighArguments,
} from '../../pending/call-records.ts';
import { ListenersByCall } from './call-parts.ts';

/** How many calls may be pending at once. */
export type PendingLimits = {
  readonly ofSession: number;
  readonly ofKey: number;
  readonly ofService: number;
};

type MutableRecord = { -readonly [Member in keyof CallRecord]: CallRecord[Member] } & {
  readonly key: string;
  fence: number;
  /** 0: nobody holds it. */
  leaseEndsAt: number;
  /** Whoever made it knows of it. */
  confirmed: boolean;
  /** How many tries of its batch have created it. */
  tries: number;
  readonly createdAt: number;
  /** When a sweep last asked for it. */
  lookedAt: number;
  /** It ended without anybody knowing how. */
  unknown: boolean;
  /** Its memory until it has ended. */
  hold: ByteHold | null;
};

// Measured: a record with its collections' places, without texts.
const RECORD_BYTES = 900;
// A call that nobody has looked at for so long is looked at by the sweep.
const LOOK_AFTER_MS = 15_000;
const UNCONFIRMED_MS = 60_000;
const LISTED_AT_ONCE = 500;

/**
 * Records of pending calls in this process: the embedded default. Calls that have not ended are kept whatever happens;
 * results of ended ones are kept within the store `pending`, and forgotten oldest first.
 */
export const createMemoryCallRecords = (options: MemoryCallRecordsOptions): CallRecords =>
  new MemoryCallRecords(options);

type MemoryCallRecordsOptions = {
  readonly memory: StoreMemory;
  readonly limits: PendingLimits;
  /** Where the memory of calls that have not ended is taken from. */
  readonly budget: Pick<ByteBudget, 'open' | 'limitBytes'>;
  readonly now: () => number;
};

class MemoryCallRecords implements CallRecords {
  readonly durability = 'process';
  readonly leaseMs = CALL_LEASE_MS;
  readonly #options: MemoryCallRecordsOptions;
  readonly #live: LiveCalls;
  readonly #ended: BoundedStore<MutableRecord>;
  readonly #listeners = new Set<CallListener>();
  readonly #partListeners = new ListenersByCall();

  constructor(options: MemoryCallRecordsOptions) {
    this.#options = options;
    this.#live = new LiveCalls(options);
    this.#ended = options.memory.open<MutableRecord>('pending', {
      tenantOf: tenantOfKey,
      ttl: { ms: RESULT_TTL_MS, renewed: 'never' },
      now: options.now,
    });
  }

  async create(key: string, spec: CallSpec): Promise<Creation> {
    const known = this.#find(key);
    if (known !== undefined) {
      known.tries += 1;
      return { kind: 'exists' };
    }
    return this.#live.add(createRecord(key, spec, this.#options.now()));
  }

  async confirm(key: string): Promise<'confirmed' | 'gone'> {
    const record = this.#find(key);
    if (record === undefined) return 'gone';
    record.confirmed = true;
    return 'confirmed';
  }

  async withdraw(key: string): Promise<void> {
    const record = this.#live.get(key);
    if (record?.tries !== 1) return;
    if (record.fence === 0) this.#live.forget(record);
    else await this.cancel(key, 'asked');
  }

  async find(key: string): Promise<CallRecord | null> {
    return this.#find(key) ?? null;
  }

  describe(key: string): Promise<CallRecord | null> {
    return this.find(key);
  }

  list(): AsyncIterable<readonly ListedCall[]> {
    return this.#live.list();
  }

  async versions(keys: readonly string[]): Promise<readonly string[]> {
    return keys.map((key) => {
      const record = this.#find(key);
      if (record === undefined || record.state === 'ended') return 'ended';
      return record.progress === null ? '' : JSON.stringify(record.progress);
    });
  }

  async claim(key: string): Promise<Claim> {
    return claimRecord(this.#find(key), key, this.#options.now());
  }

  async begin(lease: CallLease): Promise<'held' | 'lost'> {
    const record = this.#hold(lease);
    if (record === undefined) return 'lost';
    if (record.state !== 'running') record.begins += 1;
    record.state = 'running';
    record.leaseEndsAt = this.#options.now() + CALL_LEASE_MS;
    return 'held';
  }

  async renew(lease: CallLease, progress: CallProgress | null): ReturnType<CallRecords['renew']> {
    const record = this.#hold(lease);
    if (record === undefined) return { state: 'lost', cancel: 'no' };
    record.leaseEndsAt = this.#options.now() + CALL_LEASE_MS;
    record.lookedAt = this.#options.now();
    if (progress !== null) {
      record.progress = progress;
      this.#tell(lease.key);
    }
    return { state: 'held', cancel: record.cancel };
  }

  async release(lease: CallLease, lackedAt?: number): Promise<void> {
    const record = this.#hold(lease);
    if (record === undefined) return;
    if (record.state === 'running') record.begins -= 1;
    record.state = 'queued';
    record.leaseEndsAt = 0;
    record.lackedSince = lackedAt === undefined ? null : (record.lackedSince ?? lackedAt);
  }

  async commit(lease: CallLease, result: string, how: CommitKind): Promise<'held' | 'lost'> {
    const record = this.#find(lease.key);
    if (record?.state === 'ended' && record.fence === lease.fence && record.result === result) return 'held';
    if (record === undefined || !mayCommit(record, lease, how)) return 'lost';
    if (record.state !== 'ended') this.#live.end(record);
    record.unknown = how.unknown;
    record.result = result;
    this.#ended.set(lease.key, record, weighRecord(record.spec) + textBytes(result));
    this.#tell(lease.key);
    return 'held';
  }

  async cancel(key: string, how: Exclude<CancelRequest, 'no'>): Promise<CallRecord | null> {
    const record = this.#find(key);
    if (record === undefined) return null;
    if (record.state !== 'ended' && record.cancel !== 'forced') record.cancel = how;
    this.#tell(key);
    return record;
  }

  async ofSession(sessionKey: string): Promise<readonly string[]> {
    return this.#live.ofSession(sessionKey);
  }

  async findSame(sessionKey: string, fingerprint: string): Promise<string | null> {
    return this.#live.findSame(sessionKey, fingerprint);
  }

  async due(most: number): Promise<readonly string[]> {
    return this.#live.due(most);
  }

  watch(listener: CallListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  publishPart(lease: CallLease, valueJson: string): void {
    if (this.#hold(lease) !== undefined) this.#partListeners.tell(lease.key, valueJson);
  }

  watchParts(key: string, listener: (valueJson: string) => void): PartsWatch {
    this.#partListeners.add(key, listener);
    return { ready: Promise.resolve(), stop: () => void this.#partListeners.delete(key, listener) };
  }

  #find(key: string): MutableRecord | undefined {
    return this.#live.get(key) ?? this.#ended.peek(key);
  }

  #hold({ key, fence }: CallLease): MutableRecord | undefined {
    const record = this.#live.get(key);
    return record?.fence === fence ? record : undefined;
  }

  #tell(key: string): void {
    for (const listener of this.#listeners) listener(key);
  }
}

const mayCommit = (record: MutableRecord, { fence }: CallLease, { late }: CommitKind): boolean =>
  record.state === 'ended' ? late && record.unknown : record.fence === fence;

/** The calls that have not ended, by session and by key, within their limits. */
class LiveCalls {
  readonly #options: Pick<MemoryCallRecordsOptions, 'limits' | 'budget' | 'now'>;
  readonly #records = new Map<string, MutableRecord>();
  /** Per session, oldest first. */
  readonly #sessions = new Map<string, Set<MutableRecord>>();
  readonly #holders = new Map<string, number>();

  constructor(options: Pick<MemoryCallRecordsOptions, 'limits' | 'budget' | 'now'>) {
    this.#options = options;
  }

  get(key: string): MutableRecord | undefined {
    const record = this.#records.get(key);
    if (record === undefined || record.confirmed || this.#options.now() - record.createdAt < UNCONFIRMED_MS)
      return record;
    this.forget(record);
    return undefined;
  }

  add(record: MutableRecord): Creation {
    const { key, spec } = record;
    const same = this.#findSame(spec);
    if (same !== undefined) return { kind: 'same', key: same.key };
    const full = this.#findFull(spec);
    if (full !== null) return full;
    const { budget } = this.#options;
    record.hold = budget.open(spec.caller, weighRecord(spec) + weighArguments(spec));
    if (record.hold === null) return { kind: 'full', of: 'memory', limit: budget.limitBytes };
    this.#records.set(key, record);
    const holder = holderOf(spec);
    this.#holders.set(holder, (this.#holders.get(holder) ?? 0) + 1);
    if (spec.sessionKey !== null) {
      const calls = this.#sessions.get(spec.sessionKey) ?? new Set<MutableRecord>();
      calls.add(record);
      this.#sessions.set(spec.sessionKey, calls);
    }
    return { kind: 'created' };
  }

  end(record: MutableRecord): void {
    const { spec } = record;
    this.forget(record);
    record.state = 'ended';
    record.leaseEndsAt = 0;
    // What it was asked with is not asked for again.
    record.spec = { ...spec, arguments: '' };
  }

  ofSession(sessionKey: string): readonly string[] {
    return this.#confirmedOf(sessionKey).map(({ key }) => key);
  }

  findSame(sessionKey: string, fingerprint: string): string | null {
    return this.#confirmedOf(sessionKey).find(({ spec }) => spec.fingerprint === fingerprint)?.key ?? null;
  }

  due(most: number): readonly string[] {
    const now = this.#options.now();
    const due: string[] = [];
    for (const { key } of this.#records.values()) {
      if (due.length >= most) break;
      const record = this.get(key);
      if (record === undefined || !record.confirmed || now - record.lookedAt < LOOK_AFTER_MS) continue;
      record.lookedAt = now;
      due.push(key);
    }
    return due;
  }

  // The event loop has other turns between two parts.
  async *list(): AsyncIterable<readonly ListedCall[]> {
    const records = [...this.#records.values()];
    for (let from = 0; from < records.length; from += LISTED_AT_ONCE) {
      const part = records
        .slice(from, from + LISTED_AT_ONCE)
        .filter(({ key, confirmed }) => confirmed && this.get(key));
      yield part.map(({ key, spec }) => ({ key, keyHash: spec.keyHash ?? null }));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #confirmedOf(sessionKey: string): readonly MutableRecord[] {
    return [...(this.#sessions.get(sessionKey) ?? [])].filter(({ confirmed }) => confirmed);
  }

  forget(record: MutableRecord): void {
    const { key, spec } = record;
    this.#records.delete(key);
    record.hold?.release();
    record.hold = null;
    decrement(this.#holders, holderOf(spec));
    if (spec.sessionKey === null) return;
    const calls = this.#sessions.get(spec.sessionKey);
    calls?.delete(record);
    if (calls?.size === 0) this.#sessions.delete(spec.sessionKey);
  }

  // Also one that is not confirmed yet: whoever makes it is about to.
  #findSame({ sessionKey, fingerprint }: CallSpec): MutableRecord | undefined {
    if (sessionKey === null) return undefined;
    const calls = [...(this.#sessions.get(sessionKey) ?? [])];
    return calls.find(({ key, spec }) => spec.fingerprint === fingerprint && this.get(key) !== undefined);
  }

  #findFull(spec: CallSpec): Creation | null {
    const { limits } = this.#options;
    const ofSession = spec.sessionKey === null ? 0 : (this.#sessions.get(spec.sessionKey)?.size ?? 0);
    if (ofSession >= limits.ofSession) return { kind: 'full', of: 'session', limit: limits.ofSession };
    const ofKey = this.#holders.get(holderOf(spec)) ?? 0;
    if (ofKey >= limits.ofKey) return { kind: 'full', of: 'key', limit: limits.ofKey };
    return this.#records.size >= limits.ofService ? { kind: 'full', of: 'service', limit: limits.ofService } : null;
  }
}

/** Whatever text of it the caller chose, an id of any length for one. */
const weighRecord = (spec: CallSpec): number => {
  let bytes = RECORD_BYTES;
  for (const member of Object.values(spec)) if (typeof member === 'string') bytes += textBytes(member);
  return bytes;
};

const createRecord = (key: string, spec: CallSpec, now: number): MutableRecord => ({
  key,
  spec,
  state: 'queued',
  begins: 0,
  cancel: 'no',
  progress: null,
  lackedSince: null,
  result: null,
  fence: 0,
  leaseEndsAt: 0,
  confirmed: false,
  tries: 1,
  createdAt: now,
  lookedAt: now,
  unknown: false,
  hold: null,
});

const claimRecord = (record: MutableRecord | undefined, key: string, now: number): Claim => {
  if (record === undefined) return { kind: 'gone' };
  if (record.state === 'ended') return { kind: 'ended' };
  if (record.leaseEndsAt > now) return { kind: 'busy', retryAfterMs: record.leaseEndsAt - now };
  record.fence += 1;
  // Whatever an earlier worker began, this one has not.
  record.state = 'queued';
  record.confirmed = true;
  record.leaseEndsAt = now + CALL_LEASE_MS;
  record.lookedAt = now;
  return { kind: 'held', lease: { key, fence: record.fence }, record: { ...record } };
};

const decrement = (counts: Map<string, number>, key: string): void => {
  const count = (counts.get(key) ?? 0) - 1;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
};
