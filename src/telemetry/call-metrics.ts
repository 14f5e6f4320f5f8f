import type { Logger } from 'pino';
import { FAILURE_POLICY, type Fault, type Outcome } from '../contract/failure.ts';
import {
  type BatchAnswered,
  type CallObserver,
  type CallWatch,
  type CircuitObserver,
  type CircuitState,
  SILENT_OBSERVER,
  type ToolInvoked,
} from '../executor/call-observer.ts';
import type { Failure } from '../executor/call-outcome.ts';
import { describeCauses } from './describe-error.ts';
import { createLogBatch, type LogBatch } from './log-lines.ts';
import type { Metrics } from './metrics.ts';
import { createQuietLine } from './repeated-lines.ts';
import type { CountSeries, TimeSeries } from './tally.ts';
import type { OfferedTool } from './tool-series.ts';

type CallObserverOptions = {
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How many tools histograms name; further ones are `_other`. */
  readonly maxTools: number;
  readonly now: () => number;
  /** Left out: by `log`. */
  readonly logBatch?: LogBatch | undefined;
  /** Each hears of every call that has its answer. One that throws, or gives a promise that rejects, changes nothing. */
  readonly subscribers?: readonly ((event: ToolInvoked) => void)[];
  /** Left out: nobody counts for the pages of people on call. */
  readonly watch?: CallWatch | undefined;
};

/** Turns what the executor tells into metrics and log lines, and passes calls on. Nothing here can change a call. */
export const createCallObserver = (options: CallObserverOptions): CallObserver => {
  const { metrics, log, logBatch = createLogBatch(log), watch = null } = options;
  const guard = createObserverGuard(options);
  const series = createCallSeries(metrics, options.maxTools);
  const decisions = createDecisionSeries(metrics);
  const subscribers = (options.subscribers ?? []).map((subscriber) => guard(subscriber));
  const size = metrics.batchSize({});
  const overhead = metrics.batchOverhead({});
  const countViolation = guard(({ error, requestId }: { readonly error: unknown; readonly requestId: string }) => {
    metrics.contractViolations.count += 1;
    log.error({ request_id: requestId, causes: describeCauses(error) }, 'contract violated');
  });
  return {
    ...createSlotObserver(metrics),
    toolInvoked:
      subscribers.length === 0
        ? null
        : (event) => {
            for (const subscriber of subscribers) subscriber(event);
          },
    callAnswered: guard((tenant: string, tool: string, failure: Failure | null, durationMs: number) => {
      const { calls, ran, failures } = series.of(tool, failure?.code ?? null, failure?.outcome ?? 'success');
      calls.count += 1;
      // What did not run took no time.
      if (durationMs > 0) ran(durationMs / 1000);
      if (failures !== null) failures.count += 1;
      if (failure?.fatal) metrics.fatalFailures({ tool }).count += 1;
      watch?.answered(tenant, tool, failure, durationMs);
    }),
    callFailed: watch === null ? SILENT_OBSERVER.callFailed : guard(watch.failed),
    callRecovered: watch === null ? SILENT_OBSERVER.callRecovered : guard(watch.recovered),
    batchAnswered: guard((batch: BatchAnswered) => {
      size.observe(batch.calls);
      overhead.observe(Math.max(0, batch.durationMs - batch.slowestCallMs) / 1000);
      logBatch(batch);
      watch?.batch(batch);
    }),
    budgetDecided: guard(({ tool, decision, denial, mode }) => {
      decisions.of(tool, decision, mode).count += 1;
      if (denial === 'tool' || denial === 'session') metrics.budgetExhausted({ tool, scope: denial }).count += 1;
    }),
    toolsOffered: guard((tools: readonly OfferedTool[]) => series.offer(tools)),
    callAccepted: () => {
      metrics.callsAccepted.count += 1;
    },
    lateResult: (tool, ended) => {
      metrics.lateResults({ tool, ended }).count += 1;
    },
    deadlineOverrun: (tool) => {
      metrics.deadlineOverruns({ tool }).count += 1;
    },
    loopDetected: (tool) => {
      metrics.loopsDetected({ tool }).count += 1;
    },
    callChecked: (tool, would) => {
      metrics.dryRuns({ tool, would }).count += 1;
    },
    keyUsed: (result) => {
      metrics.keyUses[result].count += 1;
    },
    contractViolated: (error, requestId) => countViolation({ error, requestId }),
  };
};

