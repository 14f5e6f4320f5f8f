import { type HostLimits, readMachine, toHostLimits } from '../config/host-limits.ts';
import type { Config } from '../config/settings/config.ts';
import { type ByteHold, createByteBudget } from '../executor/byte-budget.ts';
import type { CallObserver } from '../executor/call-observer.ts';
import { createLoadGate, type LoadGate } from '../queue/load-gate.ts';
import { createRefusalPace, type RefusalPace } from '../queue/refusal-pace.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../queue/slot-counts.ts';
import { createCallSlots, type SlotQueue } from '../queue/slot-queue.ts';
import { startLoadSampler } from '../telemetry/load-sampler.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export type WiredLoad = {
  readonly slots: SlotQueue;
  /** What a tool's own limit comes to, and how many hosts there may be. */
  readonly toolLimits: { readonly limitOf: ConcurrencyLimit; readonly hostLimits: HostLimits };
  readonly shed: LoadGate['shed'];
  /** When a batch that is shed is told. */
  readonly refusals: RefusalPace;
  /** Takes memory for an answer of this caller; null where there is none. */
  readonly holdAnswer: (caller: string, answer: 'of a batch' | 'other') => ByteHold | null;
  /** Measures no longer. */
  readonly stop: () => void;
};

// More would only wait in each other's way on the one event loop that they share.
const MOST_CALLS_A_HOST = 256;

/** What keeps the service useful when more is asked of it than it can do. */
export const wireLoad = (config: Config, metrics: Metrics, observer: CallObserver, now: () => number): WiredLoad => {
  const hostLimits = toHostLimits(config, readMachine());
  const concurrency = {
    maxConcurrentCalls: config.MAX_CONCURRENT_CALLS,
    callerConcurrency: config.TENANT_CONCURRENCY,
    toolConcurrency: config.TOOL_CONCURRENCY,
    maxHostedCalls: hostLimits.max * MOST_CALLS_A_HOST,
  };
  const pace = createRefusalPace({ now, later: setTimeout });
  const slots = createCallSlots({
    ...concurrency,
    maxQueuedCalls: config.MAX_QUEUED_CALLS,
    pace,
    now,
    busyMs: () => performance.eventLoopUtilization().active,
    nextTurn: setImmediate,
  });
  const gate = createLoadGate({ slots, maxLagMs: config.MAX_EVENT_LOOP_LAG_MS, now, onShed: observer.shed });
  const sampler = startLoadSampler({ metrics, onSample: gate.observe });
  return {
    slots,
    toolLimits: { limitOf: createConcurrencyLimit(concurrency), hostLimits },
    shed: gate.shed,
    refusals: pace,
    holdAnswer: createHoldAnswer(config, metrics, observer),
    stop: sampler.stop,
  };
};

// A batch is let in only where its largest answer would find room: results must not be lost that are made already.
const COPIES = 2;

// An answer without large values fits into it; a thousand requests at once take a third of the default.
const FIRST_BYTES = 65_536;

const createHoldAnswer = (
  { ANSWER_MEMORY_MB, MAX_ANSWER_BYTES }: Config,
  metrics: Metrics,
  observer: CallObserver,
): WiredLoad['holdAnswer'] => {
  const limitBytes = ANSWER_MEMORY_MB * 1_048_576;
  const onRefused = (): void => {
    metrics.answerBytesRefused.count += 1;
  };
  const budget = createByteBudget({ limitBytes, onRefused });
  metrics.countAnswerBytesBy(budget.inUse, limitBytes);
  return (caller, answer) => {
    const hold = budget.open(caller, FIRST_BYTES, answer === 'other' ? FIRST_BYTES : COPIES * MAX_ANSWER_BYTES);
    if (hold === null) observer.shed('answers');
    return hold;
  };
};
