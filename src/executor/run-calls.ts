import type { Batch } from './batch.ts';
import type { BatchEndCause } from './batch-end.ts';
import { failed, type RanCall, unstarted } from './call-end.ts';
import type { Duplicates } from './duplicate-calls.ts';
import { executeCall } from './execute-call.ts';
import { toFailure } from './failure.ts';
import { INTERNAL_ERROR_TEXT, notExecutedText, OVERLOADED_TEXT } from './failure-text.ts';
import { toNotStarted } from './find-obstacle.ts';
import { type ResolvedCall, toolOf } from './resolve-call.ts';
import type { CallSettings, RunningBatch } from './running-batch.ts';
import { scheduleCalls } from './schedule-calls.ts';

/** Runs the calls of a batch in its order, each behind the last-resort net; gives each one's end under its index. */
export const runCalls = (
  batch: Batch,
  calls: readonly ResolvedCall[],
  duplicates: Duplicates,
  running: RunningBatch,
  settings: CallSettings & { readonly batchConcurrency: number },
): Promise<ReadonlyMap<number, RanCall>> =>
  scheduleCalls(duplicates.copies.size === 0 ? calls : calls.filter(({ index }) => !duplicates.copies.has(index)), {
    order: batch.order,
    onError: batch.onError,
    concurrency: settings.batchConcurrency,
    execute: (call) => executeSafely(call, running, settings),
    skip: (call, failedName) => refuse(call, 'not_executed', notExecutedText(failedName)),
    giveUp: (call) => giveUp(call, running.end.causeAt(settings.now()) ?? 'deadline'),
    isOver: () => running.end.causeAt(settings.now()) !== null,
    whenOver: () => new Promise((resolve) => void running.end.onEnd(() => resolve())),
  });

const refuse = (call: ResolvedCall, code: 'not_executed' | 'overloaded', message: string): RanCall =>
  unstarted(toFailure(code, message, toolOf(call)));

const giveUp = (call: ResolvedCall, cause: BatchEndCause): RanCall => {
  if (cause === 'deadline') return refuse(call, 'overloaded', OVERLOADED_TEXT);
  return unstarted(toNotStarted(cause));
};

/** The last-resort net: whatever gets here is a bug of ours, counted and alerted on. */
const executeSafely = (
  call: ResolvedCall,
  running: RunningBatch,
  settings: CallSettings,
): RanCall | Promise<RanCall> => {
  const caught = (error: unknown): RanCall => {
    settings.observer.contractViolated(error, running.requestId);
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
