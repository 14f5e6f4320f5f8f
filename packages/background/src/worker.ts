import type { BatchMemory, ExecuteBatch } from 'recourse-server/executor/batch-request';
import type { CallOutcome } from 'recourse-server/executor/call-outcome';
import type { RecordLease, ResultToKeep } from 'recourse-server/executor/idempotency-store';
import type { CallSpec } from 'recourse-server/executor/pending-calls';
import type { SessionStore } from 'recourse-server/executor/session-store';
import { readStoredResult } from 'recourse-server/executor/stored-result';
import type { ByteBudget } from 'recourse-server/memory/byte-budget';
import { LeasedMemory } from 'recourse-server/memory/leased-memory';
import type { ToolProgress } from 'recourse-server/tools/tool';
import type { CallLease, CallProgress, CancelRequest, Claim, PendingRecord } from './calls/call-kind.ts';
import { handleOf, isReplaceable, toCallKey, weighArguments } from './calls/call-kind.ts';
import { RENEW_EVERY_MS } from './calls/call-leases.ts';
import type { CallRecords } from './calls/call-records.ts';
import { decideEarlyOutcome } from './early-outcome.ts';
import type { Job, JobEnd } from './jobs/job-queue.ts';

/** A call of a worker has ended, or was given back. */
export type WorkerEnd = 'committed' | 'lost' | 'given_back' | 'not_run' | 'keys_unknown';

export type WorkerOptions = {
  readonly records: CallRecords;
  readonly executeBatch: ExecuteBatch;
  readonly sessions: Pick<SessionStore, 'resume'>;
  /** Where the memory of calls that run here is taken from. */
  readonly budget: Pick<ByteBudget, 'hasRoom' | 'openBeyond'>;
  /** Whether a tool of this name serves here now. */
  readonly hasTool: (name: string) => boolean;
  /** Whether a call may start now, by the API key that it came with; `unknown`: this process knows no keys. */
  readonly mayStart: (spec: CallSpec) => 'yes' | 'no' | 'unknown';
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
  /** A call has ended by this worker. */
  readonly onEnded: (spec: CallSpec, result: string) => void;
  readonly onFailed: (error: unknown) => void;
  readonly count: (end: WorkerEnd) => void;
  /** A call was taken whose last worker let its lease lapse. */
  readonly onTakenOver: () => void;
};

const PROGRESS_EVERY_MS = 500;
// A result as a value and as its text.
const COPIES = 2;
// A call that could not begin, for want of a slot, of memory or because its store did not answer.
const AGAIN_AFTER_MS = 1000;
// A tool that this worker lacks may serve in another one, or here once its file is mended; another one may know the API keys.
const ELSEWHERE_AFTER_MS = 5000;
// A roll-out takes minutes.
const WAIT_FOR_TOOL_MS = 600_000;

const DONE: JobEnd = { kind: 'done' };
const later = (afterMs: number): JobEnd => ({ kind: 'later', afterMs });

/**
 * Runs pending calls by the executor, as a direct call runs. The record decides: a write that has begun is never run again,
 * a call that is safe to repeat begins three times at most, and of any number of workers one commits. Never rejects.
 */
export const createWorker = (options: WorkerOptions) => {
  const { records, onFailed, onTakenOver } = options;
  const running = new Set<HeldCall>();
  const claim = async (key: string): Promise<Claim | null> => {
    try {
      return await records.claim(key);
    } catch (error) {
      onFailed(error);
      return null;
    }
  };
  const runHeld = async (call: HeldCall): Promise<JobEnd> => {
    running.add(call);
    const end = await call.run();
    running.delete(call);
    return end;
  };
  return {
    /** Aborts the calls that may run again, so that another worker has them. Writes go on. */
    giveBack: (): void => {
      for (const call of running) call.giveBack();
    },
    /** Runs the call of a job to its end, or says when to offer it again. Never rejects. */
    run: async ({ tenant, call }: Job): Promise<JobEnd> => {
      const claimed = await claim(toCallKey(tenant, call));
      switch (claimed?.kind) {
        case undefined:
          return later(AGAIN_AFTER_MS);
        case 'busy':
          return later(claimed.retryAfterMs);
        case 'key_missing':
          return later(ELSEWHERE_AFTER_MS);
        case 'held':
          if (claimed.isTakenOver) onTakenOver();
          return runHeld(new HeldCall(claimed.lease, claimed.record, options));
        case 'waiting':
        case 'ended':
        case 'gone':
          return DONE;
      }
    },
  };
};

/** A pending call while this worker holds it. */
class HeldCall {
  readonly #lease: CallLease;
  readonly #record: PendingRecord;
  readonly #options: WorkerOptions;
  readonly #gone = new Set<() => void>();
  readonly #forced = new Set<() => void>();
  #cancel: CancelRequest;
  #isLost = false;
  #hasBegun = false;
  #isUnwanted = false;
  #isGivenBack = false;
  #progress: CallProgress | null = null;
  #reportedAt = 0;

