import type { CallSpec } from '../../executor/pending-calls.ts';
import { KEPT_BELOW_PERCENT, type Keepable, type MayKeep } from '../../executor/store-observer.ts';
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
} from '../../pending/call-records.ts';
import type { Decide, RecordStore, Records } from '../../store/record-store.ts';
import { createResultCap, withoutRoom } from '../keyed/keyed-results.ts';
import {
  decideBegin,
  decideCancellation,
  decideClaim,
  decideConfirmation,
  decideCreation,
  decideEnd,
  decideRelease,
  decideRenewal,
  decideReturn,
  decideWithdrawal,
  isHeldBy,
  type Peeked,
  peekCall,
  toVersion,
} from './call-decisions.ts';
import {
  BRIEF_FIELDS,
  callKind,
  HEAD_FIELDS,
  readSpec,
  type StoredCall,
  toCallRecord,
  VERSION_FIELDS,
} from './call-kind.ts';
import type { CallSignals } from './call-signals.ts';
import type { LiveCall, LiveCalls } from './live-calls.ts';
import { createSessionCalls, type SessionCalls } from './session-calls.ts';

export type CallRecordsOptions = {
  readonly store: RecordStore;
  readonly durability: CallRecords['durability'];
  readonly holdsArguments: boolean;
  readonly signals: CallSignals;
  readonly live: LiveCalls;
  /** How many calls of a session may be pending at once. */
  readonly ofSession: number;
  /** How long is waited for another process, or another batch of this one, that is making a call. */
  readonly makingPauseMs: number;
  readonly leaseMs?: number;
  readonly maxResultBytes?: number;
  /** Left out: there is room for everything. */
  readonly mayKeep?: MayKeep;
};

/** Pending calls as records of a store: each step is one decision, which waits at most a second until it is kept. */
export const createCallRecords = (options: CallRecordsOptions): CallRecords => new StoredCallRecords(options);

/**
 * The same of a store that only this process has, with what it kept when the process before this one ended: nobody holds those
 * calls any more, and a sweep looks at them at once.
 */
export const openEmbeddedCallRecords = async (
  options: CallRecordsOptions,
  keys: readonly string[],
): Promise<CallRecords> => {
  const records = new StoredCallRecords(options);
  await records.takeBack(keys);
  return records;
};

// Entries that one question for calls that are due goes through, as a multiple of what it wants: most have a worker.
const DUE_ROUNDS = 5;
// Of a shorter result next to nothing is gained by leaving its value out.
const BRIEF_FROM_BYTES = 2048;
const TAKEN_BACK_AT_ONCE = 100;

class StoredCallRecords implements CallRecords {
  readonly durability: CallRecords['durability'];
  readonly holdsArguments: boolean;
  readonly leaseMs: number;
  readonly #options: CallRecordsOptions;
  readonly #calls: Records<StoredCall>;
  readonly #sessions: SessionCalls;

  constructor(options: CallRecordsOptions) {
    const { store, ofSession, makingPauseMs, leaseMs = CALL_LEASE_MS } = options;
    this.durability = options.durability;
    this.holdsArguments = options.holdsArguments;
    this.leaseMs = leaseMs;
    this.#options = options;
    this.#calls = store.open(callKind);
    this.#sessions = createSessionCalls({ store, most: ofSession, peek: (key) => this.#peek(key), makingPauseMs });
  }

