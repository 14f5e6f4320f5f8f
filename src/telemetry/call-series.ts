import type { Effects, Fault, Outcome } from '../contract/failure.ts';
import { FAILURE_POLICY } from '../contract/failure.ts';
import type { ToolInvoked } from '../executor/call-observer.ts';
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

export type OfferedTool = { readonly name: string; readonly effects: Effects };

type CallSeries = {
  readonly calls: CountSeries;
  readonly failures: CountSeries | null;
  /** A handler ran for so long. Its histogram begins with the first: at 0 it would be 19 more series for every outcome. */
  readonly ran: (seconds: number) => void;
};

/** The series of calls, found without making labels each time. */
export type CallSeriesLookup = {
  readonly of: (call: Pick<ToolInvoked, 'tool' | 'code' | 'outcome'>) => CallSeries;
  /** The tool's series begin at 0; histograms name the first `maxTools` tools. */
  readonly initialise: (tool: OfferedTool) => void;
};

export const createCallSeriesLookup = (metrics: Metrics, maxTools: number): CallSeriesLookup => {
  const named = new Set<string>();
  const known = new Map<string, Map<string, CallSeries>>();
  createCallSeries(metrics, named, '_unknown', 'unknown_tool', 'retry');
  return {
    of: ({ tool, code, outcome }) => {
      const ofTool = known.get(tool) ?? new Map<string, CallSeries>();
      if (ofTool.size === 0) known.set(tool, ofTool);
      const key = code === null ? 'ok' : `${code} ${outcome}`;
      const found = ofTool.get(key);
      if (found !== undefined) return found;
      const made = createCallSeries(metrics, named, tool, code, outcome);
      ofTool.set(key, made);
      return made;
    },
    initialise: (tool) => {
      if (named.size < maxTools) named.add(tool.name);
      initialise(tool, metrics, named);
    },
  };
};

/** The series of a budget decision, found without making labels each time. */
export const createDecisionLookup = (metrics: Metrics) => {
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

const labelsOf = (tool: string, code: keyof typeof FAILURE_POLICY | null, outcome: Outcome) => {
  const fault: Fault | 'none' = code === null ? 'none' : FAILURE_POLICY[code].fault;
  return { tool, outcome, code: code ?? 'ok', fault };
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
    ran: createDuration(() => metrics.toolCallDuration({ tool: named.has(tool) ? tool : '_other', outcome })),
  };
};

const createDuration = (create: () => TimeSeries): CallSeries['ran'] => {
  let series: TimeSeries | undefined;
  return (seconds) => {
    series ??= create();
    series.observe(seconds);
  };
};

const initialise = ({ name, effects }: OfferedTool, metrics: Metrics, named: ReadonlySet<string>): void => {
  createCallSeries(metrics, named, name, null, 'success');
  metrics.toolCallDuration({ tool: named.has(name) ? name : '_other', outcome: 'success' });
  for (const code of COMMON_CODES) {
    const outcome = FAILURE_POLICY[code].outcome[effects === 'write' ? 'write' : 'safe'];
    if (outcome !== 'success') createCallSeries(metrics, named, name, code, outcome);
  }
  metrics.loopsDetected({ tool: name });
  metrics.deadlineOverruns({ tool: name });
  metrics.circuitState({ tool: name });
};
