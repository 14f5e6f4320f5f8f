import { hash } from 'node:crypto';
import type { PendingCall } from '../contract/tool-result.ts';
import type {
  Acceptance,
  AcceptedCall,
  CallPlace,
  CallSpec,
  CallState,
  PendingCalls,
} from '../executor/pending-calls.ts';
import { renderLost } from '../executor/pending-result.ts';
import { type CallRecord, handleOf, toCallKey } from '../sessions/calls/call-kind.ts';
import type { CallRecords } from '../sessions/calls/call-records.ts';
import type { PartsWatch } from '../sessions/calls/call-signals.ts';
import { CallWaiters } from './call-waiters.ts';
import type { Job, JobEnd, JobQueue } from './job-queue.ts';

/** What a request to cancel a call has come to. */
export type Cancelled = 'cancelled' | 'running' | 'ended' | 'unknown';

/** A pending call, and what it runs by. */
export type KnownCall = { readonly spec: CallSpec; readonly state: CallState };

export type PendingService = PendingCalls & {
  /**
   * Where a call of the tenant stands, after at most `waitMs` or at its end; null: unknown, or nobody waits any more since
   * `over` has resolved. Rejects with the store.
   */
  readonly stateOf: (tenant: string, handle: string, waitMs: number, over?: Promise<void>) => Promise<CallState | null>;
  /** The same with what the call runs by. */
  readonly lookUp: (tenant: string, handle: string, waitMs: number, over?: Promise<void>) => Promise<KnownCall | null>;
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

const waitAtMost = async (wait: Promise<void> | undefined, ms: number): Promise<void> => {
  if (wait === undefined) return;
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
  const { records, onFailed, onAccepted, time } = options;
  const waiters = new CallWaiters(records, time);
  const untilEnded = createUntilEnded(options, waiters);
  const toAccepted = createToAccepted(options, untilEnded);
  const attach = async (tenant: string, handle: string): Promise<AcceptedCall | null> => {
    const key = toCallKey(tenant, handle);
    const record = await records.find(key);
    return record === null ? null : toAccepted(key, record);
  };
  const lookUp: PendingService['lookUp'] = async (tenant, handle, waitMs, over) => {
    const record = await untilEnded(toCallKey(tenant, handle), waitMs, over);
    return record === null ? null : { spec: record.spec, state: toCallState(record, handle, records.durability) };
  };
  const orNull = (error: unknown): null => {
    onFailed(error);
    return null;
  };
  const closing = new AbortController();
  const confirm = createConfirm(options, closing.signal);
  const dispatch = createDispatch(options, closing.signal);
  const accept: PendingService['accept'] = async (spec, announce, withinMs) => {
    const key = toCallKey(spec.tenant, handleOfSpec(spec));
    const until = time() + withinMs;
    const created = await orLate(records.create(key, spec), withinMs);
    if (created.kind === 'same') return toJoined(await attach(tenantOf(created.key), handleOf(created.key)));
    if (created.kind === 'full') return created;
    if ((await confirm(key, until - time())) === 'gone') return UNAVAILABLE;
    return queue(key, spec, created.kind === 'created', announce);
  };
  const queue = async (key: string, spec: CallSpec, isNew: boolean, announce: Announce): Promise<Acceptance> => {
    if (isNew) onAccepted(spec);
    await waitAtMost(announce(handleOf(key)), MOST_ANNOUNCING_MS);
    await dispatch(key, spec);
    // What was just written need not be read. What an earlier try has written may have ended.
    const record = isNew ? null : await records.find(key).catch(orNull);
    return { kind: 'accepted', call: toAccepted(key, record ?? toFresh(spec)), how: 'new' };
  };
  const reattach: PendingService['reattach'] = async (tenant, place) => {
    const key = toCallKey(tenant, handleOfSpec(place));
    // One that nobody has confirmed is accepted again.
    const record = await records.describe(key);
    if (record === null) return null;
    if (record.state !== 'ended') await dispatch(key, record.spec);
    return toAccepted(key, record);
  };
  return {
    accept: (spec, announce, withinMs) =>
      accept(spec, announce, withinMs).catch((error: unknown) => {
        onFailed(error);
        return UNAVAILABLE;
      }),
    find: async (sessionKey, fingerprint) => {
      try {
        const key = await records.findSame(sessionKey, fingerprint);
        return key === null ? null : await attach(tenantOf(key), handleOf(key));
      } catch (error) {
        return orNull(error);
      }
    },
    attach: (tenant, handle) => attach(tenant, handle).catch(orNull),
    reattach: (tenant, place) => reattach(tenant, place).catch(orNull),
    lookUp,
    stateOf: async (tenant, handle, waitMs, over) => (await lookUp(tenant, handle, waitMs, over))?.state ?? null,
    cancel: createCancel(options),
    watchParts: (tenant, handle, listener) => records.watchParts(toCallKey(tenant, handle), listener),
    ofSession: createOfSession(options),
    waiters,
    sweep: createSweep(options),
    close: () => {
      closing.abort();
      waiters.close();
    },
  };
};

const createToAccepted =
  ({ records, onFailed }: PendingServiceOptions, untilEnded: CallWaiters['untilEnded']) =>
  (key: string, record: CallRecord): AcceptedCall => {
    const handle = handleOf(key);
    const toState = (known: CallRecord): CallState => toCallState(known, handle, records.durability);
    const ended = async (waitMs: number, over?: Promise<void>): Promise<CallState | null> => {
      const waited = untilEnded(key, waitMs, over).catch(onFailed);
      // That nobody waits any more says nothing of its record.
      const found = await Promise.race([over?.then(() => undefined) ?? waited, waited]);
      if (found === undefined) return null;
      return found === null ? { kind: 'ended', result: renderLost(record.spec) } : toState(found);
    };
    return { handle, state: toState(record), ended };
  };

/** The record of a call that has just been made. */
const toFresh = (spec: CallSpec): CallRecord => ({
  spec,
  state: 'queued',
  begins: 0,
  cancel: 'no',
  progress: null,
  lackedSince: null,
  result: null,
});

/** The calls of a session that have not ended. */
const createOfSession =
  ({ records }: PendingServiceOptions): PendingService['ofSession'] =>
  async (sessionKey) => {
    const keys = await records.ofSession(sessionKey);
    const found = await Promise.all(keys.map(async (key) => ({ key, record: await records.find(key) })));
    return found.flatMap(({ key, record }) => {
      const state = record === null ? null : toCallState(record, handleOf(key), records.durability);
      return record === null || state?.kind !== 'pending' ? [] : [{ spec: record.spec, pending: state.pending }];
    });
  };

/** Waits for the end of a call. One whose time is over, and that no worker holds, ends here. */
const createUntilEnded = (options: PendingServiceOptions, waiters: CallWaiters): CallWaiters['untilEnded'] => {
  const endOverdue = createEndOverdue(options);
  const { time } = options;
  return async (key, waitMs, over) => {
    const from = time();
    const record = await waiters.untilEnded(key, waitMs, over);
    if (!(await endOverdue(key, record))) return record;
    return waiters.untilEnded(key, Math.max(0, waitMs - (time() - from)), over);
  };
};

const toJoined = (call: AcceptedCall | null): Acceptance =>
  call === null ? UNAVAILABLE : { kind: 'accepted', call, how: 'joined' };

type Announce = Parameters<PendingService['accept']>[1];

const UNAVAILABLE: Acceptance = { kind: 'unavailable' };

const tenantOf = (key: string): string => key.slice(0, key.lastIndexOf(':'));

// 128 bits. The same in each try of a batch: a call that was accepted once is not accepted again.
const HANDLE_CHARACTERS = 22;

/** The handle of a call: it follows from its batch and its place there. */
export const handleOfSpec = ({ recordKey, index }: CallPlace): string =>
  `c_${hash('sha256', `${recordKey}\n${index}`, 'base64url').slice(0, HANDLE_CHARACTERS)}`;

// As long as an outage may last that nobody notices: a sweep queues a confirmed record after 15 s, also elsewhere.
const WITHDRAW_TRIES = 60;
const WITHDRAW_PAUSE_MS = 500;

/** The answer, or a rejection after so many milliseconds: what was asked may have been done. */
const orLate = async <Answer>(answer: Promise<Answer>, ms: number): Promise<Answer> => {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('The deadline of the batch has passed.')), ms).unref();
  return Promise.race([answer, promise]).finally(() => clearTimeout(timer));
};

