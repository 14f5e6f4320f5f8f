import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { admitBatch } from './admit-batch.ts';
import { createAnswerBatch } from './answer-batch.ts';
import type { Batch } from './batch.ts';
import { type BatchEnd, type BatchEndCause, createBatchEnd } from './batch-end.ts';
import { failed, type RanCall } from './call-end.ts';
import type { FailureLog } from './call-observer.ts';
import { type Duplicates, findDuplicates } from './duplicate-calls.ts';
import { type CallSettings, executeCall, type RunningBatch, toNotStarted } from './execute-call.ts';
import { toFailure } from './failure.ts';
import { INTERNAL_ERROR_TEXT, notExecutedText, OVERLOADED_TEXT } from './failure-text.ts';
import { createOpenWork } from './open-work.ts';
import { renderFailure } from './render-result.ts';
import { type ResolvedCall, resolveCall } from './resolve-call.ts';
import { scheduleCalls } from './schedule-calls.ts';
import type { Permit, SessionStore } from './session-store.ts';

/** One JSON text per call, in the order of the calls; never rejects. */
export type ExecuteBatch = (batch: Batch) => Promise<readonly string[]>;

export type ExecutorSettings = CallSettings & {
  readonly registry: ToolRegistry;
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly failureLog: FailureLog;
  readonly maxBatchCalls: number;
  readonly batchConcurrency: number;
};

export type Executor = {
  readonly executeBatch: ExecuteBatch;
  /** From now on no further call starts: those not started are `shutting_down`. */
  readonly drain: () => void;
  /** Cuts off what still runs. */
  readonly endAll: () => void;
  /** Batches not answered yet and settlements still on their way. */
  readonly whenIdle: () => Promise<void>;
};

const NO_PERMITS: ReadonlyMap<string, Permit> = new Map();

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const open = createOpenWork();
  const ends = new Set<ReturnType<typeof createBatchEnd>>();
  let draining = false;
  const isDraining = (): boolean => draining;
  const answerBatch = createAnswerBatch({ ...settings, open });

  const runBatch = async (batch: Batch, end: BatchEnd): Promise<readonly string[]> => {
    const startedAt = settings.now();
    const { registry, maxBatchCalls } = settings;
    const resolving = { registry, maxBatchCalls, mayUse: batch.mayUse };
    const calls = batch.calls.map((entry, index) => resolveCall(entry, index, resolving));
    const duplicates = findDuplicates(calls, batch.source);
    const admission = await admitBatch(batch, calls, settings);
    const running: RunningBatch = {
      requestId: batch.requestId,
      session: batch.sessionKey,
      caller: batch.caller,
      source: batch.source,
      end,
      permits: admission?.permits ?? NO_PERMITS,
      isDraining,
    };
    const ran = await runCalls(batch, calls, duplicates, running, settings);
    return answerBatch({ batch, startedAt, calls, duplicates, admission, ran });
  };

  const executeBatch: ExecuteBatch = async (batch) => {
    const end = createBatchEnd(batch.deadlineMs, batch.client, settings.now);
    ends.add(end);
    open.begin();
    try {
      return await runBatch(batch, end);
    } catch (error) {
      return batch.calls.map((_, index) => renderLost(index, error, batch, settings));
    } finally {
      end.close();
      ends.delete(end);
      open.end();
    }
  };

  return {
    executeBatch,
    drain: () => {
      draining = true;
    },
    endAll: () => {
      for (const end of ends) end.end('shutdown');
    },
    whenIdle: open.whenNone,
  };
};

/** The net under the whole batch: a bug of ours must not cost the caller its answers. */
const renderLost = (index: number, error: unknown, batch: Batch, settings: ExecutorSettings): string => {
  settings.observer.contractViolated(error);
  const failure = toFailure('internal_error', INTERNAL_ERROR_TEXT, null, { thrown: error });
  const parts = { call: { index, id: null, name: null, kind: 'refused', tool: null, failure }, durationMs: 0 } as const;
  const end = { kind: 'failure', failure, valueJson: 'null' } as const;
  return renderFailure(end, { ...parts, marks: [], warnings: [], retry: null, reference: batch.requestId, suffix: '' });
};

const runCalls = (
  batch: Batch,
  calls: readonly ResolvedCall[],
  duplicates: Duplicates,
  running: RunningBatch,
  settings: ExecutorSettings,
): Promise<ReadonlyMap<number, RanCall>> =>
  scheduleCalls(duplicates.copies.size === 0 ? calls : calls.filter(({ index }) => !duplicates.copies.has(index)), {
    order: batch.order,
    onError: batch.onError,
    concurrency: settings.batchConcurrency,
    execute: (call) => executeSafely(call, running, settings),
    skip: (call, failedName) => unstarted(call, 'not_executed', notExecutedText(failedName)),
    giveUp: (call) => giveUp(call, running.end.causeAt(settings.now()) ?? 'deadline'),
    isOver: () => running.end.causeAt(settings.now()) !== null,
    whenOver: () => new Promise((resolve) => void running.end.onEnd(() => resolve())),
  });

const toolOf = (call: ResolvedCall): Tool | null => (call.kind === 'unknown_tool' ? null : call.tool);

const unstarted = (call: ResolvedCall, code: 'not_executed' | 'overloaded', message: string): RanCall => ({
  end: failed(toFailure(code, message, toolOf(call))),
  durationMs: 0,
  late: null,
});

const giveUp = (call: ResolvedCall, cause: BatchEndCause): RanCall => {
  if (cause === 'deadline') return unstarted(call, 'overloaded', OVERLOADED_TEXT);
  return { end: failed(toNotStarted(cause)), durationMs: 0, late: null };
};

/** The last-resort net: whatever gets here is a bug of ours, counted and alerted on. */
const executeSafely = (
  call: ResolvedCall,
  running: RunningBatch,
  settings: ExecutorSettings,
): RanCall | Promise<RanCall> => {
  const caught = (error: unknown): RanCall => {
    settings.observer.contractViolated(error);
    const failure = toFailure('internal_error', INTERNAL_ERROR_TEXT, toolOf(call), { thrown: error });
    return { end: failed(failure), durationMs: 0, late: null };
  };
  try {
    const ran = executeCall(call, running, settings);
    return ran instanceof Promise ? ran.catch(caught) : ran;
  } catch (error) {
    return caught(error);
  }
};
