import type { Tool } from '../tools/tool.ts';
import type { BatchEnd, BatchEndCause } from './batch-end.ts';
import { CallContext, type CreateCallLog } from './call-context.ts';
import { failed, type RanCall } from './call-end.ts';
import { type CallObserver, poolOf } from './call-observer.ts';
import { type Failure, toFailure } from './failure.ts';
import * as text from './failure-text.ts';
import type { CallSlots } from './overload/call-slots.ts';
import { parseArguments } from './parse-arguments.ts';
import type { ReadyCall, ResolvedCall } from './resolve-call.ts';
import type { RunHosted } from './run-hosted.ts';
import { type RunEnd, type RunTerms, runInvocation } from './run-invocation.ts';
import type { Permit } from './session-store.ts';
import { toCallEnd } from './to-call-end.ts';

/** What the calls of one batch share while they run. */
export type RunningBatch = {
  readonly requestId: string;
  readonly session: string | null;
  /** Between whom the slots of the service are shared. */
  readonly caller: string;
  /** The body's text, which alone tells how a number was written. */
  readonly source: string;
  readonly end: BatchEnd;
  readonly permits: ReadonlyMap<string, Permit>;
  readonly isDraining: () => boolean;
};

export type CallSettings = {
  readonly gracefulErrors: 'on' | 'off';
  readonly maxResultBytes: number;
  readonly sessionRetries: number;
  readonly now: () => number;
  readonly slots: CallSlots;
  readonly createLog: CreateCallLog;
  readonly observer: CallObserver;
  /** Runs the calls of tools whose code lives in processes of its own. */
  readonly runHosted: RunHosted;
};

/**
 * The life of one call: 1 shape, 2 look up, 3 authorise (resolve-call)  4 admit  5 validate  6 run  7 serialise.
 * Each step may end the call. Answers at once where the handler does; never throws.
 */
export const executeCall = (
  call: ResolvedCall,
  batch: RunningBatch,
  settings: CallSettings,
): RanCall | Promise<RanCall> => {
  if (call.kind === 'refused') return toUnstarted(call.failure);
  const askedAt = settings.now();
  const obstacle = findObstacle(call, askedAt, batch, settings);
  if (obstacle !== null) return toUnstarted(obstacle);
  if (call.kind === 'unknown_tool') return toUnstarted(call.failure);
  const input = parseArguments(call.given, batch.source, call.tool);
  if (!input.ok) return toUnstarted(input.failure);
  const run = (waitedMs: number) =>
    runCall(call, input.value, batch, settings, { startedAt: askedAt + waitedMs, waitedMs });
  if (settings.slots.tryTake(call.tool, batch.caller)) return run(0);
  return waitForSlot(call, batch, settings, { askedAt, run: () => run(settings.now() - askedAt) });
};

const toUnstarted = (failure: Failure): RanCall => ({ end: failed(failure), durationMs: 0, late: null });

const findObstacle = (
  call: Exclude<ResolvedCall, { kind: 'refused' }>,
  moment: number,
  batch: RunningBatch,
  settings: CallSettings,
): Failure | null => {
  const cause = batch.end.causeAt(moment);
  const tool = call.kind === 'ready' ? call.tool : null;
  if (cause !== null) return toNotStarted(cause);
  if (batch.isDraining()) return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, tool);
  const permit = batch.permits.get(bucketOf(call));
  if (permit === undefined || permit.decision === 'free' || permit.decision === 'retry') return null;
  if (permit.decision === 'unavailable') return toFailure('store_unavailable', text.STORE_UNAVAILABLE_TEXT, tool);
  const denied =
    call.kind === 'unknown_tool'
      ? `${call.failure.message}${text.NO_RETRIES_FOR_UNKNOWN_NAMES}`
      : text.denialText(call.tool.name, permit.denial, permit.budget, settings.sessionRetries);
  return toFailure('retry_budget_exhausted', denied, tool);
};

/** Under which name the call's budget is kept and its numbers are labelled. */
export const bucketOf = (call: ResolvedCall): string =>
  call.kind === 'ready' || (call.kind === 'refused' && call.tool !== null)
    ? (call.tool?.name ?? '_unknown')
    : '_unknown';

/** A call the batch ended before: the service's fault only where it is stopping. */
export const toNotStarted = (cause: BatchEndCause): Failure => {
  if (cause === 'shutdown') return toFailure('shutting_down', text.SHUTTING_DOWN_TEXT, null);
  const message = cause === 'deadline' ? text.CANCELLED_BY_DEADLINE_TEXT : text.CANCELLED_BY_CLIENT_TEXT;
  return toFailure('cancelled', message, null, { outcome: 'refused', executed: 'no' });
};

