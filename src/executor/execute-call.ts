import { isSafe, type Tool } from '../tools/tool.ts';
import { CallContext, type CallFacts } from './call-context.ts';
import { type RanCall, unstarted } from './call-end.ts';
import { poolOf } from './call-observer.ts';
import type { CircuitPass } from './circuit/circuit-breakers.ts';
import { type Failure, toFailure } from './failure.ts';
import * as text from './failure-text.ts';
import { findObstacle, toNotStarted } from './find-obstacle.ts';
import { leastLength } from './least-length.ts';
import type { ReadyCall, ResolvedCall } from './resolve-call.ts';
import { type RunEnd, type RunTerms, runInvocation } from './run-invocation.ts';
import type { CallSettings, RunningBatch } from './running-batch.ts';
import { toCallEnd } from './to-call-end.ts';
import { giveUpSlots, waitForSlot } from './wait-for-slot.ts';

/**
 * The life of one call: 1 shape, 2 look up, 3 authorise (resolve-call)  4 admit  5 validate  6 run  7 serialise.
 * Each step may end the call. Answers at once where the handler does; never throws.
 */
export const executeCall = (
  call: ResolvedCall,
  batch: RunningBatch,
  settings: CallSettings,
): RanCall | Promise<RanCall> => {
  if (call.kind === 'refused') return unstarted(call.failure);
  const settled = batch.settled.get(call.index);
  if (settled !== undefined) return settled;
  const askedAt = settings.now();
  const obstacle = findObstacle(call, askedAt, batch, settings);
  if (obstacle !== null) return unstarted(obstacle);
  if (call.kind === 'unknown_tool') return unstarted(call.failure);
  const input = batch.given.read(call);
  if (!input.ok) return unstarted(input.failure);
  const run = (waitedMs: number) => beginCall(call, batch, settings, { startedAt: askedAt + waitedMs, waitedMs });
  if (settings.slots.tryTake(call.tool, batch.caller)) return run(0);
  return waitForSlot(call, batch, settings, { askedAt, run: () => run(settings.now() - askedAt) });
};

type Start = { readonly startedAt: number; readonly waitedMs: number };

/** A keyed write is written down before it begins: whoever tries again after a crash must know that it may have run. */
const beginCall = (
  call: ReadyCall,
  batch: RunningBatch,
  settings: CallSettings,
  start: Start,
): RanCall | Promise<RanCall> => {
  if (batch.keyed === null || isSafe(call.tool)) return runCall(call, batch, settings, start);
  return batch.keyed.run.start(call.index).then((state) => {
    const now = settings.now();
    const cause = batch.end.causeAt(now);
    if (cause !== null || batch.isDraining())
      return giveUpSlots(call, batch, settings, toNotStarted(cause ?? 'shutdown'));
    if (state === 'held') return runCall(call, batch, settings, { ...start, startedAt: now });
    const { name } = call.tool;
    return giveUpSlots(
      call,
      batch,
      settings,
      state === 'away'
        ? toFailure('store_unavailable', text.KEYED_STORE_UNAVAILABLE_TEXT, call.tool)
        : toFailure('outcome_unknown', text.takenOverText(name), call.tool),
    );
  });
};

const runCall = (
  call: ReadyCall,
  batch: RunningBatch,
  settings: CallSettings,
  { startedAt, waitedMs }: Start,
): RanCall | Promise<RanCall> => {
  const { tool } = call;
  const read = batch.given.read(call);
  const input = read.ok ? read.value : {};
  const pass = settings.circuits.begin(tool, input, batch);
  if (pass.kind === 'refused') return giveUpSlots(call, batch, settings, toCircuitOpen(tool, pass.retryAfterMs));
  const permit = batch.permits.get(tool.name);
  const timeoutMs = Math.max(1, Math.min(call.timeoutMs, Math.ceil(batch.end.remainingAt(startedAt))));
  const context = new CallContext({
    requestId: batch.requestId,
    tool: tool.name,
    callId: call.id,
    session: batch.session,
    effects: tool.effects,
    idempotencyKey: batch.keyed === null ? null : `${batch.keyed.key}#${call.index}`,
    traceparent: batch.trace?.callStarted(call, waitedMs) ?? null,
    retriesLeft: permit !== undefined && 'budget' in permit ? (permit.budget?.remaining ?? tool.retries) : tool.retries,
    timeoutMs,
    createLog: settings.createLog,
    ...toProgress(call, batch),
  });
  settings.observer.callStarted(poolOf(tool), waitedMs);
  const run = runAnywhere(tool, input, { context, timeoutMs, end: batch.end }, settings);
  const ended: Ended = { pass, limit: timeoutMs < tool.timeoutMs ? 'shortened' : 'own', startedAt, timeoutMs };
  if (run instanceof Promise)
    return run.then((end) =>
      settings.turns.inTurn(end.kind === 'returned' ? leastLength(end.value) : 0, () =>
        finishCall(end, call, ended, batch, settings),
      ),
    );
  return finishCall(run, call, ended, batch, settings);
};

const toProgress = ({ index }: ReadyCall, { onProgress }: RunningBatch): Pick<CallFacts, 'onProgress'> =>
  onProgress === null ? NO_PROGRESS : { onProgress: (update) => onProgress(index, update) };
const NO_PROGRESS = {};

type Ended = {
  readonly pass: Extract<CircuitPass, { kind: 'passed' }>;
  readonly limit: 'own' | 'shortened';
  readonly startedAt: number;
  readonly timeoutMs: number;
};

// A service that keeps its promises answers within this of a call's time limit.
const OVERRUN_MS = 250;

export const toCircuitOpen = (tool: Tool, retryAfterMs: number): Failure =>
  toFailure('circuit_open', text.circuitOpenText(tool.name, retryAfterMs), tool, {
    retryAfterMs: Math.ceil(retryAfterMs),
  });

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
  { pass, limit, startedAt, timeoutMs }: Ended,
  { caller, size }: RunningBatch,
  settings: CallSettings,
): RanCall => {
  const { tool, index } = call;
  const { slots, observer } = settings;
  const durationMs = settings.now() - startedAt;
  const terms = { graceful: gracefulOf(tool, settings), maxResultBytes: settings.maxResultBytes };
  const end = size.refuse(index, tool, run) ?? toCallEnd(run, tool, terms);
  settings.turns.spend(end.valueJson.length);
  pass.ended(end, limit);
  if (durationMs > timeoutMs + OVERRUN_MS) observer.deadlineOverrun(tool.name);
  const handlerEnded = (): void => {
    observer.callEnded(poolOf(tool));
    slots.ended(tool);
  };
  slots.learn(tool, durationMs, 'late' in run ? 'cut_off' : 'by_itself');
  slots.answered(caller);
  if ('late' in run) {
    // The slot of the tool is free again when the handler really ends, not when its call was answered.
    const late = run.late.then((reality) => {
      const lateEnd = reality === null ? null : toCallEnd(reality, tool, terms);
      if (lateEnd !== null) observer.lateResult(tool.name, lateEnd.kind === 'success' ? 'returned' : 'threw');
      return lateEnd;
    });
    return { end, durationMs, late: late.finally(handlerEnded) };
  }
  handlerEnded();
  const ran: RanCall = { end, durationMs, late: null };
  size.keep(index, tool, ran);
  return ran;
};
