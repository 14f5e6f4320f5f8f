import { isSafe, type Tool, type ToolProgress } from '../tools/tool.ts';
import { acceptCall, awaitAccepted, isForgotten } from './accept-call.ts';
import { leastLength } from './answer-size.ts';
import type { BatchListener } from './batch-request.ts';
import { type Batch, type Call, isReady, type ReadyCall, readArguments, recordOf } from './call.ts';
import { CallContext, type CallFacts, type CreateCallLog } from './call-context.ts';
import { poolOf } from './call-observer.ts';
import { type Failure, failed, toFailure } from './call-outcome.ts';
import type { CircuitPass } from './circuit-breakers.ts';
import type { Cancellation, HostedTerms, RunOutcome } from './deadline.ts';
import { effectIdOf, toIdempotencyKey } from './effect-id.ts';
import * as text from './failure-text.ts';
import type { RecordState } from './idempotency-store.ts';
import { invokeTool } from './invoke-tool.ts';
import { explainOpenCircuit, explainUnwritten, findReason } from './obstacles.ts';
import { type OutcomeTerms, toCallOutcome } from './outcome.ts';
import { toShortage } from './shortage.ts';
import { beginWrite, endWrite, settleWrite } from './unknown-write.ts';

/**
 * The life of one call once its batch is admitted: obstacle · arguments · slot · mark of a keyed write · circuit · handler ·
 * outcome. Each step may end the call. Gives a promise only where it waits; never rejects but by a bug.
 */
export const runCall = (call: Call): Promise<void> | undefined => {
  if (call.state.kind === 'pending') return awaitAccepted(call);
  // An earlier try of the batch left its outcome.
  if (call.outcome !== null) return settleWrite(call, 'earlier');
  const { services, request, async, moment: askedAt } = call.batch;
  const reason = findReason(call, askedAt);
  if (reason !== null) return call.fail(reason);
  if (!isReady(call)) throw new Error('A call that is not ready has no reason.');
  const parsed = readArguments(call);
  if (!parsed.ok) return call.fail(parsed.failure);
  if (call.asked !== null || (async !== null && !runsInRequest(call))) return acceptCall(call);
  if (services.slots.tryTake(call.tool, request.caller, askedAt)) return begin(call, askedAt, 0);
  return waitForSlot(call, askedAt);
};

// What never runs in the background needs no record that outlives its request.
const runsInRequest = ({ batch, tool }: ReadyCall): boolean => tool.background === 'never' && isForgotten(batch);

/** A keyed write is written down before it begins: a repeat after a crash must know that it may have run. */
const begin = (call: ReadyCall, startedAt: number, waitedMs: number): Promise<void> | undefined => {
  const record = isSafe(call.tool) ? null : recordOf(call);
  if (record === null) return run(call, startedAt, waitedMs);
  return beginWrite(call, record.start(call.index)).then((state) => beginMarked(call, state, waitedMs));
};

const beginMarked = (call: ReadyCall, state: RecordState, waitedMs: number): Promise<void> | undefined => {
  const { services, cancellation } = call.batch;
  const now = services.now();
  const cause = cancellation.causeAt(now);
  if (cause !== null || services.isDraining()) return giveUpSlots(call, text.explainNotStarted(cause ?? 'shutdown'));
  if (state === 'held') return run(call, now, waitedMs);
  const { tool } = call;
  if (state === 'away')
    return giveUpSlots(call, toFailure('store_unavailable', text.IDEMPOTENCY_STORE_UNAVAILABLE_TEXT, tool));
  giveUpSlots(call, toFailure('outcome_unknown', text.takenOverText(tool.name), tool));
  return settleWrite(call, 'other');
};

/** Gives back the slots of a call that does not run after all. */
const giveUpSlots = (call: ReadyCall, failure: Failure): undefined => {
  const { services, request } = call.batch;
  services.slots.gaveUp(call.tool);
  services.slots.answered(request.caller);
  services.slots.ended(call.tool);
  call.fail(failure);
  endWrite(call, failed(failure));
};

