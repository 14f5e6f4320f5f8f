import type { Fault, Outcome } from '../contract/failure.ts';
import { FAILURE_POLICY } from '../contract/failure.ts';
import type { ToolInvoked } from '../executor/call-observer.ts';
import type { Metrics } from './metrics.ts';
import type { CountSeries, TimeSeries } from './tally.ts';
import type { OfferedTool } from './tool-names.ts';

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

type CallSeries = {
  readonly calls: CountSeries;
  readonly failures: CountSeries | null;
  /** A handler ran for so long. Its histogram begins with the first: at 0 it would be 19 more series for every outcome. */
  readonly ran: (seconds: number) => void;
};

/** The series of calls, found without making labels each time. */
export type CallSeriesLookup = {
  readonly of: (call: Pick<ToolInvoked, 'tool' | 'code' | 'outcome'>) => CallSeries;
  /** The tools that are offered now: series of new ones begin at 0. Histograms name `maxTools` of them, first come first. */
  readonly offer: (tools: readonly OfferedTool[]) => void;
};

type SeriesOfTool = Map<ToolInvoked['code'], Map<Outcome, CallSeries>>;

export const createCallSeriesLookup = (metrics: Metrics, maxTools: number): CallSeriesLookup => {
  const { toolNames } = metrics;
  const timed = createTimedTools(maxTools);
  // By tool, code and outcome: a lookup makes no text.
  const known = new Map<string, SeriesOfTool>();
  toolNames.onForget((tool) => {
    timed.forget(tool);
    known.delete(tool);
  });
  createCallSeries(metrics, timed, '_unknown', 'unknown_tool', 'retry');
  const seriesOfTool = (tool: string): SeriesOfTool => {
    // Under its label: names that have no series of their own must not be remembered here either.
    const label = toolNames.labelOfCalled(tool);
    const ofTool: SeriesOfTool = known.get(label) ?? new Map();
    known.set(label, ofTool);
    return ofTool;
  };
  return {
    of: ({ tool, code, outcome }) => {
      const ofTool = known.get(tool) ?? seriesOfTool(tool);
      const found = ofTool.get(code)?.get(outcome);
      if (found !== undefined) return found;
      const made = createCallSeries(metrics, timed, tool, code, outcome);
      const ofCode = ofTool.get(code) ?? new Map<Outcome, CallSeries>();
      ofTool.set(code, ofCode.set(outcome, made));
      return made;
    },
    offer: (tools) => {
      for (const tool of toolNames.offer(tools)) {
        timed.begin(tool.name);
        initialise(tool, metrics, timed);
      }
    },
  };
};

/** The tools that histograms name. What was decided of one holds until it is forgotten: its times stand in one place. */
const createTimedTools = (maxTools: number) => {
  const decided = new Map<string, string>();
  let named = 0;
  return {
    labelOf: (tool: string): string => decided.get(tool) ?? '_other',
    begin: (tool: string): void => {
      if (decided.has(tool)) return;
      const isNamed = named < maxTools;
      if (isNamed) named += 1;
      decided.set(tool, isNamed ? tool : '_other');
    },
    forget: (tool: string): void => {
      if (decided.get(tool) === tool) named -= 1;
      decided.delete(tool);
    },
  };
};

type TimedTools = Pick<ReturnType<typeof createTimedTools>, 'labelOf'>;

/** The series of a budget decision, found without making labels each time. */
export const createDecisionLookup = (metrics: Metrics) => {
  // By tool, decision and mode: a lookup makes no text.
  const known = new Map<string, Map<string, Map<string, CountSeries>>>();
  metrics.toolNames.onForget((tool) => known.delete(tool));
  const begin = (tool: string, decision: string, mode: string): CountSeries => {
    const series = metrics.budgetDecisions({ tool, decision, mode });
    const label = metrics.toolNames.labelOf(tool);
    const ofTool = known.get(label) ?? new Map<string, Map<string, CountSeries>>();
    const ofDecision = ofTool.get(decision) ?? new Map<string, CountSeries>();
    known.set(label, ofTool.set(decision, ofDecision.set(mode, series)));
    return series;
  };
  return (tool: string, decision: string, mode: string): CountSeries =>
    known.get(tool)?.get(decision)?.get(mode) ?? begin(tool, decision, mode);
};

const labelsOf = (tool: string, code: keyof typeof FAILURE_POLICY | null, outcome: Outcome) => {
  const fault: Fault | 'none' = code === null ? 'none' : FAILURE_POLICY[code].fault;
  return { tool, outcome, code: code ?? 'ok', fault };
};

const createCallSeries = (
  metrics: Metrics,
  timed: TimedTools,
  tool: string,
  code: ToolInvoked['code'],
  outcome: Outcome,
): CallSeries => {
  const { fault, ...labels } = labelsOf(tool, code, outcome);
  return {
    calls: metrics.toolCalls({ ...labels, fault }),
    failures: code === null ? null : metrics.toolCallFailures({ tool, code, fault }),
    ran: createDuration(() => metrics.toolCallDuration({ tool: timed.labelOf(tool), outcome })),
  };
};

const createDuration = (create: () => TimeSeries): CallSeries['ran'] => {
  let series: TimeSeries | undefined;
  return (seconds) => {
    series ??= create();
    series.observe(seconds);
  };
};

const initialise = ({ name, effects }: OfferedTool, metrics: Metrics, timed: TimedTools): void => {
  createCallSeries(metrics, timed, name, null, 'success');
  metrics.toolCallDuration({ tool: timed.labelOf(name), outcome: 'success' });
  for (const code of COMMON_CODES) {
    const outcome = FAILURE_POLICY[code].outcome[effects === 'write' ? 'write' : 'safe'];
    if (outcome !== 'success') createCallSeries(metrics, timed, name, code, outcome);
  }
  metrics.loopsDetected({ tool: name });
  metrics.deadlineOverruns({ tool: name });
  metrics.circuitState({ tool: name });
};
