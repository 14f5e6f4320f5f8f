import { admitBatch } from './admit.ts';
import { prepareAnswers, renderAnswers, renderLost } from './answer.ts';
import type { BatchAnswer, BatchRequest } from './batch-request.ts';
import { Batch } from './call.ts';
import { type CancelControl, createCancellation } from './deadline.ts';
import type { ExecutorServices, ExecutorSettings } from './executor-services.ts';
import { watchLate } from './late-results.ts';
import { createOpenWork } from './open-work.ts';
import { readCalls } from './read-calls.ts';
import { keepResults, openRecord } from './record.ts';
import { runCalls } from './schedule.ts';
import { settleBatch } from './settle.ts';
import { createTurnShare } from './turn-share.ts';

/** One result per call, in the order of the calls; at once where nothing waits. Never throws or rejects. */
export type ExecuteBatch = (request: BatchRequest) => BatchAnswer | Promise<BatchAnswer>;

export type Executor = {
  readonly executeBatch: ExecuteBatch;
  /** From now on no further call starts: those not started are `shutting_down`. */
  readonly drain: () => void;
  /** Cuts off what still runs. */
  readonly endAll: () => void;
  /** Batches not answered yet and settlements still on their way. */
  readonly whenIdle: () => Promise<void>;
};

/** What a stage waits for; undefined where it did not have to. */
type Wait = Promise<unknown> | undefined;

/**
 * The life of a batch. Each stage fills the records of the batch and its calls; none wraps them, and none knows another.
 * Every `yield` is a place where the batch may wait.
 */
function* runBatch(batch: Batch): Generator<Wait, BatchAnswer, void> {
  readCalls(batch);
  yield openRecord(batch);
  if (batch.answer !== null) return batch.answer;
  if (!batch.isReplay) {
    yield admitBatch(batch);
    yield runCalls(batch);
    yield takeTurn(batch);
  }
  prepareAnswers(batch);
  yield settleBatch(batch);
  renderAnswers(batch);
  yield keepResults(batch);
  watchLate(batch);
  const results = takeResults(batch);
  return { kind: 'results', results, origin: batch.isReplay ? 'replayed' : 'run' };
}

/** The texts of the results, which a handler that goes on must not keep in memory. */
const takeResults = ({ calls }: Batch): readonly string[] =>
  calls.map((call) => {
    const { result } = call;
    call.result = '';
    call.event = null;
    return result;
  });

// What a value costs as a result, in an answer and in a message, against what it costs to be written as JSON.
const RENDERING = 4;

const takeTurn = ({ services, size }: Batch): Wait => {
  const bytes = RENDERING * size.heldBytes();
  const turn = services.turns.inTurn(bytes, () => services.turns.spend(bytes));
  return turn instanceof Promise ? turn : undefined;
};

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const open = createOpenWork();
  const cancellations = new Set<CancelControl>();
  let draining = false;
  const services: ExecutorServices = { ...settings, open, turns: createTurnShare(), isDraining: () => draining };

  const close = (batch: Batch): void => {
    // Once: where closing itself fails, the batch is answered as lost, which closes it again.
    if (!cancellations.delete(batch.cancellation)) return;
    open.end();
    batch.record?.letGo();
    batch.cancellation.close();
  };
  const lose = (batch: Batch, error: unknown): BatchAnswer => {
    close(batch);
    return { kind: 'results', results: renderLost(batch, error), origin: 'run' };
  };
  /** Goes on with the story until it ends or has to wait. */
  const tell = (batch: Batch, story: Story): BatchAnswer | Promise<BatchAnswer> => {
    try {
      for (;;) {
        const step = story.next();
        if (step.done === true) {
          close(batch);
          return step.value;
        }
        if (step.value === undefined) continue;
        return step.value.then(
          () => tell(batch, story),
          (error: unknown) => lose(batch, error),
        );
      }
    } catch (error) {
      return lose(batch, error);
    }
  };

  return {
    executeBatch: (request) => {
      const batch = new Batch(request, services, createCancellation(request.deadlineMs, request.client, settings.now));
      cancellations.add(batch.cancellation);
      open.begin();
      return tell(batch, runBatch(batch));
    },
    drain: () => {
      draining = true;
    },
    endAll: () => {
      for (const cancellation of cancellations) cancellation.cancel('shutdown');
    },
    whenIdle: open.whenNone,
  };
};

type Story = ReturnType<typeof runBatch>;
