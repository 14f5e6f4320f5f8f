import { type HostLimits, readMachine, toHostLimits } from '../config/host-limits.ts';
import type { Config } from '../config/settings/config.ts';
import type { CallObserver } from '../executor/call-observer.ts';
import type { ByteBudget, MemoryLease } from '../memory/byte-budget.ts';
import { createLoadGate, type LoadGate } from '../queue/load-gate.ts';
import { createRefusalPace, type RefusalPace } from '../queue/refusal-pace.ts';
import { type ConcurrencyLimit, createConcurrencyLimit } from '../queue/slot-counts.ts';
import { SlotQueue } from '../queue/slot-queue.ts';
import type { RequestSize } from '../routes/request-gate.ts';
import { BODY_COPIES, FIRST_BYTES } from '../routes/request-memory.ts';
import { startLoadSampler } from '../telemetry/load-sampler.ts';
import type { Metrics } from '../telemetry/metrics.ts';

export type WiredLoad = {
  readonly slots: SlotQueue;
  /** What a tool's own limit comes to. */
  readonly limitOf: ConcurrencyLimit;
  readonly hostLimits: HostLimits;
  readonly shed: LoadGate['shed'];
  /** When a batch that is shed is told. */
  readonly refusals: RefusalPace;
  /** Takes memory for a request of this caller and its answer; null where there is none. */
  readonly leaseRequest: (caller: string, size: RequestSize) => MemoryLease | null;
  /** How late the event loop has been, as in the load sampler. */
  readonly lagMs: () => number | null;
  /** Measures no longer. */
  readonly stop: () => void;
};

// More would only wait in each other's way on the one event loop that they share.
const MOST_CALLS_A_HOST = 256;

type LoadParts = {
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  readonly budget: ByteBudget;
  readonly now: () => number;
};

/** What keeps the service useful when more is asked of it than it can do. */
export const wireLoad = (config: Config, { metrics, observer, budget, now }: LoadParts): WiredLoad => {
  const hostLimits = toHostLimits(config, readMachine());
  const concurrency = {
    maxConcurrentCalls: config.MAX_CONCURRENT_CALLS,
    callerConcurrency: config.TENANT_CONCURRENCY,
    toolConcurrency: config.TOOL_CONCURRENCY,
    maxHostedCalls: hostLimits.max * MOST_CALLS_A_HOST,
  };
  const pace = createRefusalPace({ now, later: setTimeout });
  const slots = new SlotQueue({
    ...concurrency,
    maxQueuedCalls: config.MAX_QUEUED_CALLS,
    pace,
    now,
    busyMs: () => performance.eventLoopUtilization().active,
    afterSlice: setImmediate,
  });
  const gate = createLoadGate({ slots, maxLagMs: config.MAX_EVENT_LOOP_LAG_MS, now, onShed: observer.shed });
  const sampler = startLoadSampler({ metrics, onSample: gate.observe });
  return {
    slots,
    limitOf: createConcurrencyLimit(concurrency),
    hostLimits,
    shed: gate.shed,
    refusals: pace,
    leaseRequest: createLeaseRequest(config, budget, observer),
    lagMs: sampler.lagMs,
    stop: sampler.stop,
  };
};

// A batch is let in only where its largest answer would find room: results must not be lost that are made already.
const COPIES = 2;

const createLeaseRequest =
  (
    { MAX_BODY_BYTES, MAX_ANSWER_BYTES }: Config,
    budget: ByteBudget,
    observer: CallObserver,
  ): WiredLoad['leaseRequest'] =>
  (caller, size) => {
    const bytes = size === 'no body' ? FIRST_BYTES : FIRST_BYTES + BODY_COPIES * Math.min(size, MAX_BODY_BYTES);
    const lease = budget.open(caller, bytes, size === 'no body' ? bytes : bytes + COPIES * MAX_ANSWER_BYTES);
    if (lease === null) observer.shed('request_memory');
    return lease;
  };
