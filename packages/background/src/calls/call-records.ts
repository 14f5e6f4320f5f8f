import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { ByteBudget } from 'recourse-server/memory/byte-budget';
import { inRoom, type Shortage, type StoreSpace, UNLIMITED_SPACE } from 'recourse-server/sessions/store-space';
import type { Decide, RecordStore, Records } from 'recourse-server/store/record-store';
import { NO_SEALING, type Sealing } from 'recourse-server/store/seals';
import type { DueEntry, DueIndex } from '../jobs/due-index.ts';
import type {
  CallLease,
  CallProgress,
  CallRecord,
  CancelRequest,
  Claim,
  CommitKind,
  Creation,
  StoredCall,
} from './call-kind.ts';
import {
  BRIEF_FIELDS,
  callKind,
  createCall,
  describeHead,
  describeVersion,
  endCall,
  findHeld,
  HEAD_FIELDS,
  holderOf,
  isReplaceable,
  isWaiting,
  markCancelled,
  mayEnd,
  toCallRecord,
  VERSION_FIELDS,
  weighCall,
} from './call-kind.ts';
import { CallLeases, LEASE_MS, LOOK_SOON_MS } from './call-leases.ts';
import { takeResultRoom, weighStored, weighStoredArguments } from './call-room.ts';
import { CallSeals, type Looked, type Unopened } from './call-seals.ts';
import type { CallSignals } from './call-signals.ts';
import { createSessionCalls, type SessionCalls } from './session-calls.ts';
import { createUnblock, type Unblock } from './unblock-call.ts';

/** How many calls may be pending at once. */
export type PendingLimits = { readonly ofSession: number; readonly ofKey: number; readonly ofService: number };

export type CallRecordsOptions = {
  readonly store: RecordStore;
  /** `process`: gone when this process ends. `file`: the next process on this machine goes on with them. `durable`: others do. */
  readonly durability: 'durable' | 'file' | 'process';
  /** Where the memory of calls is taken from while they are pending; null: the store is not this process's alone. */
  readonly budget: Pick<ByteBudget, 'open' | 'openBeyond' | 'partOf' | 'limitBytes'> | null;
  readonly signals: CallSignals;
  /** All calls that have not ended, and when each is looked at next. */
  readonly live: DueIndex;
  /** Those of a session; opened anew for each step. */
  readonly openSession: (sessionKey: string) => DueIndex;
  readonly limits: PendingLimits;
  /** How long is waited for another process, or another batch of this one, that is making a call. */
  readonly makingPauseMs: number;
  /** Calls the listener each time the store is back after it was away. */
  readonly onReturn: (listener: () => void) => void;
  readonly maxResultBytes?: number;
  /** Where calls and their results take room. Left out: there is room for all. */
  readonly space?: StoreSpace;
  /** Left out: nothing is sealed. */
  readonly sealing?: Sealing;
};

/** The records of pending calls, or what stands before them. */
export type CallRecords = Pick<StoredCallRecords, keyof StoredCallRecords>;

export const createCallRecords = (options: CallRecordsOptions): CallRecords => new StoredCallRecords(options);

/**
 * The records of pending calls: the truth about each, whatever a queue says. Each step is one decision on a record, which waits
 * at most a second until it is kept. All reject when the store fails. A record that has not ended is never dropped for want of
 * room: there `create` answers `full`.
 */
class StoredCallRecords {
  readonly durability: CallRecordsOptions['durability'];
  /** Whether memory is held here for the arguments of all calls that have not ended: a worker need not hold it again. */
  readonly holdsArguments: boolean;
  /** Calls listeners back about calls and their parts. Best effort: who waits reads again once a second. */
  readonly signals: CallSignals;
  /** The calls of each session that have not ended. */
  readonly sessions: SessionCalls;
  /** All calls that have not ended; of those that begin or end meanwhile some may be left out or have ended. */
  readonly live: DueIndex;
  /** Calls the listener each time the store is back after it was away. */
  readonly onReturn: CallRecordsOptions['onReturn'];
  readonly #options: CallRecordsOptions;
  readonly #calls: Records<StoredCall>;
  readonly #leases: CallLeases;
  readonly #seals: CallSeals;
  readonly unblock: Unblock;