/**
 * Confirms a record. Where that fails it may have been applied: its caller is told that the call does not run, and so it
 * must not. The record is taken back, however long that takes.
 */
const createConfirm = ({ records, onFailed }: PendingServiceOptions, closed: AbortSignal) => {
  const withdraw = async (key: string): Promise<void> => {
    for (let tries = 0; tries < WITHDRAW_TRIES && !closed.aborted; tries += 1) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, WITHDRAW_PAUSE_MS).unref());
      const isDone = await records.withdraw(key).then(isTrue, onFailed);
      if (isDone === true) return;
    }
  };
  return async (key: string, withinMs: number): Promise<'confirmed' | 'gone'> => {
    try {
      return await orLate(records.confirm(key), withinMs);
    } catch (error) {
      void withdraw(key);
      throw error;
    }
  };
};

const isTrue = (): true => true;

/** Has a call that has a record run: in this process where its tool ends with its request, else by any worker. */
const createDispatch = ({ queue, run, laneOf, onFailed }: PendingServiceOptions, closed: AbortSignal) => {
  const runHere = async (job: Job): Promise<void> => {
    if (closed.aborted) return;
    const end = await run(job);
    // Not at once again: what kept it from running may be over then. A process that ends leaves it to a sweep.
    if (end.kind === 'later') setTimeout(() => void runHere(job), Math.max(1, end.afterMs)).unref();
  };
  return async (key: string, spec: CallSpec): Promise<void> => {
    const job: Job = { call: handleOf(key), tenant: spec.tenant, lane: laneOf(spec.tool) };
    if (spec.background === 'never') void runHere(job);
    // A sweep queues it later where the queue is away: the record is there.
    else await queue.offer(job).catch(onFailed);
  };
};

