import { hash } from 'node:crypto';
import type { PendingCall } from 'recourse-server/contract/tool-result';
import type {
  Acceptance,
  AcceptedCall,
  CallPlace,
  CallSpec,
  PendingCalls,
  PendingState,
} from 'recourse-server/executor/pending-calls';
import { readStoredResult } from 'recourse-server/executor/stored-result';
import { CallWaiters } from './call-waiters.ts';
import { type CallRecord, createCall, handleOf, toCallKey, toCallRecord } from './calls/call-kind.ts';
import { LOOK_SOON_MS } from './calls/call-leases.ts';
import type { CallRecords } from './calls/call-records.ts';
import { requireSpec } from './calls/call-seals.ts';
import type { PartsWatch } from './calls/call-signals.ts';
import type { Job, JobEnd, JobQueue } from './jobs/job-queue.ts';
import { renderLostResult, renderUnbelieved } from './lost-results.ts';

/** What a request to cancel a call has come to. */
export type Cancelled = 'cancelled' | 'running' | 'ended' | 'unknown';

/** A pending call, and what it runs by. */
export type KnownCall = { readonly spec: CallSpec; readonly state: PendingState };

export type PendingServiceOptions = {
  readonly records: CallRecords;
  readonly queue: JobQueue;
  /** Runs a call in this process; never rejects. */
  readonly run: (job: Job) => Promise<JobEnd>;
  readonly laneOf: (tool: string) => string;
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
  /** A call has been accepted that was not before. */
  readonly onAccepted: (spec: CallSpec) => void;
  readonly onFailed: (error: unknown) => void;
};

const SWEEP_AT_ONCE = 20;
const MOST_SWEPT = 2000;
// An end that the store does not take is tried again for minutes: the next sweeps do not wait for that.
const SWEEP_HOLDS_MS = 5000;
const POLL_AFTER_MS = 2000;
// A stream that cannot hear the parts of its calls by then shows later ones.
const MOST_ANNOUNCING_MS = 250;
// As long as an outage may last unnoticed: a sweep queues a confirmed record after 15 s, also elsewhere.
const WITHDRAW_TRIES = 60;
const WITHDRAW_PAUSE_MS = 500;

/**
 * Calls that outlive their requests: accepts them, tells where they stand, and ends them. The order is record, queue, answer:
 * what was accepted is never lost by the death of a process, and what was refused never runs.
 */
export class PendingService implements PendingCalls {
  readonly waiters: CallWaiters;
  readonly #options: PendingServiceOptions;
  readonly #closing = new AbortController();
  /** By `performance.now()`. */
  #sweepsUntil = 0;

  constructor(options: PendingServiceOptions) {
    this.#options = options;
    const endOverdue = (key: string, record: CallRecord): Promise<boolean> => this.#endOverdue(key, record);
    this.waiters = new CallWaiters({ ...options, endOverdue });
  }

  async accept(spec: CallSpec, announce: Announce, withinMs: number): Promise<Acceptance> {
    try {
      return await this.#accept(spec, announce, withinMs);
    } catch (error) {
      this.#options.onFailed(error);
      return UNAVAILABLE;
    }
  }

