import { createAnswerBatch } from './answer-batch.ts';
import type { Batch } from './batch.ts';
import { createBatchEnd } from './batch-end.ts';
import { toFailure } from './failure.ts';
import { INTERNAL_ERROR_TEXT } from './failure-text.ts';
import { createOpenWork } from './open-work.ts';
import { renderFailure } from './render-result.ts';
import { type BatchAnswer, type BatchTerms, type ExecutorSettings, runBatch } from './run-batch.ts';
import { createTurnShare } from './turn-share.ts';

/** Answers at once where nothing has to be waited for. Never throws or rejects. */
export type ExecuteBatch = (batch: Batch) => BatchAnswer | Promise<BatchAnswer>;

export type Executor = {
  readonly executeBatch: ExecuteBatch;
  /** From now on no further call starts: those not started are `shutting_down`. */
  readonly drain: () => void;
  /** Cuts off what still runs. */
  readonly endAll: () => void;
  /** Batches not answered yet and settlements still on their way. */
  readonly whenIdle: () => Promise<void>;
};

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const open = createOpenWork();
  const ends = new Set<ReturnType<typeof createBatchEnd>>();
  let draining = false;
  const isDraining = (): boolean => draining;
  const turns = createTurnShare();
  const terms: BatchTerms = {
    ...settings,
    open,
    turns,
    isDraining,
    answerBatch: createAnswerBatch({ ...settings, open }),
  };

  const executeBatch: ExecuteBatch = async (batch) => {
    const end = createBatchEnd(batch.deadlineMs, batch.client, settings.now);
    ends.add(end);
    open.begin();
    try {
      return await runBatch(batch, end, terms);
    } catch (error) {
      const results = batch.calls.map((_, index) => renderLost(index, error, batch, settings));
      return { kind: 'results', results, origin: 'run' };
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
  settings.observer.contractViolated(error, batch.requestId);
  const failure = toFailure('internal_error', INTERNAL_ERROR_TEXT, null, { thrown: error });
  const parts = { call: { index, id: null, name: null, kind: 'refused', tool: null, failure }, durationMs: 0 } as const;
  const end = { kind: 'failure', failure, valueJson: 'null' } as const;
  return renderFailure(end, { ...parts, marks: [], warnings: [], retry: null, reference: batch.requestId, suffix: '' });
};