/** Waits for the call's run, or ends it without one: at the end of the batch, or when the slots have dropped it. */
const waitForSlot = (call: ReadyCall, askedAt: number): Promise<void> =>
  new Promise((resolve) => {
    const { tool, batch } = call;
    const { services, cancellation, request } = batch;
    const { slots, observer } = services;
    observer.callQueued(poolOf(tool));
    const settle = (): void => {
      unsubscribe();
      observer.callUnqueued(poolOf(tool));
    };
    const endNow = (failure: Failure): void => {
      settle();
      call.fail(failure);
      resolve();
    };
    const unsubscribe = cancellation.onCancel((cause) => {
      stopWaiting();
      endNow(cause === 'deadline' ? toOverloaded(text.OVERLOADED_TEXT, tool) : text.explainNotStarted(cause));
    });
    const stopWaiting = slots.wait({
      tool,
      caller: request.caller,
      endsAt: askedAt + cancellation.remainingAt(askedAt),
      timeoutMs: call.timeoutMs,
      // Not here and now: the call that gave the slot back must not run, or pay for, another one's handler.
      acquired: () => {
        settle();
        resolve(Promise.resolve().then(() => startLate(call, askedAt)));
      },
      dropped: ({ reason, retryAfterMs }) => {
        observer.shed(reason);
        endNow(toOverloaded(text.dropText(reason), tool, retryAfterMs));
      },
    });
  });

const startLate = (call: ReadyCall, askedAt: number): Promise<void> | undefined => {
  const { services } = call.batch;
  if (services.isDraining()) return giveUpSlots(call, text.explainNotStarted('shutdown'));
  const unwritten = explainUnwritten(call, call.tool);
  if (unwritten !== null) return giveUpSlots(call, unwritten);
  const startedAt = services.now();
  return begin(call, startedAt, startedAt - askedAt);
};

const toOverloaded = (message: string, tool: Tool, retryAfterMs: number | null = null): Failure =>
  toFailure('overloaded', message, tool, { retryAfterMs });

type Passed = Extract<CircuitPass, { kind: 'passed' }>;

/** A call that runs: what its handler gets, and what its end is judged by. One record for both, because every call makes one. */
class CallRun implements CallFacts, HostedTerms {
  readonly call: ReadyCall;
  readonly pass: Passed;
  readonly startedAt: number;
  readonly timeoutMs: number;
  readonly traceparent: string | null;
  readonly context: CallContext;

  constructor(call: ReadyCall, pass: Passed, startedAt: number, waitedMs: number) {
    const { request, cancellation } = call.batch;
    this.call = call;
    if (call.ruling !== null) call.ruling.hasBegun = true;
    this.pass = pass;
    this.startedAt = startedAt;
    this.timeoutMs = Math.max(1, Math.min(call.timeoutMs, Math.ceil(cancellation.remainingAt(startedAt))));
    this.traceparent = request.trace?.callStarted(call, waitedMs) ?? null;
    this.context = new CallContext(this);
  }

  get cancellation(): Cancellation {
    return this.call.batch.cancellation;
  }

  get graceful(): 'on' | 'off' {
    return gracefulOf(this.call.tool, this.call.batch);
  }

  get requestId(): string {
    return this.call.batch.request.requestId;
  }

  get tool(): string {
    return this.call.tool.name;
  }

  get callId(): Call['id'] {
    return this.call.id;
  }

  get session(): string | null {
    return this.call.batch.request.sessionKey;
  }

  get tenant(): string | null {
    return this.caller === null ? null : this.call.batch.request.tenant;
  }

  get caller(): string | null {
    return this.call.batch.request.callerId ?? null;
  }

  get effects(): Tool['effects'] {
    return this.call.tool.effects;
  }

  get idempotencyKey(): string | null {
    return this.call.batch.request.resumed?.spec.idempotencyKey ?? toIdempotencyKey(this.call);
  }

  get effectId(): string {
    return effectIdOf(this.call);
  }

  get retriesLeft(): number {
    const { tool, batch } = this.call;
    const permit = batch.admission?.permits.get(tool.name);
    const budget = permit !== undefined && 'budget' in permit ? permit.budget : null;
    return budget?.remaining ?? tool.retries;
  }

  get createLog(): CreateCallLog {
    return this.call.batch.services.createLog;
  }

  get onProgress(): ((update: ToolProgress) => void) | null {
    const progress = this.call.batch.request.listener?.progress;
    return progress === undefined ? null : toProgressListener(this.call, progress);
  }

  get onPart(): ((valueJson: string) => void) | null {
    const part = this.call.batch.request.listener?.part;
    return part === undefined ? null : toPartListener(this.call, part);
  }
}

