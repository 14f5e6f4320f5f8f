import { hash } from 'node:crypto';
import type { PendingCall } from '../contract/tool-result.ts';
import type { Acceptance, AcceptedCall, CallSpec, CallState, PendingCalls } from '../executor/pending-calls.ts';
import { type CallRecord, type CallRecords, handleOf, type PartsWatch, toCallKey } from './call-records.ts';
import { type CallWaiters, createCallWaiters } from './call-waiters.ts';
import type { Job, JobEnd, JobQueue } from './job-queue.ts';

/** What a request to cancel a call has come to. */
export type Cancelled = 'cancelled' | 'running' | 'ended' | 'unknown';

/** A pending call, and what it runs by. */
export type KnownCall = { readonly spec: CallSpec; readonly state: CallState };

export type PendingService = PendingCalls & {
  /** Where a call of the tenant stands, after at most `waitMs` or at its end; null: unknown. Rejects with the store. */
  readonly stateOf: (tenant: string, handle: string, waitMs: number) => Promise<CallState | null>;
  /** The same with what the call runs by. */
  readonly lookUp: (tenant: string, handle: string, waitMs: number) => Promise<KnownCall | null>;
  /** Ends a call where that does no harm, or in any case. Rejects with the store. */
  readonly cancel: (tenant: string, handle: string, how: 'asked' | 'forced') => Promise<Cancelled>;
  /** The calls of a session that have not ended, oldest first. Rejects with the store. */
  readonly ofSession: (
    sessionKey: string,
  ) => Promise<readonly { readonly spec: CallSpec; readonly pending: PendingCall }[]>;
  readonly waiters: CallWaiters;
  /** Hears of the parts of a call of the tenant. */
  readonly watchParts: (tenant: string, handle: string, listener: (valueJson: string) => void) => PartsWatch;
  /** Queues what has no job, ends what has expired; a few at a time. Never rejects. */
  readonly sweep: () => Promise<void>;
  readonly close: () => void;
};

export type PendingServiceOptions = {
  readonly records: CallRecords;
  readonly queue: JobQueue;
  /** Runs a call in this process; never rejects. */
  readonly run: (job: Job) => Promise<JobEnd>;
  readonly laneOf: (tool: string) => string;
  /** Unix milliseconds. */
  readonly time: () => number;
  /** A call has been accepted that was not before. */
  readonly onAccepted: (spec: CallSpec) => void;
  readonly onFailed: (error: unknown) => void;
};

const SWEEP_AT_ONCE = 20;
const MOST_SWEPT = 2000;
const POLL_AFTER_MS = 2000;
// A stream that cannot hear the parts of its calls by then shows later ones.
const MOST_ANNOUNCING_MS = 250;

const waitAtMost = async (wait: Promise<void>, ms: number): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms).unref();
  await Promise.race([wait, promise]);
  clearTimeout(timer);
};

/**
 * Calls that outlive their requests: accepts them, tells where they stand, and ends them. The order is record, queue, answer:
 * what was accepted is never lost by the death of a process, and what was refused never runs.
 */
export const createPendingService = (options: PendingServiceOptions): PendingService => {
  const { records, onFailed, onAccepted } = options;
  const waiters = createCallWaiters(records);
  const toState = (record: CallRecord, handle: string): CallState => toCallState(record, handle, records.durability);
  const attach = async (tenant: string, handle: string): Promise<AcceptedCall | null> => {
    const key = toCallKey(tenant, handle);
    const record = await records.find(key);
    if (record === null) return null;
    const ended = async (waitMs: number): Promise<CallState | null> => {
      const found = await waiters.untilEnded(key, waitMs).catch(onFailed);
      return found === undefined || found === null ? null : toState(found, handle);
    };
    return { handle, state: toState(record, handle), ended };
  };
  const lookUp: PendingService['lookUp'] = async (tenant, handle, waitMs) => {
    const record = await waiters.untilEnded(toCallKey(tenant, handle), waitMs);
    return record === null ? null : { spec: record.spec, state: toState(record, handle) };
  };
  const orNull = (error: unknown): null => {
    onFailed(error);
    return null;
  };
  const dispatch = createDispatch(options);
  return {
    accept: async (spec, announce) => {
      const handle = handleOfSpec(spec);
      const key = toCallKey(spec.tenant, handle);
      try {
        const created = await records.create(key, spec);
        if (created.kind === 'full') return created;
        if (created.kind === 'created') onAccepted(spec);
        await waitAtMost(announce(handle), MOST_ANNOUNCING_MS);
        await dispatch(key, spec);
        const call = await attach(spec.tenant, handle);
        return call === null ? UNAVAILABLE : { kind: 'accepted', call };
      } catch (error) {
        onFailed(error);
        // What failed may have been applied: the call is told that it has not run, and so it must not.
        records.cancel(key, 'asked').catch(onFailed);
        return UNAVAILABLE;
      }
    },
    find: async (sessionKey, fingerprint) => {
      try {
        const key = await records.findSame(sessionKey, fingerprint);
        return key === null ? null : await attach(tenantOf(key), handleOf(key));
      } catch (error) {
        return orNull(error);
      }
    },
    attach: (tenant, handle) => attach(tenant, handle).catch(orNull),
    lookUp,
    stateOf: async (tenant, handle, waitMs) => (await lookUp(tenant, handle, waitMs))?.state ?? null,
    cancel: createCancel(options),
    watchParts: (tenant, handle, listener) => records.watchParts(toCallKey(tenant, handle), listener),
    ofSession: async (sessionKey) => {
      const keys = await records.ofSession(sessionKey);
      const found = await Promise.all(keys.map(async (key) => ({ key, record: await records.find(key) })));
      return found.flatMap(({ key, record }) => {
        const state = record === null ? null : toState(record, handleOf(key));
        return record === null || state?.kind !== 'pending' ? [] : [{ spec: record.spec, pending: state.pending }];
      });
    },
    waiters,
    sweep: createSweep(options),
    close: waiters.close,
  };
};