  find(sessionKey: string, fingerprint: string): Promise<AcceptedCall | null> {
    const find = async (): Promise<AcceptedCall | null> => {
      const key = await this.#options.records.sessions.findSame(sessionKey, fingerprint);
      return key === null ? null : this.#attach(key);
    };
    return find().catch(this.#orNull);
  }

  attach(tenant: string, handle: string): Promise<AcceptedCall | null> {
    return this.#attach(toCallKey(tenant, handle)).catch(this.#orNull);
  }

  reattach(tenant: string, place: CallPlace): Promise<AcceptedCall | null> {
    const reattach = async (key: string): Promise<AcceptedCall | null> => {
      // One that is not confirmed is accepted again.
      const record = await this.#options.records.describe(key);
      if (record === null) return null;
      if (record.state !== 'ended' && record.state !== 'waiting_for_approval' && record.spec !== null)
        await this.#dispatch(key, record.spec);
      return this.#toAccepted(key, record);
    };
    return reattach(toCallKey(tenant, handleOfPlace(place))).catch(this.#orNull);
  }

  hasAccepted(tenant: string, place: CallPlace): Promise<boolean> {
    const described = this.#options.records.describe(toCallKey(tenant, handleOfPlace(place)));
    return described.then((record) => record !== null).catch(() => false);
  }

  /**
   * Puts what a check has found in the place of a result that says that it is unknown how the call ended; false: it has not ended
   * yet. Rejects with the store.
   */
  settle(tenant: string, handle: string, result: string): Promise<boolean> {
    return this.#options.records.settle(toCallKey(tenant, handle), result);
  }

  /**
   * Where a call of the tenant stands, after at most `waitMs` or at its end, and what it runs by; null: unknown, or no reader waits
   * any more since `over` has resolved. Rejects with the store.
   */
  async lookUp(tenant: string, handle: string, waitMs: number, over?: Promise<void>): Promise<KnownCall | null> {
    return this.#toKnown(await this.waiters.untilEnded(toCallKey(tenant, handle), waitMs, over), handle);
  }

  /** The same of the call that a batch has accepted in that place, now and without its arguments. */
  async describe(tenant: string, place: CallPlace): Promise<KnownCall | null> {
    const handle = handleOfPlace(place);
    return this.#toKnown(await this.#options.records.describe(toCallKey(tenant, handle)), handle);
  }

  /** The same without what it runs by, also where that cannot be told. */
  async stateOf(tenant: string, handle: string, waitMs: number, over?: Promise<void>): Promise<PendingState | null> {
    const record = await this.waiters.untilEnded(toCallKey(tenant, handle), waitMs, over);
    return record === null ? null : this.#toState(record, handle);
  }

  /**
   * Has a call go on that waits for a person: who runs it asks what was decided. `gone`: there is none, or not yet. Rejects with the
   * store.
   */
  async release(tenant: string, handle: string): Promise<'told' | 'gone'> {
    const { records } = this.#options;
    const key = toCallKey(tenant, handle);
    const spec = await records.unblock(key);
    if (spec !== null) await this.#dispatch(key, spec);
    return spec === null && (await records.describe(key)) === null ? 'gone' : 'told';
  }

  /**
   * Ends a call where that does no harm, or in any case: one that no worker runs here and now, and of one that runs its worker is
   * told. Rejects with the store.
   */
  async cancel(tenant: string, handle: string, how: 'asked' | 'forced'): Promise<Cancelled> {
    const { records } = this.#options;
    const key = toCallKey(tenant, handle);
    const record = await records.cancel(key, how);
    if (record === null) return 'unknown';
    if (record.state === 'running' || record.state === 'ended') return record.state;
    // The worker that takes it reads that it was cancelled.
    if (record.spec === null) return 'running';
    await this.end(key, record.spec);
    const after = await records.find(key);
    return after === null || after.state === 'ended' ? 'cancelled' : 'running';
  }

  /** Ends a call here and now that does not run any more, because of what its record says; one that a worker holds goes on. */
  async end(key: string, call: Pick<CallSpec, 'tenant' | 'tool'>): Promise<void> {
    const { run, queue, onFailed } = this.#options;
    const job = this.#toJob(key, call);
    await run(job);
    await queue.cancel(job).catch(onFailed);
  }

  /** The calls of a session that have not ended, oldest first. Rejects with the store. */
  async ofSession(sessionKey: string): Promise<readonly { readonly spec: CallSpec; readonly pending: PendingCall }[]> {
    const { records } = this.#options;
    const keys = await records.sessions.list(sessionKey);
    const found = await Promise.all(keys.map(async (key) => ({ key, record: await records.find(key) })));
    const pending = found.flatMap(({ key, record }) => {
      const spec = record?.spec ?? null;
      const state = record === null ? null : this.#toState(record, handleOf(key));
      return spec === null || state?.kind !== 'pending' ? [] : [{ spec, pending: state.pending }];
    });
    return pending.toSorted((one, other) => one.spec.acceptedAt - other.spec.acceptedAt);
  }

  /** Subscribes to the parts of a call of the tenant. */
  watchParts(tenant: string, handle: string, listener: (valueJson: string) => void): PartsWatch {
    return this.#options.records.signals.watchParts(toCallKey(tenant, handle), listener);
  }

  /**
   * Queues what has no job, or whose worker has let its lease lapse, and ends what has expired; a few at a time, and nothing while
   * an earlier sweep does. Never rejects.
   */
  async sweep(): Promise<void> {
    const now = performance.now();
    if (now < this.#sweepsUntil || this.#closing.signal.aborted) return;
    this.#sweepsUntil = now + SWEEP_HOLDS_MS;
    try {
      await this.#sweepAll();
    } catch (error) {
      this.#options.onFailed(error);
    }
    this.#sweepsUntil = 0;
  }

  readonly close = (): void => {
    this.#closing.abort();
    this.waiters.close();
  };

  async #accept(spec: CallSpec, announce: Announce, withinMs: number): Promise<Acceptance> {
    const { records, onAccepted } = this.#options;
    const key = toCallKey(spec.tenant, handleOfSpec(spec));
    const until = performance.now() + withinMs;
    const created = await inTime(records.create(key, spec), withinMs);
    if (created.kind === 'full') return created;
    if (created.kind === 'same') {
      const call = await this.#attach(created.key);
      return call === null ? UNAVAILABLE : { kind: 'accepted', call, how: 'joined' };
    }
    if ((await this.#confirm(key, until - performance.now())) === 'gone') return UNAVAILABLE;
    const isNew = created.kind === 'created';
    if (isNew) onAccepted(spec);
    await orLate(Promise.resolve(announce(handleOf(key))), MOST_ANNOUNCING_MS);
    if ((spec.approval ?? null) === null) await this.#dispatch(key, spec);
    // What was just written need not be read. What an earlier try has written may have ended.
    const record = isNew ? null : await records.find(key).catch(this.#orNull);
    return {
      kind: 'accepted',
      call: this.#toAccepted(
        key,
        record ?? toCallRecord(createCall(spec, { spec, creation: '' }, spec.acceptedAt), spec),
      ),
      how: 'new',
    };
  }

  /**
   * Confirms a record. Where that fails it may have been applied: its caller is told that the call does not run, and so it
   * must not. The record is taken back, however long that takes.
   */
  async #confirm(key: string, withinMs: number): Promise<'confirmed' | 'gone'> {
    try {
      return await inTime(this.#options.records.confirm(key), withinMs);
    } catch (error) {
      void this.#withdraw(key);
      throw error;
    }
  }

  async #withdraw(key: string): Promise<void> {
    const { records, onFailed } = this.#options;
    for (let tries = 0; tries < WITHDRAW_TRIES && !this.#closing.signal.aborted; tries += 1) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, WITHDRAW_PAUSE_MS).unref());
      const isDone = await records.withdraw(key).then(() => true, onFailed);
      if (isDone === true) return;
    }
  }

  /** Has a call that has a record run: in this process where its tool ends with its request, else by any worker. */
  async #dispatch(key: string, spec: CallSpec): Promise<void> {
    const job = this.#toJob(key, spec);
    if (spec.background === 'never') void this.#runHere(job);
    // A sweep queues it later where the queue is away: the record is there.
    else await this.#options.queue.offer(job).catch(this.#options.onFailed);
  }

  async #runHere(job: Job): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const end = await this.#options.run(job);
    // Not at once again: what kept it from running may be over then. A process that ends leaves it to a sweep.
    if (end.kind === 'later') setTimeout(() => void this.#runHere(job), Math.max(1, end.afterMs)).unref();
  }

  async #sweepAll(): Promise<void> {
    for (let left = MOST_SWEPT; left > 0; left -= SWEEP_AT_ONCE) {
      const due = await this.#options.records.due(SWEEP_AT_ONCE);
      await Promise.all(due.map((key) => this.#offerAgain(key)));
      if (due.length < SWEEP_AT_ONCE) return;
    }
  }

  async #offerAgain(key: string): Promise<void> {
    const { records, queue, onFailed } = this.#options;
    const record = await records.describe(key);
    if (record === null || record.state === 'ended' || (await this.#endOverdue(key, record))) return;
    const { spec } = record;
    // A process that has its key queues it. One that waits for a person is queued when that person has decided.
    if (spec === null || record.state === 'waiting_for_approval') return;
    // The worker that takes it decides by the record whether it runs, or is not known to have ended.
    await queue.offerAgain(this.#toJob(key, spec)).catch((error: unknown) => {
      records.enterAgain(key, spec, LOOK_SOON_MS);
      onFailed(error);
    });
  }

  /** Ends a call whose time is over, also where no worker takes it; false: it had not been over. */
  async #endOverdue(key: string, record: CallRecord): Promise<boolean> {
    if (record.spec === null || this.#options.time() < record.expiresAt) return false;
    // What the person has decided in its last moment counts: who runs it asks.
    const released = record.state === 'waiting_for_approval' ? await this.#options.records.unblock(key) : null;
    await this.end(key, released ?? record.spec);
    return true;
  }

  async #attach(key: string): Promise<AcceptedCall | null> {
    const record = await this.#options.records.find(key);
    return record === null ? null : this.#toAccepted(key, record);
  }

  #toAccepted(key: string, record: CallRecord): AcceptedCall {
    const handle = handleOf(key);
    const ended = async (waitMs: number, over?: Promise<void>): Promise<PendingState | null> => {
      const waited = this.waiters.untilEnded(key, waitMs, over).catch(this.#options.onFailed);
      // That no reader waits any more says nothing of its record.
      const found = await Promise.race([over?.then(() => undefined) ?? waited, waited]);
      if (found === undefined) return null;
      return found === null
        ? { kind: 'ended', result: renderLostResult(record.spec ?? undefined) }
        : this.#toState(found, handle);
    };
    return { handle, state: this.#toState(record, handle), ended };
  }

  #toKnown(record: CallRecord | null, handle: string): KnownCall | null {
    if (record === null || (record.state === 'ended' && record.spec === null)) return null;
    return { spec: requireSpec(record), state: this.#toState(record, handle) };
  }

  #toState(record: CallRecord, handle: string): PendingState {
    return toCallState(record, handle, this.#options.records.durability);
  }

  #toJob(key: string, { tenant, tool }: Pick<CallSpec, 'tenant' | 'tool'>): Job {
    return { call: handleOf(key), tenant, lane: this.#options.laneOf(tool) };
  }

  readonly #orNull = (error: unknown): null => {
    this.#options.onFailed(error);
    return null;
  };
}

type Announce = Parameters<PendingCalls['accept']>[1];

const UNAVAILABLE: Acceptance = { kind: 'unavailable' };

// 128 bits. The same in each try of a batch: a call that was accepted once is not accepted again.
const HANDLE_CHARACTERS = 22;

/** The handle of a call: it follows from its record and its place there. */
export const handleOfSpec = ({ recordKey, index, place = index }: CallSpec): string =>
  handleOfPlace({ recordKey, place });

/** The handle of the call that has this place in this record. */
export const handleOfPlace = ({ recordKey, place }: CallPlace): string =>
  `c_${hash('sha256', `${recordKey}\n${place}`, 'base64url').slice(0, HANDLE_CHARACTERS)}`;

/** The answer, or `late` after so many milliseconds: what was asked may have been done, or be done yet. */
const orLate = async <Answer>(answer: Promise<Answer>, ms: number): Promise<Answer | 'late'> => {
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(resolve, ms, 'late').unref();
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
};

const inTime = async <Answer>(asked: Promise<Answer>, ms: number): Promise<Answer> => {
  const answer = await orLate(asked, ms);
  if (answer === 'late') throw new Error('The deadline of the batch has passed.');
  return answer;
};

/** The result of an end. One that cannot be read says that it is unknown how the call ended; where there is none it was refused. */
const toReadable = ({ result, spec, begins }: CallRecord): string => {
  if (result === null) return renderUnbelieved(begins, spec ?? undefined);
  return readStoredResult(result) === null ? renderLostResult(spec ?? undefined) : result;
};

const MODES = { process: { mode: 'memory' }, file: { mode: 'sqlite' }, durable: {} } as const;

const toCallState = (record: CallRecord, handle: string, durability: CallRecords['durability']): PendingState => {
  if (record.state === 'ended') return { kind: 'ended', result: toReadable(record) };
  const { state, progress, acceptedAt, expiresAt } = record;
  return {
    kind: 'pending',
    pending: {
      call: handle,
      state,
      since: new Date(acceptedAt).toISOString(),
      expires_at: new Date(expiresAt).toISOString(),
      poll_after_ms: POLL_AFTER_MS,
      ...MODES[durability],
      progress,
      approval: state === 'waiting_for_approval' ? (record.spec?.approval ?? null) : null,
    },
  };
};
