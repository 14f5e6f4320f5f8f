import type { RenderedResult } from '../contract/tool-result.ts';
import { append, createLinkedList, remove, toItems } from '../memory/linked-list.ts';
import { findAccepted } from './accept-call.ts';
import { admitBatch } from './admit.ts';
import { answerEarly, prepareAnswers, renderAnswers, renderLost } from './answer.ts';
import type { BatchAnswer, ExecuteBatch } from './batch-request.ts';
import { Batch, NO_RESULT } from './call.ts';
import { type ExecutorServices, type ExecutorSettings, OpenWork, TurnShare } from './executor-services.ts';
import { watchLate } from './late-result.ts';
import { readCalls } from './read-calls.ts';
import { keepResults, letGoRecords, openRecord } from './record.ts';
import { runCalls } from './schedule.ts';
import { settleBatch } from './settle.ts';

export type Executor = {
  readonly executeBatch: ExecuteBatch;
  /** From now on no further call starts: those not started are `shutting_down`. */
  readonly drain: () => void;
  /** Cuts off what still runs. */
  readonly endAll: () => void;
  /** Batches not answered yet and settlements still on their way. */
  readonly whenIdle: () => Promise<void>;
};

/** What a stage waits for; undefined where it does not have to. */
type Wait = Promise<unknown> | undefined;

const takeTurn = ({ services, size }: Batch): Wait => {
  const bytes = RENDERING * size.heldBytes;
  const turn = services.turns.inTurn(bytes, () => services.turns.spend(bytes));
  return turn instanceof Promise ? turn : undefined;
};

// What a value costs as a result, in an answer and in a message, against what it costs to be written as JSON.
const RENDERING = 4;

/** From here on the batch runs, and every call of it gets a result. */
const tellAccepted = (batch: Batch): undefined => {
  const { listener } = batch.request;
  if (listener === null || batch.isReplay || batch.answer !== null) return;
  listener.accepted?.(batch.calls);
  if (listener.result !== undefined) batch.callEnded = answerEarly;
};

/** Tells the results that were not told while the batch ran. */
const tellResults = ({ request, calls, isReplay }: Batch, answer: BatchAnswer): void => {
  const { listener } = request;
  if (listener?.result === undefined || isReplay || answer.kind !== 'results') return;
  for (const [index, result] of answer.results.entries())
    if (calls[index]?.isAnswered !== true) listener.result(index, result);
};

/**
 * The life of a batch: its stages, in their order. Each fills the records of the batch and its calls; none wraps them, and
 * none knows another. One that sets `batch.answer` ends the batch.
 */
const STORY: readonly ((batch: Batch) => Wait)[] = [
  readCalls,
  openRecord,
  tellAccepted,
  findAccepted,
  admitBatch,
  runCalls,
  takeTurn,
  prepareAnswers,
  settleBatch,
  renderAnswers,
  keepResults,
  watchLate,
];

const toAnswer = (batch: Batch): BatchAnswer =>
  batch.answer ??
  withStatus({ kind: 'results', results: takeResults(batch), origin: batch.isReplay ? 'replayed' : 'run' }, batch);

const withStatus = (answer: Extract<BatchAnswer, { kind: 'results' }>, batch: Batch): BatchAnswer =>
  batch.hasAccepted || batch.async !== null ? { ...answer, status: toStatus(batch), isFound: batch.isFound } : answer;

const toStatus = ({ calls }: Batch): 'pending' | 'done' => {
  return calls.some(({ acceptedState }) => acceptedState?.kind === 'pending') ? 'pending' : 'done';
};

/** The results, which a handler that goes on must not keep in memory. */
const takeResults = ({ calls }: Batch): readonly RenderedResult[] => {
  const results: RenderedResult[] = [];
  for (const call of calls) {
    results.push(call.result);
    call.result = NO_RESULT;
    call.event = null;
  }
  return results;
};

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const open = new OpenWork();
  const waiting = createLinkedList<Batch>();
  let draining = false;
  const services: ExecutorServices = { ...settings, open, turns: new TurnShare(), isDraining: () => draining };

  const close = (batch: Batch): void => {
    // Once: where closing itself fails, the batch is answered as lost, which closes it again.
    if (batch.isClosed) return;
    batch.isClosed = true;
    if (batch.place !== null) remove(waiting, batch.place);
    open.end();
    letGoRecords(batch);
    batch.cancellation.close();
  };
  const lose = (batch: Batch, error: unknown): BatchAnswer => {
    close(batch);
    const answer: BatchAnswer = { kind: 'results', results: renderLost(batch, error), origin: 'run' };
    tellResults(batch, answer);
    return answer;
  };
  /** Tells the story from one of its stages on, until it ends or has to wait. */
  const tell = (batch: Batch, from: number): BatchAnswer | Promise<BatchAnswer> => {
    try {
      for (let at = from; at < STORY.length && batch.answer === null; at += 1) {
        const wait = STORY[at]?.(batch);
        if (wait === undefined) continue;
        batch.place ??= append(waiting, batch);
        return wait.then(
          () => tell(batch, at + 1),
          (error: unknown) => lose(batch, error),
        );
      }
      close(batch);
      const answer = toAnswer(batch);
      tellResults(batch, answer);
      return answer;
    } catch (error) {
      return lose(batch, error);
    }
  };

  return {
    executeBatch: (request) => {
      const batch = new Batch(request, services);
      open.begin();
      request.resumed?.whenForced(() => batch.cancellation.cancel('shutdown'));
      return tell(batch, 0);
    },
    drain: () => {
      draining = true;
    },
    endAll: () => {
      for (const { cancellation } of toItems(waiting)) cancellation.cancel('shutdown');
    },
    whenIdle: () => open.whenNone(),
  };
};
