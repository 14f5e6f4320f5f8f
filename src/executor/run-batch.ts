import { append, createLinkedList, remove, toItems } from '../memory/linked-list.ts';
import { findAccepted } from './accept-call.ts';
import { admitBatch } from './admit.ts';
import { answerEarly, prepareAnswers, renderAnswers, renderFailedBatch, takeResults, watchLate } from './answer.ts';
import type { BatchAnswer, ExecuteBatch } from './batch-request.ts';
import { Batch } from './call.ts';
import { dryRunCalls } from './dry-run.ts';
import { type ExecutorServices, type ExecutorSettings, LoopSlice, OpenWork } from './executor-services.ts';
import { readCalls } from './read-calls.ts';
import { keepResults, openRecord, releaseRecords } from './record.ts';
import { runCalls } from './schedule.ts';
import { settleBatch } from './settle.ts';

export type Executor = {
  readonly executeBatch: ExecuteBatch;
  /** Says of each call what it would do now. Nothing runs, is kept, counted against anything or told to anyone. */
  readonly dryRun: ExecuteBatch;
  /** From now on no further call starts: those not started are `shutting_down`. */
  readonly drain: () => void;
  /** Cuts off what still runs. */
  readonly endAll: () => void;
  /** Batches not answered yet and settlements still on their way. */
  readonly whenIdle: () => Promise<void>;
};

/** What a stage waits for; undefined where it does not have to. */
type Wait = Promise<unknown> | undefined;

const takeLoopSlice = ({ services, size }: Batch): Wait => {
  const bytes = RENDERING * size.storedBytes;
  const pause = services.loopSlice.runInSlice(bytes, () => services.loopSlice.spend(bytes));
  return pause instanceof Promise ? pause : undefined;
};

// What a value costs as a result, in an answer and in a message, against what it costs to be written as JSON.
const RENDERING = 4;

/** From here on the batch runs, and every call of it gets a result. */
const notifyAccepted = (batch: Batch): undefined => {
  const { listener } = batch.request;
  if (listener === null || batch.isReplay || batch.answer !== null) return;
  listener.accepted?.(batch.calls);
  if (listener.result !== undefined) batch.callEnded = answerEarly;
};

/** Sends the results that were not sent while the batch ran. */
const notifyResults = ({ request, calls, isReplay }: Batch, answer: BatchAnswer): void => {
  const { listener } = request;
  if (listener?.result === undefined || isReplay || answer.kind !== 'results') return;
  for (const [index, result] of answer.results.entries())
    if (calls[index]?.isAnswered !== true) listener.result(index, result);
};

/**
 * The life of a batch: its stages, in their order. Each fills the records of the batch and its calls; none wraps them, and
 * none knows another. One that sets `batch.answer` ends the batch.
 */
const STAGES: readonly ((batch: Batch) => Wait)[] = [
  readCalls,
  openRecord,
  notifyAccepted,
  findAccepted,
  admitBatch,
  runCalls,
  takeLoopSlice,
  prepareAnswers,
  settleBatch,
  renderAnswers,
  keepResults,
  watchLate,
];

/** Those of a batch of which nothing is to run. */
const DRY_RUN: typeof STAGES = [readCalls, dryRunCalls];

const createAnswer = (batch: Batch): BatchAnswer => {
  if (batch.answer !== null) return batch.answer;
  const { calls, isReplay, isFound } = batch;
  const results = takeResults(batch);
  const answer = { kind: 'results', results, origin: isReplay ? 'replayed' : 'run' } as const;
  if (!batch.hasAccepted && batch.async === null) return answer;
  return { ...answer, status: calls.some(({ state }) => state.kind === 'pending') ? 'pending' : 'done', isFound };
};

export const createExecutor = (settings: ExecutorSettings): Executor => {
  const open = new OpenWork();
  const waiting = createLinkedList<Batch>();
  let draining = false;
  const services: ExecutorServices = { ...settings, open, loopSlice: new LoopSlice(), isDraining: () => draining };

  const release = (batch: Batch): void => {
    // Once: where releasing itself fails, the batch is failed, which releases it again.
    if (batch.isClosed) return;
    batch.isClosed = true;
    if (batch.place !== null) remove(waiting, batch.place);
    open.end();
    releaseRecords(batch);
    batch.cancellation.close();
  };
  const failBatch = (batch: Batch, error: unknown): BatchAnswer => {
    release(batch);
    const answer: BatchAnswer = { kind: 'results', results: renderFailedBatch(batch, error), origin: 'run' };
    notifyResults(batch, answer);
    return answer;
  };
  /** Runs the stages from one of them on, until the batch ends or has to wait. */
  const runStages = (stages: typeof STAGES, batch: Batch, from: number): BatchAnswer | Promise<BatchAnswer> => {
    try {
      for (let at = from; at < stages.length && batch.answer === null; at += 1) {
        const wait = stages[at]?.(batch);
        if (wait === undefined) continue;
        batch.place ??= append(waiting, batch);
        return wait.then(
          () => runStages(stages, batch, at + 1),
          (error: unknown) => failBatch(batch, error),
        );
      }
      release(batch);
      const answer = createAnswer(batch);
      notifyResults(batch, answer);
      return answer;
    } catch (error) {
      return failBatch(batch, error);
    }
  };

  return {
    executeBatch: (request) => {
      const batch = new Batch(request, services);
      open.begin();
      request.resumed?.whenForced(() => batch.cancellation.cancel('shutdown'));
      return runStages(STAGES, batch, 0);
    },
    dryRun: (request) => {
      open.begin();
      return runStages(DRY_RUN, new Batch(request, services), 0);
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