type SlotEvents = 'callQueued' | 'callUnqueued' | 'callStarted' | 'callEnded' | 'shed';

const createSlotObserver = (metrics: Metrics): Pick<CallObserver, SlotEvents> => {
  const { callsQueued, callsInFlight, toolCallQueue, shed } = metrics;
  return {
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
  };
};

/**
 * Makes of something that watches calls something that cannot disturb them: one that throws, or gives a promise that
 * rejects, changes nothing. The log says so at once, and then every ten seconds at most.
 */
const createObserverGuard =
  ({ log, now }: Pick<CallObserverOptions, 'log' | 'now'>) =>
  <Told extends readonly unknown[]>(observe: (...told: Told) => unknown): ((...told: Told) => void) => {
    const line = createQuietLine({ write: (fields) => log.error(fields, 'observer failed'), now });
    const failed = (error: unknown): void => line(() => ({ causes: describeCauses(error) }));
    return (...told) => {
      try {
        const watching = observe(...told);
        if (watching instanceof Promise) watching.catch(failed);
      } catch (error) {
        failed(error);
      }
    };
  };

/** Series by three labels: once there, one is found without making a text. Kept under what `toKey` makes of the first label. */
const createLookup = <First, Second, Third, Series>(
  toKey: (first: First) => First,
  create: (first: First, second: Second, third: Third) => Series,
) => {
  const found = new Map<First, Map<Second, Map<Third, Series>>>();
  const find = (first: First, second: Second, third: Third) => found.get(first)?.get(second)?.get(third);
  // Calls of a batch, and batches, are often counted where the one before was.
  let last: { readonly first: First; readonly second: Second; readonly third: Third; readonly series: Series } | null =
    null;
  const look = (first: First, second: Second, third: Third): Series => {
    const series = find(first, second, third) ?? begin(first, second, third);
    last = { first, second, third, series };
    return series;
  };
  const begin = (first: First, second: Second, third: Third): Series => {
    const key = toKey(first);
    const series = find(key, second, third) ?? create(first, second, third);
    const ofFirst = found.get(key) ?? new Map<Second, Map<Third, Series>>();
    const ofSecond = ofFirst.get(second) ?? new Map<Third, Series>();
    found.set(key, ofFirst.set(second, ofSecond.set(third, series)));
    return series;
  };
  return {
    of: (first: First, second: Second, third: Third): Series =>
      last !== null && last.first === first && last.second === second && last.third === third
        ? last.series
        : look(first, second, third),
    forget: (first: First): void => {
      last = null;
      found.delete(first);
    },
  };
};

const createDecisionSeries = ({ budgetDecisions, toolNames }: Metrics) => {
  const lookup = createLookup<string, string, string, CountSeries>(toolNames.labelOf, (tool, decision, mode) =>
    budgetDecisions({ tool, decision, mode }),
  );
  toolNames.onForget(lookup.forget);
  return lookup;
};

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