  constructor(options: CallRecordsOptions) {
    const { store, openSession: openIndex, limits, makingPauseMs, onReturn } = options;
    this.durability = options.durability;
    this.signals = options.signals;
    this.live = options.live;
    this.onReturn = onReturn;
    this.holdsArguments = options.budget !== null;
    this.#options = options;
    this.#calls = store.open(callKind);
    this.#leases = new CallLeases(this.#calls, options.live, onReturn);
    this.#seals = new CallSeals(this.#calls, options.sealing ?? NO_SEALING, options.signals.publish);
    this.unblock = createUnblock(this.#calls, this.#seals, options.signals.publish);
    this.sessions = createSessionCalls({
      openIndex,
      most: limits.ofSession,
      peek: async (key) => (await this.#leases.look(key)).state,
      makingPauseMs,
    });
  }

  async create(key: string, spec: CallSpec): Promise<Creation> {
    const { space = UNLIMITED_SPACE } = this.#options;
    const weight = this.#seals.toWeight(weighStored(spec));
    const shortage = await space.take(spec.tenant, 'arguments', weight);
    if (shortage !== null) return this.#findKept(key, spec, shortage);
    const creation = await inRoom(space, spec.tenant, weight, () => this.#create(key, spec));
    if (creation.kind !== 'created') space.give(spec.tenant, weight);
    return creation;
  }

  // At once, for they are three records. A record without its entries, or the other way round, is not confirmed.
  async #create(key: string, spec: CallSpec): Promise<Creation> {
    const kept = this.#seals.keep(key, spec);
    const create: Decide<StoredCall, 'created' | 'exists' | 'ended'> = (stored, now) => {
      const { call } = stored;
      if (call?.state === 'ended') return 'ended';
      if (call === null) stored.call = createCall(spec, kept, now);
      else call.tries += 1;
      return call === null ? 'created' : 'exists';
    };
    const [made, inSession, inAll] = await Promise.all([
      this.#update(key, create),
      this.sessions.enter(key, spec),
      this.#enter(key, spec),
    ]);
    if (made === 'exists') return EXISTS;
    const refusal = made === 'ended' ? EXISTS : [inSession, inAll].find((entered) => typeof entered === 'object');
    if (refusal === undefined) return { kind: 'created' };
    if (inSession === 'entered') this.sessions.leave(key, spec);
    if (inAll === 'entered') this.#leave({ key, holder: holderOf(spec) });
    // Where that fails the record is gone in a minute.
    if (made === 'created') await this.#withdraw(key).then(ignore, ignore);
    return refusal;
  }

  /**
   * Says that the maker of the record knows of it. One that is not confirmed is dropped after a minute, and never queued by a
   * sweep: its caller was told that nothing was accepted. `gone`: there is none to confirm.
   */
  async confirm(key: string): Promise<'confirmed' | 'gone'> {
    return this.#update(key, ({ call }) => {
      if (call === null) return 'gone';
      call.confirmed = true;
      return 'confirmed';
    });
  }

  /**
   * Takes back a call whose caller was told that nothing was accepted, so that it never runs and another try of its batch
   * finds nothing. One that another try has created as well stays; one that a worker has taken is cancelled instead. Its entries
   * are taken out by who finds them: another try of the batch may have entered it again.
   */
  async withdraw(key: string): Promise<void> {
    const withdrawn = await this.#withdraw(key);
    if (withdrawn !== null) this.#options.space?.give(withdrawn.tenant, this.#seals.toWeight(weighStored(withdrawn)));
  }