  async takeBack(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += TAKEN_BACK_AT_ONCE)
      await Promise.all(keys.slice(from, from + TAKEN_BACK_AT_ONCE).map((key) => this.#takeBack(key)));
  }

  async #takeBack(key: string): Promise<void> {
    if ((await this.#peek(key)) === 'ended') return;
    const spec = await this.#update(key, decideReturn);
    if (spec !== null) this.#options.live.enterAgain(key, spec);
  }

  // At once, for they are three records. A record without its entries, or the other way round, is not confirmed.
  async create(key: string, spec: CallSpec): Promise<Creation> {
    const { live } = this.#options;
    if (!this.#mayKeep('arguments')) return this.#findKept(key, spec);
    const [made, inSession, inAll] = await Promise.all([
      this.#update(key, (stored, now) => decideCreation(stored, spec, now)),
      this.#sessions.enter(key, spec),
      live.enter(key, spec),
    ]);
    if (made === 'exists') return EXISTS;
    const refusal = made === 'ended' ? EXISTS : [inSession, inAll].find((entered) => typeof entered === 'object');
    if (refusal === undefined) return { kind: 'created' };
    if (inSession === 'entered') this.#sessions.leave(key, spec);
    if (inAll === 'entered') live.leave({ key, holder: holderOf(spec) });
    // Where that fails the record is gone in a minute.
    if (made === 'created') await this.withdraw(key).then(ignore, ignore);
    return refusal;
  }

  async confirm(key: string): Promise<'confirmed' | 'gone'> {
    return this.#update(key, decideConfirmation);
  }

  // Its entries are taken out by who finds them: another try of the batch may have entered it again.
  async withdraw(key: string): Promise<void> {
    if ((await this.#update(key, decideWithdrawal)) === 'cancelled') this.#options.signals.publish(key);
  }

  async find(key: string): Promise<CallRecord | null> {
    return this.#calls.read(key, toCallRecord);
  }

  async describe(key: string): Promise<CallRecord | null> {
    const look = (stored: StoredCall): CallRecord | null => {
      const record = stored.call?.confirmed === true ? toCallRecord(stored) : null;
      return record === null ? null : { ...record, spec: { ...record.spec, arguments: '' } };
    };
    return this.#calls.read(key, look, BRIEF_FIELDS);
  }

  list(): AsyncIterable<readonly ListedCall[]> {
    return this.#options.live.list();
  }

  async versions(keys: readonly string[]): Promise<readonly string[]> {
    const look = async (key: string): Promise<string> =>
      (await this.#calls.read(key, toVersion, VERSION_FIELDS)) ?? 'ended';
    // A key that is no record says nothing of the others; where none is answered the store is away.
    const looks = keys.map(look);
    if (keys.length > 0) await Promise.any(looks);
    const looked = await Promise.allSettled(looks);
    return looked.map((one) => (one.status === 'fulfilled' ? one.value : 'ended'));
  }

  async claim(key: string): Promise<Claim> {
    const claimed = await this.#update(key, (stored, now) => decideClaim(stored, this.leaseMs, now));
    if (claimed.kind !== 'held') return claimed;
    const { fence, record } = claimed;
    this.#sessions.enterAgain(key, record.spec);
    this.#options.live.enterAgain(key, record.spec);
    return { kind: 'held', lease: { key, fence }, record };
  }

  async begin({ key, fence }: CallLease): Promise<'held' | 'lost'> {
    return this.#update(key, (stored, now) => decideBegin(stored, fence, this.leaseMs, now));
  }

  async renew({ key, fence }: CallLease, progress: CallProgress | null): ReturnType<CallRecords['renew']> {
    const renewed = await this.#update(key, (stored, now) =>
      decideRenewal(stored, { fence, progress }, this.leaseMs, now),
    );
    if (renewed.state === 'held' && progress !== null) this.#options.signals.publish(key);
    return renewed;
  }

  async release({ key, fence }: CallLease, lackedAt?: number): Promise<void> {
    await this.#update(key, (stored) => decideRelease(stored, fence, lackedAt));
  }

  async commit({ key, fence }: CallLease, result: string, how: CommitKind): Promise<'held' | 'lost'> {
    const end = { fence, result: this.#cap(result), how };
    const text = await this.#update(key, (stored, now) => decideEnd(stored, end, now));
    if (text === null) return 'lost';
    this.#options.signals.publish(key);
    const spec = readSpec(text);
    if (spec === null) return 'held';
    this.#sessions.leave(key, spec);
    this.#options.live.leave({ key, holder: holderOf(spec) });
    return 'held';
  }

  async cancel(key: string, how: Exclude<CancelRequest, 'no'>): Promise<CallRecord | null> {
    const record = await this.#update(key, (stored) => decideCancellation(stored, how));
    if (record !== null) this.#options.signals.publish(key);
    return record;
  }

  ofSession(sessionKey: string): Promise<readonly string[]> {
    return this.#sessions.list(sessionKey);
  }

  findSame(sessionKey: string, fingerprint: string): Promise<string | null> {
    return this.#sessions.findSame(sessionKey, fingerprint);
  }

  async due(most: number): Promise<readonly string[]> {
    const due: string[] = [];
    for (let round = 0; round < DUE_ROUNDS && due.length < most; round += 1) {
      const calls = await this.#options.live.popDue(most - due.length);
      if (calls.length === 0) break;
      due.push(...(await this.#findWaiting(calls)));
    }
    return due;
  }

  /** Those that no worker holds; what is over is taken out. */
  async #findWaiting(calls: readonly LiveCall[]): Promise<readonly string[]> {
    const looked = await Promise.all(calls.map(async (call) => ({ call, state: await this.#peek(call.key) })));
    for (const { call, state } of looked) if (state === 'gone' || state === 'ended') this.#options.live.leave(call);
    return looked.filter(({ state }) => state === 'waiting').map(({ call }) => call.key);
  }

  watch(listener: CallListener): () => void {
    return this.#options.signals.watch(listener);
  }

  publishPart({ key, fence }: CallLease, valueJson: string): void {
    const isHeld = (): boolean | Promise<boolean> => {
      const held = this.#calls.read(key, (stored) => isHeldBy(stored, fence), HEAD_FIELDS);
      return held instanceof Promise ? held.then((known) => known === true) : held === true;
    };
    this.#options.signals.publishPart(key, valueJson, isHeld);
  }

  watchParts(key: string, listener: (valueJson: string) => void): PartsWatch {
    return this.#options.signals.watchParts(key, listener);
  }

  async #peek(key: string): Promise<Peeked> {
    return (await this.#calls.read(key, (stored, now) => peekCall(stored, this.leaseMs, now), HEAD_FIELDS)) ?? 'gone';
  }

  async #update<Result>(key: string, decide: Decide<StoredCall, Result>): Promise<Result> {
    return this.#calls.update(key, decide, 'long');
  }

  /** What is kept of a result. */
  #cap(result: string): string {
    const capped = createResultCap([], { maxResultBytes: this.#options.maxResultBytes })(result);
    if (Buffer.byteLength(capped) < BRIEF_FROM_BYTES || this.#mayKeep('pending_results')) return capped;
    return withoutRoom(capped);
  }

  #mayKeep(what: Keepable): boolean {
    return this.#options.mayKeep?.(what) ?? true;
  }

  /** A call that the store has no room for, unless it is there. */
  async #findKept(key: string, { sessionKey, fingerprint }: CallSpec): Promise<Creation> {
    if ((await this.find(key)) !== null) return EXISTS;
    const same = sessionKey === null ? null : await this.findSame(sessionKey, fingerprint);
    return same === null
      ? { kind: 'full', of: 'store', limit: KEPT_BELOW_PERCENT.arguments }
      : { kind: 'same', key: same };
  }
}

const EXISTS: Creation = { kind: 'exists' };

const ignore = (): void => undefined;
