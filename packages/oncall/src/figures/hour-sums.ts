import { FAILURE_CODES, FAILURE_POLICY, type FailureCode, type Fault } from 'recourse-server/contract/failure';
import type { FailureCount, HourFigures, MinuteFigures, ToolFigures } from '../contract.ts';
import { BUCKETS, quantileOf } from './durations.ts';
import type { FailureRuns } from './failure-runs.ts';
import { readMinute } from './minute-text.ts';
import { MINUTE_MS, MINUTES } from './tenant-hour.ts';

const MOST_TOOLS = 50;
const MOST_FAILURES = 50;
const NOW_MS = 5 * 60_000;

class ToolSum {
  readonly tool: string;
  calls = 0;
  failures = 0;
  // By the minute modulo 60.
  readonly callsBy = new Float64Array(MINUTES);
  readonly failuresBy = new Float64Array(MINUTES);
  readonly durations = new Float64Array(BUCKETS);
  readonly codes = new Map<string, number>();

  constructor(tool: string) {
    this.tool = tool;
  }
}

const add = (counts: Float64Array, at: number, count: number): void => {
  counts[at] = (counts[at] ?? 0) + count;
};

const isCode = (text: string): text is FailureCode => FAILURE_CODES.some((code) => code === text);

/** Sums of minutes, of the tools that a caller may use. What was added is taken out by the same text, when it changes or is over. */
export class HourSums {
  readonly #mayUse: (tool: string) => boolean;
  readonly #tools = new Map<string, ToolSum>();
  readonly #callsBy = new Float64Array(MINUTES);
  readonly #failuresBy = new Float64Array(MINUTES);
  readonly #durationsBy = Array.from({ length: MINUTES }, () => new Float64Array(BUCKETS));
  readonly #durations = new Float64Array(BUCKETS);

  constructor(mayUse: (tool: string) => boolean) {
    this.#mayUse = mayUse;
  }

  /** Adds a minute's text once, or takes it out: `sign` is 1 or -1. `names`: as many as there were when it was added. */
  add(minute: number, text: string, names: readonly string[], sign: 1 | -1): void {
    const at = minute % MINUTES;
    const durations = this.#durationsBy[at] ?? this.#durations;
    let sum: ToolSum | null = null;
    readMinute(text, {
      tool: (number, calls) => {
        sum = this.#find(names[number]);
        if (sum === null) return;
        sum.calls += sign * calls;
        add(sum.callsBy, at, sign * calls);
        add(this.#callsBy, at, sign * calls);
      },
      failed: (number, counted) => {
        const code = names[number];
        if (sum === null || code === undefined || !isCode(code)) return;
        const count = sign * counted;
        sum.failures += count;
        sum.codes.set(code, (sum.codes.get(code) ?? 0) + count);
        add(sum.failuresBy, at, count);
        add(this.#failuresBy, at, count);
      },
      ran: (bucket, counted) => {
        if (sum === null || bucket >= BUCKETS) return;
        const count = sign * counted;
        add(sum.durations, bucket, count);
        add(durations, bucket, count);
        add(this.#durations, bucket, count);
      },
    });
  }

  #find(tool: string | undefined): ToolSum | null {
    if (tool === undefined) return null;
    const known = this.#tools.get(tool);
    if (known !== undefined) return known;
    if (!this.#mayUse(tool)) return null;
    const sum = new ToolSum(tool);
    this.#tools.set(tool, sum);
    return sum;
  }

  /** The hour whose last minute is not over. */
  describe(minute: number, now: number, runs: FailureRuns): HourFigures {
    const first = minute - MINUTES + 1;
    const called = [...this.#tools.values()].filter(({ calls }) => calls > 0);
    const shown = called
      .toSorted((one, other) => other.failures - one.failures || other.calls - one.calls)
      .slice(0, MOST_TOOLS);
    const sumOf = (counts: Float64Array): number => counts.reduce((sum, count) => sum + count, 0);
    const calls = sumOf(this.#callsBy);
    return {
      minutes: Array.from({ length: MINUTES }, (_, place) => this.#describeMinute(first + place)),
      total: { calls, failures: sumOf(this.#failuresBy), ...describeDurations(this.#durations) },
      tools: shown.map((sum) => describeTool(sum, first)),
      more_tools: called.length - shown.length,
      failures: this.#describeRuns(runs, now),
      faults: this.#countFaults(called),
    };
  }

  #describeMinute(minute: number): MinuteFigures {
    const at = minute % MINUTES;
    return {
      at: new Date(minute * MINUTE_MS).toISOString(),
      calls: this.#callsBy[at] ?? 0,
      failures: this.#failuresBy[at] ?? 0,
      ...describeDurations(this.#durationsBy[at] ?? this.#durations),
    };
  }

  #describeRuns(runs: FailureRuns, now: number): FailureCount[] {
    const described = runs.list().flatMap(({ tool, code, since, last, message, reference }) => {
      const failures = this.#tools.get(tool)?.codes.get(code) ?? 0;
      if (failures === 0 || !isCode(code)) return [];
      const times = { since: new Date(since).toISOString(), last_at: new Date(last).toISOString() };
      const { fault } = FAILURE_POLICY[code];
      return [{ tool, code, fault, failures, ...times, is_now: now - last < NOW_MS, message, reference }];
    });
    return described
      .toSorted((one, other) => Number(other.is_now) - Number(one.is_now) || other.failures - one.failures)
      .slice(0, MOST_FAILURES);
  }

  #countFaults(called: readonly ToolSum[]): Record<string, number> {
    const faults = new Map<Fault, number>();
    for (const { codes } of called)
      for (const [code, count] of codes) {
        if (count === 0 || !isCode(code)) continue;
        const { fault } = FAILURE_POLICY[code];
        faults.set(fault, (faults.get(fault) ?? 0) + count);
      }
    return Object.fromEntries(faults);
  }
}

const describeDurations = (durations: Float64Array) => ({
  p50_ms: quantileOf(durations, 0.5),
  p95_ms: quantileOf(durations, 0.95),
});

const inOrder = (counts: Float64Array, first: number): number[] =>
  Array.from({ length: MINUTES }, (_, place) => counts[(first + place) % MINUTES] ?? 0);

const describeTool = (sum: ToolSum, first: number): ToolFigures => ({
  tool: sum.tool,
  calls: sum.calls,
  failures: sum.failures,
  ...describeDurations(sum.durations),
  calls_by_minute: inOrder(sum.callsBy, first),
  failures_by_minute: inOrder(sum.failuresBy, first),
});