  /** What the call ran by whose record is gone; null: there is none, or it stays. */
  async #withdraw(key: string): Promise<CallSpec | null> {
    const take = (stored: StoredCall): { readonly isCancelled: boolean; readonly spec: CallSpec | null } => {
      const { call } = stored;
      if (call?.tries !== 1) return { isCancelled: false, spec: null };
      if (call.fence === 0) stored.call = null;
      else markCancelled(call, 'asked');
      const spec = this.#seals.open(key, call, 'all');
      return { isCancelled: call.fence > 0, spec: call.fence > 0 || 'problem' in spec ? null : spec };
    };
    const { isCancelled, spec } = await this.#calls.update(key, take, 'always');
    if (isCancelled) this.signals.publish(key);
    return spec;
  }

  /** null: unknown. Ends a call that no process may act on: its record was damaged, or made or moved by something else. */
  async find(key: string): Promise<CallRecord | null> {
    return this.#seals.settle(key, await this.#calls.read(key, (stored) => this.#seals.look(key, stored, 'all')));
  }

  /** The same of a call that was confirmed, with empty arguments: they may be long. */
  async describe(key: string): Promise<CallRecord | null> {
    const look = (stored: StoredCall): Looked =>
      stored.call?.confirmed === true ? this.#seals.look(key, stored, 'brief') : null;
    return this.#seals.settle(key, await this.#calls.read(key, look, BRIEF_FIELDS));
  }

  /** When each of these calls was made, and its state; null: it is not pending. For much less than `describe`. */
  async heads(keys: readonly string[]): Promise<readonly ReturnType<typeof describeHead>[]> {
    return Promise.all(keys.map((key) => this.#calls.read(key, describeHead, HEAD_FIELDS)));
  }

  /**
   * What tells whether something has happened to each of these calls, for much less than `find`: '' as long as it has neither
   * ended nor said how far it is, else a text that changes with that; a call that is unknown has ended.
   */
  async versions(keys: readonly string[]): Promise<readonly string[]> {
    const look = async (key: string): Promise<string> =>
      (await this.#calls.read(key, describeVersion, VERSION_FIELDS)) ?? 'ended';
    // A key that is no record says nothing of the others; where none is answered the store is away.
    const looks = keys.map(look);
    if (keys.length > 0) await Promise.any(looks);
    const looked = await Promise.allSettled(looks);
    return looked.map((one) => (one.status === 'fulfilled' ? one.value : 'ended'));
  }

  /** Takes the call: of all workers that do so at once, one holds it. `begins` above 0: a worker that began it has died. */
  async claim(key: string): Promise<Claim> {
    const claim = await this.#update(key, (stored, now): Claim | Unopened => {
      const { call } = stored;
      if (call === null) return { kind: 'gone' };
      if (call.state === 'ended') return { kind: 'ended' };
      if (isWaiting(call)) return { kind: 'waiting' };
      const retryAfterMs = this.#leases.leftMs(call, now);
      if (retryAfterMs > 0) return { kind: 'busy', retryAfterMs };
      const isTakenOver = call.leaseEndsAt > 0;
      const spec = this.#seals.open(key, call, 'all');
      if ('problem' in spec) return spec;
      call.confirmed = true;
      call.fence += 1;
      // Whatever an earlier worker began, this one has not.
      call.state = 'queued';
      call.leaseEndsAt = now + LEASE_MS;
      const lease = { key, fence: call.fence, spec, creation: call.creation };
      return { kind: 'held', lease, record: toCallRecord(call, spec), isTakenOver };
    });
    if ('problem' in claim) return { kind: await this.#seals.refuse(key, claim) };
    if (claim.kind !== 'held') return claim;
    this.enterAgain(key, claim.record.spec, LEASE_MS);
    return claim;
  }

  /** Notes that the handler begins, before it does, and holds the call. `lost`: another worker holds it, and it must not run. */
  async begin(lease: HeldBy): Promise<'held' | 'lost'> {
    return this.#update(lease.key, (stored, now) => {
      const call = findHeld(stored, lease);
      if (call === null) return 'lost';
      if (call.state === 'queued') call.begins += 1;
      call.state = 'running';
      call.leaseEndsAt = now + LEASE_MS;
      return 'held';
    });
  }

  /** Holds the call for another lease, and keeps how far it is; tells whether somebody wants it ended. */
  async renew(
    lease: HeldBy,
    progress: CallProgress | null,
  ): Promise<{ readonly state: 'held' | 'lost'; readonly cancel: CancelRequest }> {
    const hold: Decide<StoredCall, Awaited<ReturnType<CallRecords['renew']>>> = (stored, now) => {
      const call = findHeld(stored, lease);
      if (call === null) return { state: 'lost', cancel: 'no' };
      call.leaseEndsAt = now + LEASE_MS;
      call.progress = progress ?? call.progress;
      return { state: 'held', cancel: call.cancel };
    };
    const renewed = await this.#calls.update(lease.key, hold, 'always');
    if (renewed.state === 'held' && progress !== null) this.signals.publish(lease.key);
    return renewed;
  }

  /**
   * Gives back a call that did not run: as if it had not begun. `lackedAt`: now, in Unix milliseconds, where its tool is
   * lacking; left out, it is no longer known to be.
   */
  async release(lease: HeldBy, lackedAt?: number): Promise<void> {
    await this.#update(lease.key, (stored) => {
      const call = findHeld(stored, lease);
      if (call === null) return;
      if (call.state === 'running') call.begins = Math.max(0, call.begins - 1);
      call.state = 'queued';
      call.leaseEndsAt = 0;
      call.lackedSince = lackedAt === undefined ? null : (call.lackedSince ?? lackedAt);
    });
  }

  /**
   * Ends the call. A late end replaces only a result that says that it is unknown how the call ended. A worker whose answer was
   * lost commits the same result again: it has ended the call.
   */
  async commit(lease: CallLease, uncapped: string, how: CommitKind): Promise<'held' | 'lost'> {
    const { space = UNLIMITED_SPACE, maxResultBytes } = this.#options;
    const { key, fence, spec } = lease;
    const { result, weight } = await takeResultRoom(space, spec.tenant, uncapped, maxResultBytes);
    const kept = this.#seals.keepEnded(lease);
    const toEnd: Decide<StoredCall, 'first' | 'late' | 'again' | 'lost'> = ({ call }, now) => {
      if (call === null) return 'lost';
      const wasEnded = call.state === 'ended';
      if (wasEnded && call.fence === fence && call.result === result) return 'again';
      if (!mayEnd(call, fence, how)) return 'lost';
      endCall(call, { result, unknown: how.unknown, kept }, now);
      return wasEnded ? 'late' : 'first';
    };
    const ended = await inRoom(space, spec.tenant, weight, () => this.#calls.update(key, toEnd, 'always'));
    if (ended === 'again' || ended === 'lost') space.give(spec.tenant, weight);
    if (ended === 'lost') return 'lost';
    this.signals.publish(key);
    if (ended === 'first') space.give(spec.tenant, this.#seals.toWeight(weighStoredArguments(spec)));
    this.sessions.leave(key, spec);
    this.#leave({ key, holder: holderOf(spec) });
    return 'held';
  }

  /** Puts the result of a check in the place of one that says that it is unknown how the call ended; false: it has not ended yet. */
  async settle(key: string, uncapped: string): Promise<boolean> {
    const { space = UNLIMITED_SPACE, maxResultBytes } = this.#options;
    const tenant = key.slice(0, key.lastIndexOf(':'));
    const { result, weight } = await takeResultRoom(space, tenant, uncapped, maxResultBytes);
    const unknown = isReplaceable(uncapped);
    const settle: Decide<StoredCall, 'settled' | 'known' | 'pending'> = ({ call }, now) => {
      if (call !== null && call.state !== 'ended') return 'pending';
      if (call === null || !call.unknown) return 'known';
      endCall(call, { result, unknown, kept: null }, now);
      return 'settled';
    };
    const settled = await inRoom(space, tenant, weight, () => this.#calls.update(key, settle, 'always'));
    if (settled === 'settled') this.signals.publish(key);
    else space.give(tenant, weight);
    return settled !== 'pending';
  }

  /** Notes that somebody wants it ended, and tells what is known of it now; null: unknown. */
  async cancel(key: string, how: Exclude<CancelRequest, 'no'>): Promise<CallRecord | null> {
    const opened = await this.#update(key, (stored) => {
      if (stored.call !== null) markCancelled(stored.call, how);
      return this.#seals.look(key, stored, 'all');
    });
    const record = await this.#seals.settle(key, opened);
    if (record !== null) this.signals.publish(key);
    return record;
  }

  /** Calls that no worker holds and whose time has come, at most so many, each to one asker: those that wait, and those whose lease has lapsed. */
  due(most: number): Promise<readonly string[]> {
    return this.#leases.due(most);
  }

  /** Has a sweep look at a stored call after so many milliseconds, and its session list it, whatever room there is. Best effort. */
  enterAgain(key: string, spec: CallSpec, afterMs: number): void {
    this.sessions.enterAgain(key, spec);
    const { budget } = this.#options;
    const reserve = budget === null ? undefined : () => budget.openBeyond(spec.caller, weighCall(spec));
    void this.live.enterAgain({ key, holder: holderOf(spec) }, afterMs, reserve).then(ignore, ignore);
  }

  /** Enters a call before its record is made. */
  async #enter(key: string, spec: CallSpec): Promise<'existing' | 'entered' | Creation> {
    const { limits, budget } = this.#options;
    const reserve = budget === null ? undefined : () => budget.open(spec.caller, weighCall(spec));
    const entered = await this.live.enter({ key, holder: holderOf(spec) }, LOOK_SOON_MS, reserve);
    if (entered === 'existing' || entered === 'entered') return entered;
    if (entered === 'holder_full') return { kind: 'full', of: 'key', limit: limits.ofKey };
    if (entered === 'full') return { kind: 'full', of: 'service', limit: limits.ofService };
    const part = budget?.partOf(spec.caller) ?? null;
    return { kind: 'full', of: part === null ? 'memory' : 'caller', limit: part ?? budget?.limitBytes ?? 0 };
  }

  /** Best effort, and waits for nothing: an entry that stays is taken out by the sweep that finds it. */
  #leave(entry: DueEntry): void {
    void this.live.leave(entry).then(ignore, ignore);
  }

  // JSON text without secrets, to readers in any process that watch the call now.
  /** Sends what the handler of a held call shows. Best effort: kept nowhere, dropped rather than waited for. Never throws. */
  publishPart(lease: HeldBy, valueJson: string): void {
    const isHeld = (stored: StoredCall): boolean => findHeld(stored, lease) !== null;
    const ask = async (): Promise<boolean> => (await this.#calls.read(lease.key, isHeld, HEAD_FIELDS)) === true;
    this.signals.publishPart(lease.key, valueJson, ask);
  }

  async #update<Result>(key: string, decide: Decide<StoredCall, Result>): Promise<Result> {
    return this.#calls.update(key, decide, 'long');
  }

  /** A call that the store has no room for, unless it is there. */
  async #findKept(key: string, { sessionKey, fingerprint }: CallSpec, shortage: Shortage): Promise<Creation> {
    if ((await this.find(key)) !== null) return EXISTS;
    const same = sessionKey === null ? null : await this.sessions.findSame(sessionKey, fingerprint);
    return same === null ? { kind: 'full', ...shortage } : { kind: 'same', key: same };
  }
}

type HeldBy = Pick<CallLease, 'key' | 'fence'>;

const EXISTS: Creation = { kind: 'exists' };

const ignore = (): void => undefined;
