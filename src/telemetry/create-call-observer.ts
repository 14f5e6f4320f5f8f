import type { Logger } from 'pino';
import type { Effects, Fault, Outcome } from '../contract/failure.ts';
import { FAILURE_POLICY } from '../contract/failure.ts';
import type { BatchAnswered, CallObserver, ToolInvoked } from '../executor/call-observer.ts';
import { describeCauses } from './describe-error.ts';
import type { Metrics } from './metrics.ts';
import type { CountSeries, TimeSeries } from './tally.ts';

// Created at 0 for every tool, or rate() would miss the first failure.
const COMMON_CODES = [
  'invalid_arguments',
  'retry_requested',
  'tool_failed',
  'tool_exception',
  'timeout',
  'invalid_output',
  'retry_budget_exhausted',
] as const;

type OfferedTool = { readonly name: string; readonly effects: Effects };

type CallSeries = { readonly calls: CountSeries; readonly failures: CountSeries | null; readonly duration: TimeSeries };

/** Turns what the executor tells into metrics and log lines. Nothing here can change a call: see `createSafely`. */
export const createCallObserver = (options: {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly maxTools: number;
}): CallObserver => {
  const { metrics, log } = options;
  const named = new Set<string>();
  const seriesOf = createSeriesLookup(metrics, named);
  createCallSeries(metrics, named, '_unknown', 'unknown_tool', 'retry');
  const decisionOf = createDecisionLookup(metrics);
  const size = metrics.batchSize({});
  const overhead = metrics.batchOverhead({});
  const violations = metrics.contractViolations({});
  const safely = createSafely(log);
  return {
    toolInvoked: safely((event: ToolInvoked) => {
      const series = seriesOf(event);
      series.calls.count += 1;
      series.duration.observe(event.durationMs / 1000);
      if (series.failures !== null) series.failures.count += 1;
      if (event.fatal) metrics.fatalFailures({ tool: event.tool }).count += 1;
    }),
    batchAnswered: safely((batch: BatchAnswered) => {
      size.observe(batch.calls);
      overhead.observe(Math.max(0, batch.durationMs - batch.slowestCallMs) / 1000);
      logBatch(log, batch);
    }),
    budgetDecided: safely(({ tool, decision, denial, mode }) => {
      decisionOf(tool, decision, mode).count += 1;
      if (denial === 'tool' || denial === 'session') metrics.budgetExhausted({ tool, scope: denial }).count += 1;
    }),
    callQueued: (pool) => {
      metrics.callsQueued[pool].count += 1;
    },
    callUnqueued: (pool) => {
      metrics.callsQueued[pool].count -= 1;
    },
    callStarted: (pool, queueMs) => {
      metrics.toolCallQueue[pool].observe(queueMs / 1000);
      metrics.callsInFlight[pool].count += 1;
    },
    callEnded: (pool) => {
      metrics.callsInFlight[pool].count -= 1;
    },
    shed: (reason) => {
      metrics.shed[reason].count += 1;
    },
    toolsOffered: safely((tools: readonly OfferedTool[]) => {
      for (const tool of tools) {
        if (named.size < options.maxTools) named.add(tool.name);
        initialise(tool, metrics, named);
      }
    }),
    lateResult: (tool, ended) => {
      metrics.lateResults({ tool, ended }).count += 1;
    },
    contractViolated: safely((error: unknown) => {
      violations.count += 1;
      log.error({ causes: describeCauses(error) }, 'contract violated');
    }),
  };
};

const logBatch = (log: Logger, batch: BatchAnswered): void =>
  log.info(
    {
      request_id: batch.requestId,
      tenant: batch.tenant,
      session: batch.session,
      calls: batch.calls,
      failed: batch.failed,
      duration_ms: Math.round(batch.durationMs * 100) / 100,
    },
    'batch',
  );

/** A subscriber that throws changes nothing, and is heard of. */
const createSafely =
  (log: Logger) =>
  <Event>(subscriber: (event: Event) => void) =>
  (event: Event): void => {
    try {
      subscriber(event);
    } catch (error) {
      log.error({ causes: describeCauses(error) }, 'observer failed');
    }
  };

const labelsOf = (tool: string, code: keyof typeof FAILURE_POLICY | null, outcome: Outcome) => {
  const fault: Fault | 'none' = code === null ? 'none' : FAILURE_POLICY[code].fault;
  return { tool, outcome, code: code ?? 'ok', fault };
};

/** The series of a budget decision, found without making labels each time. */
const createDecisionLookup = (metrics: Metrics) => {
  const known = new Map<string, Map<string, CountSeries>>();
  return (tool: string, decision: string, mode: string): CountSeries => {
    const kind = `${decision} ${mode}`;
    const ofKind = known.get(kind) ?? new Map<string, CountSeries>();
    if (ofKind.size === 0) known.set(kind, ofKind);
    const series = ofKind.get(tool) ?? metrics.budgetDecisions({ tool, decision, mode });
    ofKind.set(tool, series);
    return series;
  };
};

const createSeriesLookup = (metrics: Metrics, named: ReadonlySet<string>) => {
  const known = new Map<string, Map<string, CallSeries>>();
  return ({ tool, code, outcome }: ToolInvoked): CallSeries => {
    const ofTool = known.get(tool) ?? new Map<string, CallSeries>();
    if (ofTool.size === 0) known.set(tool, ofTool);
    const key = code === null ? 'ok' : `${code} ${outcome}`;
    const found = ofTool.get(key);
    if (found !== undefined) return found;
    const made = createCallSeries(metrics, named, tool, code, outcome);
    ofTool.set(key, made);
    return made;
  };
};

const createCallSeries = (
  metrics: Metrics,
  named: ReadonlySet<string>,
  tool: string,
  code: ToolInvoked['code'],
  outcome: Outcome,
): CallSeries => {
  const { fault, ...labels } = labelsOf(tool, code, outcome);
  return {
    calls: metrics.toolCalls({ ...labels, fault }),
    failures: code === null ? null : metrics.toolCallFailures({ tool, code, fault }),
    duration: metrics.toolCallDuration({ tool: named.has(tool) ? tool : '_other', outcome }),
  };
};

const initialise = ({ name, effects }: OfferedTool, metrics: Metrics, named: ReadonlySet<string>): void => {
  createCallSeries(metrics, named, name, null, 'success');
  for (const code of COMMON_CODES) {
    const outcome = FAILURE_POLICY[code].outcome[effects === 'write' ? 'write' : 'safe'];
    if (outcome !== 'success') createCallSeries(metrics, named, name, code, outcome);
  }
};
