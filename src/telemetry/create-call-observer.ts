import type { Logger } from 'pino';
import type { BatchAnswered, CallObserver, ToolInvoked } from '../executor/call-observer.ts';
import { createCallSeriesLookup, createDecisionLookup } from './call-series.ts';
import { createObserverGuard } from './create-observer-guard.ts';
import { describeCauses } from './describe-error.ts';
import { createLogBatch, type LogBatch } from './log-batch.ts';
import type { Metrics } from './metrics.ts';
import type { OfferedTool } from './tool-names.ts';

export type CallObserverOptions = {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How many tools histograms name; further ones are `_other`. */
  readonly maxTools: number;
  readonly now: () => number;
  /** Left out: by `log`. */
  readonly logBatch?: LogBatch | undefined;
  /** Each hears of every call that has its answer. One that throws, or gives a promise that rejects, changes nothing. */
  readonly subscribers?: readonly ((event: ToolInvoked) => void)[];
};

/** Turns what the executor tells into metrics and log lines, and passes calls on. Nothing here can change a call. */
export const createCallObserver = (options: CallObserverOptions): CallObserver => {
  const { metrics, log, logBatch = createLogBatch(log) } = options;
  const guard = createObserverGuard(options);
  const series = createCallSeriesLookup(metrics, options.maxTools);
  const decisionOf = createDecisionLookup(metrics);
  const subscribers = (options.subscribers ?? []).map((subscriber) => guard(subscriber));
  const size = metrics.batchSize({});
  const overhead = metrics.batchOverhead({});
  const violations = metrics.contractViolations({});
  const countCall = guard((event: ToolInvoked) => {
    // What is answered again is counted once: a copy, and a repeat of a keyed batch.
    if (event.replayed) return;
    const { calls, ran, failures } = series.of(event);
    calls.count += 1;
    // What did not run took no time.
    if (event.durationMs > 0) ran(event.durationMs / 1000);
    if (failures !== null) failures.count += 1;
    if (event.fatal) metrics.fatalFailures({ tool: event.tool }).count += 1;
  });
  const countViolation = guard(({ error, requestId }: { readonly error: unknown; readonly requestId: string }) => {
    violations.count += 1;
    log.error({ request_id: requestId, causes: describeCauses(error) }, 'contract violated');
  });
  return {
    ...createSlotObserver(metrics),
    toolInvoked: (event) => {
      countCall(event);
      for (const subscriber of subscribers) subscriber(event);
    },
    batchAnswered: guard((batch: BatchAnswered) => {
      size.observe(batch.calls);
      overhead.observe(Math.max(0, batch.durationMs - batch.slowestCallMs) / 1000);
      logBatch(batch);
    }),
    budgetDecided: guard(({ tool, decision, denial, mode }) => {
      decisionOf(tool, decision, mode).count += 1;
      if (denial === 'tool' || denial === 'session') metrics.budgetExhausted({ tool, scope: denial }).count += 1;
    }),
    toolsOffered: guard((tools: readonly OfferedTool[]) => series.offer(tools)),
    lateResult: (tool, ended) => {
      metrics.lateResults({ tool, ended }).count += 1;
    },
    deadlineOverrun: (tool) => {
      metrics.deadlineOverruns({ tool }).count += 1;
    },
    loopDetected: (tool) => {
      metrics.loopsDetected({ tool }).count += 1;
    },
    keyUsed: (result) => {
      metrics.keyUses[result].count += 1;
    },
    contractViolated: (error, requestId) => countViolation({ error, requestId }),
  };
};

type SlotEvents = 'callQueued' | 'callUnqueued' | 'callStarted' | 'callEnded' | 'shed';

const createSlotObserver = ({
  callsQueued,
  callsInFlight,
  toolCallQueue,
  shed,
}: Metrics): Pick<CallObserver, SlotEvents> => ({
  callQueued: (pool) => {
    callsQueued[pool].count += 1;
  },
  callUnqueued: (pool) => {
    callsQueued[pool].count -= 1;
  },
  callStarted: (pool, queueMs) => {
    toolCallQueue[pool].observe(queueMs / 1000);
    callsInFlight[pool].count += 1;
  },
  callEnded: (pool) => {
    callsInFlight[pool].count -= 1;
  },
  shed: (reason) => {
    shed[reason].count += 1;
  },
});