const runCall = (
  call: ReadyCall,
  input: Readonly<Record<string, unknown>>,
  batch: RunningBatch,
  settings: CallSettings,
  { startedAt, waitedMs }: { readonly startedAt: number; readonly waitedMs: number },
): RanCall | Promise<RanCall> => {
  const { tool } = call;
  const permit = batch.permits.get(tool.name);
  const context = new CallContext({
    requestId: batch.requestId,
    tool: tool.name,
    callId: call.id,
    session: batch.session,
    retriesLeft: permit !== undefined && 'budget' in permit ? (permit.budget?.remaining ?? tool.retries) : tool.retries,
    createLog: settings.createLog,
  });
  settings.observer.callStarted(poolOf(tool), waitedMs);
  const timeoutMs = Math.max(1, Math.min(call.timeoutMs, Math.ceil(batch.end.remainingAt(startedAt))));
  const run = runAnywhere(tool, input, { context, timeoutMs, end: batch.end }, settings);
  if (run instanceof Promise) return run.then((ended) => finishCall(ended, call, startedAt, batch, settings));
  return finishCall(run, call, startedAt, batch, settings);
};

const runAnywhere = (
  tool: Tool,
  input: Readonly<Record<string, unknown>>,
  terms: RunTerms,
  settings: CallSettings,
): RunEnd | Promise<RunEnd> =>
  tool.runsIn === 'service'
    ? runInvocation(tool, input, terms)
    : settings.runHosted(tool, input, { ...terms, graceful: gracefulOf(tool, settings) });

const gracefulOf = (tool: Tool, { gracefulErrors }: CallSettings): 'on' | 'off' =>
  (tool.gracefulErrors ?? gracefulErrors === 'on') ? 'on' : 'off';

const finishCall = (
  run: RunEnd,
  call: ReadyCall,
  startedAt: number,
  { caller }: RunningBatch,
  settings: CallSettings,
): RanCall => {
  const { tool } = call;
  const { slots, observer } = settings;
  const durationMs = settings.now() - startedAt;
  const end = toCallEnd(run, tool, {
    graceful: gracefulOf(tool, settings),
    maxResultBytes: settings.maxResultBytes,
  });
  const handlerEnded = (): void => {
    observer.callEnded(poolOf(tool));
    slots.ended(tool);
  };
  slots.learn(tool, durationMs, 'late' in run ? 'cut_off' : 'by_itself');
  slots.answered(caller);
  if ('late' in run) {
    // The slot of the tool is free again when the handler really ends, not when its call was answered.
    const late = run.late.then((reality) => noteLate(reality, call, observer)).finally(handlerEnded);
    return { end, durationMs, late };
  }
  handlerEnded();
  return { end, durationMs, late: null };
};

const noteLate = (reality: RunEnd | null, call: ReadyCall, observer: CallObserver): void => {
  if (reality === null) return;
  const returned = reality.kind === 'returned' || (reality.kind === 'ended' && reality.end.kind === 'success');
  observer.lateResult(call.tool.name, returned ? 'returned' : 'threw');
};

/** Ends with the call's run, or without one: at the end of the batch, or when the slots have dropped it. */
const waitForSlot = (
  call: ReadyCall,
  batch: RunningBatch,
  settings: CallSettings,
  { askedAt, run }: { readonly askedAt: number; readonly run: () => RanCall | Promise<RanCall> },
): Promise<RanCall> =>
  new Promise((resolve) => {
    const { tool } = call;
    const { slots, observer } = settings;
    observer.callQueued(poolOf(tool));
    const settle = (ran: RanCall | Promise<RanCall>): void => {
      unsubscribe();
      observer.callUnqueued(poolOf(tool));
      resolve(ran);
    };
    const unsubscribe = batch.end.onEnd((cause) => {
      stopWaiting();
      settle(toUnstarted(cause === 'deadline' ? toOverloaded(text.OVERLOADED_TEXT, tool) : toNotStarted(cause)));
    });
    const stopWaiting = slots.wait({
      tool,
      caller: batch.caller,
      endsAt: askedAt + batch.end.remainingAt(askedAt),
      timeoutMs: call.timeoutMs,
      // Not here and now: whoever gave the slot back must not run, or pay for, somebody else's handler.
      taken: () =>
        settle(Promise.resolve().then(() => (batch.isDraining() ? giveUpSlots(call, batch, settings) : run()))),
      dropped: ({ reason, retryAfterMs }) => {
        observer.shed(reason);
        settle(toUnstarted(toOverloaded(text.dropText(reason), tool, retryAfterMs)));
      },
    });
  });

const toOverloaded = (message: string, tool: Tool, retryAfterMs: number | null = null): Failure =>
  toFailure('overloaded', message, tool, { retryAfterMs });

const giveUpSlots = ({ tool }: ReadyCall, { caller }: RunningBatch, { slots }: CallSettings): RanCall => {
  slots.answered(caller);
  slots.ended(tool);
  return toUnstarted(toNotStarted('shutdown'));
};
