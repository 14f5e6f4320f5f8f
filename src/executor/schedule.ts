import { type Batch, type Call, isReady } from './call.ts';
import { type Failure, toFailure } from './call-outcome.ts';
import { decideCalls, settleGrant } from './decide-calls.ts';
import {
  explainNotStarted,
  INTERNAL_ERROR_TEXT,
  notExecutedPendingText,
  notExecutedText,
  OVERLOADED_TEXT,
} from './failure-text.ts';
import { runCall } from './run-call.ts';

/**
 * 5 runs the calls of a batch: in parallel up to the limit, where a call of a `sequential` tool waits for those before
 * it and holds up those after it; or one by one. A slot is free again when the handler really ends, not when it was
 * answered. Gives a promise only where a call does.
 */
export const runCalls = (batch: Batch): Promise<void> | undefined => {
  const calls = batch.hasDuplicates ? batch.calls.filter(({ original }) => original === null) : batch.calls;
  if (batch.request.order === 'sequential') return runInOrder(calls, batch);
  return calls.some(isBarrier) ? runGroups(toGroups(calls), batch) : runGroup(calls, batch);
};

const runInOrder = async (calls: readonly Call[], batch: Batch): Promise<void> => {
  let stop: string | null = null;
  for (const call of calls) {
    batch.moment = batch.services.now();
    if (stop === null) {
      await decideCalls([call]);
      await runSafely(call);
    } else skip(call, stop);
    stop ??= explainStop(call);
  }
};

/** Why the calls behind this one do not run; null where they do. */
const explainStop = ({ name, outcome, state, batch }: Call): string | null => {
  // What waits for its turn would wait for a call that may go on for hours.
  if (state.kind === 'pending') return notExecutedPendingText(name ?? '');
  return batch.request.onError === 'stop' && outcome?.kind === 'failure'
    ? notExecutedText(name ?? 'an unnamed call')
    : null;
};

const skip = (call: Call, text: string): void => failOpen(call, () => toFailure('not_executed', text, call.tool));

/** Ends a call that does not run, unless an earlier try has answered it or a worker runs it. */
const failOpen = (call: Call, explain: () => Failure): void => {
  if (call.outcome === null && call.state.kind !== 'pending') call.fail(explain());
};

const isBarrier = (call: Call): boolean => isReady(call) && call.tool.sequential;

const toGroups = (calls: readonly Call[]): readonly (readonly Call[])[] => {
  const groups: Call[][] = [[]];
  for (const call of calls) {
    if (isBarrier(call)) groups.push([call], []);
    else groups.at(-1)?.push(call);
  }
  return groups.filter((group) => group.length > 0);
};

const runGroups = async (groups: readonly (readonly Call[])[], batch: Batch): Promise<void> => {
  let stop: string | null = null;
  for (const group of groups) {
    if (stop === null) await runGroup(group, batch);
    else for (const call of group) skip(call, stop);
    const pending = group.find(({ state }) => state.kind === 'pending');
    if (pending !== undefined) stop ??= explainStop(pending);
  }
};

const runGroup = (calls: readonly Call[], batch: Batch): Promise<void> | undefined => {
  const decided = decideCalls(calls);
  return decided === undefined ? startGroup(calls, batch) : decided.then(() => startGroup(calls, batch));
};

const startGroup = (calls: readonly Call[], batch: Batch): Promise<void> | undefined => {
  const running = new RunningCalls(batch.services.batchConcurrency);
  batch.moment = batch.services.now();
  for (const [place, call] of calls.entries()) {
    if (running.isFull()) return runRest(calls.slice(place), running, batch);
    running.start(call);
  }
  return running.whenAnswered();
};

const runRest = async (calls: readonly Call[], running: RunningCalls, batch: Batch): Promise<void> => {
  const { services, cancellation } = batch;
  for (const call of calls) {
    if (running.isFull()) await running.whenFree(cancellation, services.now);
    batch.moment = services.now();
    if (running.isFull()) await giveUp(call);
    else running.start(call);
  }
  await running.whenAnswered();
};

/** The calls of one group that have not ended. Nothing is made for calls that end at once. */
class RunningCalls {
  readonly #limit: number;
  #answers: Promise<void>[] | undefined;
  #handlers: Set<Promise<unknown>> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  isFull(): boolean {
    return this.#handlers !== undefined && this.#handlers.size >= this.#limit;
  }

  start(call: Call): void {
    const running = runSafely(call);
    if (running === undefined) {
      if (call.late !== null) this.#occupy(call.late);
      return;
    }
    const answered = running.then(() => {
      if (call.late !== null) this.#occupy(call.late);
    });
    this.#occupy(answered);
    this.#answers ??= [];
    this.#answers.push(answered);
  }

  whenAnswered(): Promise<void> | undefined {
    return this.#answers === undefined ? undefined : Promise.all(this.#answers).then(() => undefined);
  }

  /** Resolves when a slot is free, or when the batch is over. */
  async whenFree(cancellation: Batch['cancellation'], now: () => number): Promise<void> {
    const over = new Promise<void>((resolve) => void cancellation.onCancel(() => resolve()));
    while (this.isFull() && cancellation.causeAt(now()) === null) await Promise.race([...(this.#handlers ?? []), over]);
  }

  #occupy(handler: Promise<unknown>): void {
    this.#handlers ??= new Set();
    const handlers = this.#handlers;
    const tracked = handler.finally(() => handlers.delete(tracked));
    handlers.add(tracked);
  }
}

const giveUp = (call: Call): Promise<void> | undefined => {
  const { cancellation, services } = call.batch;
  failOpen(call, () => {
    const cause = cancellation.causeAt(services.now()) ?? 'deadline';
    return cause === 'deadline' ? toFailure('overloaded', OVERLOADED_TEXT, call.tool) : explainNotStarted(cause);
  });
  // What was reserved for it, as for the calls that began.
  return settleGrant(call);
};

/** The last-resort net: whatever gets here is a bug of ours, counted and alerted on. */
const runSafely = (call: Call): Promise<void> | undefined => {
  const caught = (error: unknown): void => {
    const { request, services } = call.batch;
    services.observer.contractViolated(error, request.requestId);
    // A result that was sent stands.
    if (!call.isAnswered) call.fail(toFailure('internal_error', INTERNAL_ERROR_TEXT, call.tool, { thrown: error }));
  };
  const { callEnded } = call.batch;
  try {
    const running = hasRuling(call) ? runGranted(call) : runCall(call);
    if (callEnded === null) return running?.catch(caught);
    if (running !== undefined) return running.then(() => callEnded(call)).catch(caught);
    callEnded(call);
  } catch (error) {
    caught(error);
  }
  return undefined;
};

// A pending call may have been given one when it was accepted.
const hasRuling = ({ ruling, batch }: Call): boolean => ruling !== null || batch.request.resumed !== undefined;

/** What was reserved for a call is settled before it is answered: its caller's next call must find it so. */
const runGranted = (call: Call): Promise<void> | undefined => {
  let running: Promise<void> | undefined;
  try {
    running = runCall(call);
  } catch (error) {
    running = Promise.reject(error);
  }
  return running === undefined ? settleGrant(call) : running.finally(() => settleGrant(call));
};