const UNAVAILABLE: Acceptance = { kind: 'unavailable' };

const tenantOf = (key: string): string => key.slice(0, key.lastIndexOf(':'));

// 128 bits. The same in each try of a batch: a call that was accepted once is not accepted again.
const HANDLE_CHARACTERS = 22;

/** The handle of a call: it follows from its batch and its place there. */
export const handleOfSpec = ({ recordKey, index }: CallSpec): string =>
  `c_${hash('sha256', `${recordKey}\n${index}`, 'base64url').slice(0, HANDLE_CHARACTERS)}`;

/** Has a call that has a record run: in this process where its tool ends with its request, else by any worker. */
const createDispatch = ({ records, queue, run, laneOf, onFailed }: PendingServiceOptions) => {
  const runHere = async (job: Job): Promise<void> => {
    const end = await run(job);
    // Not at once again: what kept it from running may be over then. A process that ends leaves it to a sweep.
    if (end.kind === 'later') setTimeout(() => void runHere(job), Math.max(1, end.afterMs)).unref();
  };
  return async (key: string, spec: CallSpec): Promise<void> => {
    const job: Job = { call: handleOf(key), tenant: spec.tenant, lane: laneOf(spec.tool) };
    await records.confirm(key);
    if (spec.background === 'never') void runHere(job);
    // A sweep queues it later where the queue is away: the record is there.
    else await queue.offer(job).catch(onFailed);
  };
};

/** A call that nobody runs is ended here and now; of one that runs, its worker is told. */
const createCancel =
  ({ records, queue, run, laneOf, onFailed }: PendingServiceOptions): PendingService['cancel'] =>
  async (tenant, handle, how) => {
    const key = toCallKey(tenant, handle);
    const record = await records.cancel(key, how);
    if (record === null) return 'unknown';
    if (record.state === 'ended') return 'ended';
    const job: Job = { call: handle, tenant, lane: laneOf(record.spec.tool) };
    if (record.state === 'running') return 'running';
    await run(job);
    await queue.cancel(job).catch(onFailed);
    const after = await records.find(key);
    return after === null || after.state === 'ended' ? 'cancelled' : 'running';
  };

const createSweep =
  ({ records, queue, laneOf, onFailed }: PendingServiceOptions) =>
  async (): Promise<void> => {
    const offerAgain = async (key: string): Promise<void> => {
      const record = await records.find(key);
      if (record === null || record.state === 'ended') return;
      const { spec } = record;
      // Whoever takes it decides by the record whether it runs, has expired, or is not known to have ended.
      await queue.offer({ call: handleOf(key), tenant: spec.tenant, lane: laneOf(spec.tool) });
    };
    try {
      for (let left = MOST_SWEPT; left > 0; left -= SWEEP_AT_ONCE) {
        const due = await records.due(SWEEP_AT_ONCE);
        await Promise.all(due.map(offerAgain));
        if (due.length < SWEEP_AT_ONCE) return;
      }
    } catch (error) {
      onFailed(error);
    }
  };

const toCallState = (
  { spec, state, progress, result }: CallRecord,
  handle: string,
  durability: CallRecords['durability'],
): CallState => {
  if (state === 'ended') return { kind: 'ended', result: result ?? 'null' };
  return {
    kind: 'pending',
    pending: {
      call: handle,
      state,
      since: new Date(spec.acceptedAt).toISOString(),
      expires_at: new Date(spec.expiresAt).toISOString(),
      poll_after_ms: POLL_AFTER_MS,
      ...(durability === 'process' ? { mode: 'memory' as const } : {}),
      progress,
      approval: null,
    },
  };
};