const run = (call: ReadyCall, startedAt: number, waitedMs: number): Promise<void> | undefined => {
  const { tool, batch } = call;
  const { services } = batch;
  const parsed = readArguments(call);
  const input = parsed.ok ? parsed.value : {};
  const pass = services.circuits.begin(tool, input);
  if (pass.kind === 'refused') return giveUpSlots(call, explainOpenCircuit(tool, pass.retryAfterMs));
  const started = new CallRun(call, pass, startedAt, waitedMs);
  services.observer.callStarted(poolOf(tool), waitedMs);
  const ran = tool.runsIn === 'service' ? invokeTool(tool, input, started) : services.runHosted(tool, input, started);
  if (!(ran instanceof Promise)) return finish(started, ran, 'at_once');
  // It may have worked for a while before it gave a promise.
  batch.moment = services.now();
  services.slots.gaveWay(tool, batch.moment - startedAt, batch.moment);
  return ran.then((outcome) =>
    services.loopSlice.runInSlice<Promise<void> | undefined>(
      outcome.kind === 'returned' ? leastLength(outcome.value) : 0,
      () => finish(started, outcome, 'by_itself'),
    ),
  );
};

/** A call that has been answered, by its time limit for example, shows nothing more. */
const toPartListener =
  (call: Call, onPart: NonNullable<BatchListener['part']>) =>
  (valueJson: string): void => {
    if (call.outcome === null) onPart(call.index, call.batch.services.redactor.value(valueJson, 'result'));
  };

const MAX_PROGRESS_LENGTH = 1000;

/** What a tool reports goes out of the service, so it is redacted as what it says beside its value is. */
const toProgressListener =
  ({ index, batch }: Call, onProgress: NonNullable<BatchListener['progress']>) =>
  ({ progress, total, message }: ToolProgress): void => {
    if (!Number.isFinite(progress)) return;
    const { redactor } = batch.services;
    onProgress(index, {
      progress,
      total: Number.isFinite(total) ? total : undefined,
      message: typeof message === 'string' ? redactor.cutToolText(message, MAX_PROGRESS_LENGTH, 'result') : undefined,
    });
  };

const gracefulOf = (tool: Tool, { services }: Batch): 'on' | 'off' =>
  (tool.gracefulErrors ?? services.gracefulErrors === 'on') ? 'on' : 'off';

// A service that keeps its promises answers within this of a call's time limit.
const OVERRUN_MS = 250;

const finish = (started: CallRun, ran: RunOutcome, ended: 'at_once' | 'by_itself'): Promise<void> | undefined => {
  const { call, startedAt, timeoutMs } = started;
  const { tool, batch } = call;
  const { services, size, request } = batch;
  const { slots, observer } = services;
  batch.moment = services.now();
  const durationMs = batch.moment - startedAt;
  const terms: OutcomeTerms = { graceful: started.graceful, maxResultBytes: services.maxResultBytes };
  const outcome = size.refuse(call, ran) ?? toShortage(ran, tool) ?? toCallOutcome(ran, tool, terms);
  call.durationMs = durationMs;
  services.loopSlice.spend(outcome.valueJson.length);
  started.pass.ended(outcome, timeoutMs < tool.timeoutMs ? 'shortened' : 'own', batch);
  if (durationMs > timeoutMs + OVERRUN_MS) observer.deadlineOverrun(tool.name);
  slots.learn(tool, durationMs, 'late' in ran ? 'cut_off' : ended, batch.moment);
  slots.answered(request.caller);
  if (!('late' in ran)) {
    call.end(outcome);
    handlerEnded(call);
    size.keep(call);
    return settleWrite(call, 'own');
  }
  // The slot of the tool is free again when the handler really ends, not when its call was answered.
  const late = ran.late
    .then((reality) => {
      const lateOutcome = reality === null ? null : toCallOutcome(reality, tool, terms);
      if (lateOutcome !== null) observer.lateResult(tool.name, lateOutcome.kind === 'success' ? 'returned' : 'threw');
      return lateOutcome;
    })
    .finally(() => handlerEnded(call));
  call.state = { kind: 'overdue', outcome, late };
  request.memory?.keepArgumentsUntil(late);
  return settleWrite(call, 'own');
};

const handlerEnded = ({ tool, batch }: ReadyCall): void => {
  batch.services.observer.callEnded(poolOf(tool));
  batch.services.slots.ended(tool);
};