  constructor(lease: CallLease, record: PendingRecord, options: WorkerOptions) {
    this.#lease = lease;
    this.#record = record;
    this.#options = options;
    this.#cancel = record.cancel;
  }

  async run(): Promise<JobEnd> {
    const outcome = this.#decideEarlyOutcome(this.#options.time());
    const argumentBytes = this.#weighArguments();
    const lack = outcome === null ? this.#findLack(argumentBytes) : null;
    if (lack !== null) return this.#giveBackFor(lack);
    // Also while its beginning is noted: a slow store may take seconds over that.
    const timer = setInterval(() => void this.#renew(), RENEW_EVERY_MS).unref();
    const end = await this.#runRenewed(outcome, argumentBytes);
    clearInterval(timer);
    return end;
  }

  async #runRenewed(outcome: CallOutcome | null, argumentBytes: number): Promise<JobEnd> {
    const { records, count, budget } = this.#options;
    const { spec } = this.#record;
    if (outcome === null && spec.effects !== 'write' && (await this.#begin()) !== 'held') return later(AGAIN_AFTER_MS);
    const unwatch = records.signals.watch((key) => {
      if (key === this.#lease.key) void this.#readCancel();
    });
    const hold = budget.openBeyond(spec.caller, argumentBytes);
    await this.#execute(outcome, new LeasedMemory(hold, COPIES, { source: '', bytes: argumentBytes }));
    hold.release();
    unwatch();
    if (this.#isGivenBack) {
      count('given_back');
      return later(AGAIN_AFTER_MS);
    }
    count(this.#isLost ? 'lost' : outcome === null ? 'committed' : 'not_run');
    return this.#isLost ? later(AGAIN_AFTER_MS) : DONE;
  }

  /** What it needs to run here and does not find; null: nothing. */
  #findLack(argumentBytes: number): 'tool' | 'memory' | 'keys' | null {
    const { budget, mayStart, time } = this.#options;
    if (mayStart(this.#record.spec) === 'unknown') return 'keys';
    if (!this.#hasTool() && time() < this.#endsAt()) return 'tool';
    return argumentBytes === 0 || budget.hasRoom(this.#record.spec.caller, argumentBytes) ? null : 'memory';
  }

  async #giveBackFor(lack: 'tool' | 'memory' | 'keys'): Promise<JobEnd> {
    const { records, count, time, onFailed } = this.#options;
    await records.release(this.#lease, lack === 'tool' ? time() : undefined).catch(onFailed);
    count(lack === 'keys' ? 'keys_unknown' : 'given_back');
    return later(lack === 'memory' ? AGAIN_AFTER_MS : ELSEWHERE_AFTER_MS);
  }

  /** What its arguments take here, unless that is held already. */
  #weighArguments(): number {
    const { spec } = this.#record;
    return this.#options.records.holdsArguments ? 0 : spec.arguments.length + weighArguments(spec);
  }

  /** Whether its tool serves here. */
  #hasTool(): boolean {
    return this.#options.hasTool(this.#record.spec.tool);
  }

  /** Until when it may be offered again. */
  #endsAt(): number {
    const { lackedSince, spec } = this.#record;
    if (lackedSince === null || this.#hasTool()) return spec.expiresAt;
    return Math.min(spec.expiresAt, lackedSince + WAIT_FOR_TOOL_MS);
  }

  /** How it ends without running, because of what its record says; null: it runs, or is refused for want of its tool. */
  #decideEarlyOutcome(now: number): CallOutcome | null {
    const outcome = decideEarlyOutcome(this.#record, now, this.#options.mayStart(this.#record.spec));
    if (outcome?.kind !== 'failure' || this.#hasTool()) return outcome;
    const { code, executed } = outcome.failure;
    return code === 'timeout' && executed === 'no' ? null : outcome;
  }

  giveBack(): void {
    if (this.#record.spec.effects === 'write') return;
    this.#isUnwanted = true;
    for (const listener of this.#gone) listener();
  }

  async #execute(outcome: CallOutcome | null, memory: BatchMemory): Promise<void> {
    const { records, executeBatch, sessions, time } = this.#options;
    const { spec } = this.#record;
    const { sessionKey, ticket } = spec;
    const tool = { name: spec.tool, retries: spec.retries, maxCalls: null, effects: spec.effects, polling: true };
    const batchId = handleOf(this.#lease.key);
    await executeBatch({
      requestId: spec.requestId,
      batchId,
      tenant: spec.tenant,
      key: spec.key,
      caller: spec.caller,
      callerId: spec.callerId,
      mayUse: () => true,
      sessionKey,
      roundId: null,
      calls: [null],
      reading: null,
      body: { source: spec.arguments },
      form: 'message',
      order: 'parallel',
      onError: 'continue',
      deadlineMs: Math.max(1, spec.expiresAt - time()),
      idempotency: null,
      client: {
        isGone: () => this.#isUnwanted || this.#isToEnd(),
        whenGone: (listener) => subscribe(this.#gone, listener),
      },
      memory,
      listener: {
        progress: (_index, update) => this.#report(update),
        part: (_index, valueJson) => records.publishPart(this.#lease, valueJson),
      },
      traceId: spec.traceId,
      trace: null,
      resumed: {
        spec: { ...spec, idempotencyKey: spec.idempotencyKey ?? batchId },
        outcome,
        record: this.#toRecordLease(),
        whenForced: (listener) => subscribe(this.#forced, listener),
        admission:
          sessionKey === null || ticket === null ? null : sessions.resume({ sessionKey, batchId, tool, ticket }),
      },
    });
  }

  #toRecordLease(): RecordLease {
    return {
      state: 'held',
      start: () => this.#begin(),
      finish: ([result]) => this.#finish(result),
      amend: async (_index, result) => void (await this.#commit(result, true)),
      release: () => undefined,
    };
  }

  async #begin(): Promise<'held' | 'lost' | 'away'> {
    const { records, onFailed, mayStart } = this.#options;
    // It may have waited for a slot since its rights were read. As one that could not be noted it is taken again, and refused.
    if (mayStart(this.#record.spec) !== 'yes') return 'away';
    try {
      const state = await records.begin(this.#lease);
      if (state === 'held') this.#hasBegun = true;
      return state;
    } catch (error) {
      onFailed(error);
      return 'away';
    }
  }

  async #finish(result: ResultToKeep | undefined): ReturnType<RecordLease['finish']> {
    const { records, onEnded, time } = this.#options;
    if (result === undefined) return 'lost';
    const isOver = this.#isToEnd() || time() >= this.#endsAt();
    if (result.kind === 'repeatable' && !isOver && !this.#isLost) {
      this.#isGivenBack = true;
      // A mark that stays would make a write that never ran one whose end is unknown.
      await this.#insist(() => records.release(this.#lease), RELEASE_TRIES);
      return 'given_back';
    }
    const state = await this.#commit(result.result, false);
    if (state === 'held') onEnded(this.#record.spec, result.result);
    else {
      this.#isLost = true;
      await this.#reportLate(result.result);
    }
    return state;
  }

  // This worker was thought dead while its handler ran, and another has said that it is unknown how the call ended.
  async #reportLate(result: string): Promise<void> {
    if (this.#hasBegun && !isUnknown(result)) await this.#commit(result, true);
  }

  // A result that is not written is a call that runs again, or is unknown.
  #commit(result: string, late: boolean): Promise<'held' | 'lost' | 'away'> {
    const how = { late, unknown: isReplaceable(result) };
    return this.#insist(() => this.#options.records.commit(this.#lease, result, how), COMMIT_TRIES);
  }

  /** Tries again what the fence lets this worker do once or not at all. */
  async #insist<Answer>(ask: () => Promise<Answer>, most: number): Promise<Answer | 'away'> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await ask();
      } catch (error) {
        this.#options.onFailed(error);
        if (tries >= most) return 'away';
        await new Promise((resolve) => setTimeout(resolve, AGAIN_PAUSE_MS).unref());
      }
    }
  }

  #isToEnd(): boolean {
    return this.#cancel !== 'no';
  }

  async #renew(): Promise<void> {
    const { records, onFailed } = this.#options;
    const progress = this.#progress;
    this.#progress = null;
    try {
      const { state, cancel } = await records.renew(this.#lease, progress);
      if (state === 'lost') this.#isLost = true;
      this.#setCancel(cancel);
    } catch (error) {
      onFailed(error);
    }
  }

  async #readCancel(): Promise<void> {
    const { records, onFailed } = this.#options;
    try {
      const record = await records.find(this.#lease.key);
      if (record !== null) this.#setCancel(record.cancel);
    } catch (error) {
      onFailed(error);
    }
  }

  #setCancel(cancel: CancelRequest): void {
    if (cancel === this.#cancel || cancel === 'no') return;
    this.#cancel = cancel;
    // A write that runs goes on; one that has not begun asks before it does.
    if (this.#record.spec.effects !== 'write') for (const listener of this.#gone) listener();
    if (cancel === 'forced') for (const listener of this.#forced) listener();
  }

  #report({ progress, total, message }: ToolProgress): void {
    this.#progress = { done: progress, total: total ?? null, message: message ?? null };
    const now = performance.now();
    if (now - this.#reportedAt < PROGRESS_EVERY_MS) return;
    this.#reportedAt = now;
    void this.#renew();
  }
}

// Soon after Redis is back, also where the process has only its grace left: five minutes, and half a minute.
const AGAIN_PAUSE_MS = 500;
const COMMIT_TRIES = 600;
const RELEASE_TRIES = 60;

const subscribe = (listeners: Set<() => void>, listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

/** Whether a result says that it is unknown how its call ended. */
const isUnknown = (result: string): boolean => readStoredResult(result)?.outcome === 'unknown';