/** The series of calls. `offer`: these tools are offered now; histograms name `maxTools` of them, first come first. */
const createCallSeries = (metrics: Metrics, maxTools: number) => {
  const { toolNames } = metrics;
  const timed = createTimedTools(maxTools);
  const create = (tool: string, code: ToolInvoked['code'], outcome: Outcome) => {
    const fault: Fault | 'none' = code === null ? 'none' : FAILURE_POLICY[code].fault;
    return {
      calls: metrics.toolCalls({ tool, outcome, code: code ?? 'ok', fault }),
      failures: code === null ? null : metrics.toolCallFailures({ tool, code, fault }),
      // The histogram begins with the first run: at 0 it would be 19 more series for every outcome.
      ran: createDuration(() => metrics.toolCallDuration({ tool: timed.labelOf(tool), outcome })),
    };
  };
  // Under its label: names that have no series of their own must not be remembered here either.
  const lookup = createLookup(toolNames.labelOfCalled, create);
  toolNames.onForget((tool) => {
    timed.forget(tool);
    lookup.forget(tool);
  });
  create('_unknown', 'unknown_tool', 'retry');
  const begin = ({ name: tool, effects }: OfferedTool): void => {
    if (effects === 'missing') {
      create(tool, 'tool_unavailable', 'refused');
      return;
    }
    timed.begin(tool);
    create(tool, null, 'success');
    metrics.toolCallDuration({ tool: timed.labelOf(tool), outcome: 'success' });
    for (const code of COMMON_CODES) {
      const outcome = FAILURE_POLICY[code].outcome[effects === 'write' ? 'write' : 'safe'];
      if (outcome !== 'success') create(tool, code, outcome);
    }
    metrics.loopsDetected({ tool });
    metrics.deadlineOverruns({ tool });
    metrics.circuitState({ tool });
  };
  return {
    of: lookup.of,
    offer: (tools: readonly OfferedTool[]): void => toolNames.offer(tools).forEach(begin),
  };
};

const createDuration = (create: () => TimeSeries): ((seconds: number) => void) => {
  let series: TimeSeries | undefined;
  return (seconds) => {
    series ??= create();
    series.observe(seconds);
  };
};

/** The tools that histograms name. What was decided of one holds until it is forgotten: its times stand in one place. */
const createTimedTools = (maxTools: number) => {
  const labels = new Map<string, string>();
  let named = 0;
  return {
    labelOf: (tool: string): string => labels.get(tool) ?? '_other',
    begin: (tool: string): void => {
      if (labels.has(tool)) return;
      const isNamed = named < maxTools;
      if (isNamed) named += 1;
      labels.set(tool, isNamed ? tool : '_other');
    },
    forget: (tool: string): void => {
      if (labels.get(tool) === tool) named -= 1;
      labels.delete(tool);
    },
  };
};

type Response = { readonly method: string; readonly route: string; readonly status: number; readonly seconds: number };

// Node knows some thirty more, and whoever sends them would make series of them.
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'DELETE']);

/** Counts and times every HTTP answer. `route` is a pattern of ours or `_unmatched`, never a path; a method that no route has is `_other`. */
export const createResponseObserver = ({ httpRequests, httpDuration }: Metrics): ((response: Response) => void) => {
  const lookup = createLookup(
    (route: string) => route,
    (route, method: string, status: number) => {
      const labels = { method, route, status_code: String(status) };
      return { requests: httpRequests(labels), duration: httpDuration(labels) };
    },
  );
  // From 0 on: a rate misses the first of a series that appears with it, and one 500 is one too many.
  for (const status_code of ['200', '500']) httpRequests({ method: 'POST', route: '/tool-calls', status_code });
  return ({ method, route, status, seconds }) => {
    const series = lookup.of(route, METHODS.has(method) ? method : '_other', status);
    series.requests.count += 1;
    series.duration.observe(seconds);
  };
};

const CIRCUIT_LEVELS = { closed: 0, half_open: 1, open: 2 } as const satisfies Record<CircuitState, number>;

/** A gauge of the circuits of each tool, the one it shares with its upstream's others among them, and one log line per change. */
export const createCircuitObserver = (options: {
  readonly metrics: Pick<Metrics, 'circuitState' | 'toolNames'>;
  readonly log: Logger;
  /** The tools whose calls go to the upstream of that name; none where it is no upstream's. */
  readonly toolsOf: (upstream: string) => readonly string[];
}): CircuitObserver => ({
  circuitChanged: (name, state) => {
    const { metrics, log, toolsOf } = options;
    const shared = toolsOf(name);
    const tools = shared.length === 0 ? [name] : shared;
    // Many circuits have no state in common: what has no series of its own is left out.
    for (const tool of tools.filter((one) => metrics.toolNames.labelOf(one) === one))
      metrics.circuitState({ tool }).count = CIRCUIT_LEVELS[state];
    const whose = shared.length === 0 ? { tool: name } : { upstream: name };
    log[state === 'open' ? 'warn' : 'info']({ ...whose, state }, 'circuit changed');
  },
});