/** Ends a call here and now that does not run any more, because of what its record says; one that a worker holds goes on. */
export const endHere = async (
  key: string,
  { tenant, tool }: Pick<CallSpec, 'tenant' | 'tool'>,
  { queue, run, laneOf, onFailed }: Pick<PendingServiceOptions, 'queue' | 'run' | 'laneOf' | 'onFailed'>,
): Promise<void> => {
  const job: Job = { call: handleOf(key), tenant, lane: laneOf(tool) };
  await run(job);
  await queue.cancel(job).catch(onFailed);
};

/** A call that nobody runs is ended here and now; of one that runs, its worker is told. */
const createCancel =
  (options: PendingServiceOptions): PendingService['cancel'] =>
  async (tenant, handle, how) => {
    const { records } = options;
    const key = toCallKey(tenant, handle);
    const record = await records.cancel(key, how);
    if (record === null) return 'unknown';
    if (record.state === 'ended') return 'ended';
    if (record.state === 'running') return 'running';
    await endHere(key, record.spec, options);
    const after = await records.find(key);
    return after === null || after.state === 'ended' ? 'cancelled' : 'running';
  };

/** Ends a call whose time is over, also where no worker takes it; false: it had not been over. */
const createEndOverdue =
  (options: PendingServiceOptions) =>
  async (key: string, record: CallRecord | null): Promise<boolean> => {
    if (record === null || record.state === 'ended' || options.time() < record.spec.expiresAt) return false;
    await endHere(key, record.spec, options);
    return true;
  };

const createSweep = (options: PendingServiceOptions) => {
  const { records, queue, laneOf, onFailed } = options;
  const endOverdue = createEndOverdue(options);
  const offerAgain = async (key: string): Promise<void> => {
    const record = await records.find(key);
    if (record === null || record.state === 'ended' || (await endOverdue(key, record))) return;
    const { spec } = record;
    // Whoever takes it decides by the record whether it runs, or is not known to have ended.
    await queue.offer({ call: handleOf(key), tenant: spec.tenant, lane: laneOf(spec.tool) });
  };
  return async (): Promise<void> => {
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
};

const MODES = { process: { mode: 'memory' }, file: { mode: 'sqlite' }, durable: {} } as const;

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
      ...MODES[durability],
      progress,
      approval: null,
    },
  };
};
