import { FAILURE_CODES, FAILURE_POLICY, type FailureCode, type Fault } from 'recourse-server/contract/failure';
import { isToolName } from 'recourse-server/contract/tool-names';
import type { FailureCount, HourFigures, MinuteFigures, ToolFigures } from '../contract/contract.ts';
import { BUCKETS, quantileOf } from './durations.ts';
import type { FailureRuns } from './failure-runs.ts';
import { NumberReader } from './minute-text.ts';
import { MINUTE_MS, MINUTES } from './tenant-hour.ts';

const MOST_TOOLS = 50;
const MOST_FAILURES = 50;
const NOW_MS = 5 * 60_000;

const FAILURES_AT = MINUTES;
const DURATIONS_AT = 2 * MINUTES;
const STRIDE = DURATIONS_AT + BUCKETS;

class ToolSum {
  readonly tool: string;
  calls = 0;
  failures = 0;
  /** Where its counts begin. */
  readonly from: number;
  readonly codes = new Map<string, number>();

  constructor(tool: string, from: number) {
    this.tool = tool;
    this.from = from;
  }
}

const add = (counts: Int32Array, at: number, count: number): void => {
  counts[at] = (counts[at] ?? 0) + count;
};

const isCode = (text: string): text is FailureCode => FAILURE_CODES.some((code) => code === text);

type Sign = 1 | -1;

/** Sums of minutes, of the tools that a caller may use. What was added is taken out by the same text, when it changes or is over. */
export class HourSums {
  readonly #mayUse: (tool: string) => boolean;
  readonly #tools = new Map<string, ToolSum>();
  /** By lists of names: the tool or code of each. */
  readonly #numbered = new WeakMap<readonly string[], (ToolSum | null)[]>();
  /** Of all tools in one array, for the sake of speed: calls by the minute modulo 60, failures likewise, durations. */
  #counts = new Int32Array(64 * STRIDE);
  readonly #callsBy = new Int32Array(MINUTES);
  readonly #failuresBy = new Int32Array(MINUTES);
  readonly #durationsBy = Array.from({ length: MINUTES }, () => new Int32Array(BUCKETS));

  constructor(mayUse: (tool: string) => boolean) {
    this.#mayUse = mayUse;
  }

  /** Adds a minute's text, or takes it out. `names` only grows. Of a damaged text what can be read is added, and taken out again. */
  add(minute: number, text: string, names: readonly string[], sign: Sign): void {
    const numbers = new NumberReader(text);
    const at = minute % MINUTES;
    const numbered = this.#numbered.get(names) ?? [];
    this.#numbered.set(names, numbered);
    while (!numbers.isOver) {
      const number = numbers.next();
      let sum = numbered[number];
      if (sum === undefined) sum = this.#open(number, names, numbered);
      const twice = numbers.next();
      const calls = sign * (twice >> 1);
      if (sum !== null) {
        sum.calls += calls;
        add(this.#counts, sum.from + at, calls);
        add(this.#callsBy, at, calls);
      }
      if ((twice & 1) === 1) this.#addFailures(sum, numbers, names, [at, sign]);
      this.#addDurations(sum, numbers, at, sign);
    }
  }

  #addFailures(sum: ToolSum | null, numbers: NumberReader, names: readonly string[], [at, sign]: [number, Sign]): void {
    for (let left = numbers.next(); left > 0 && !numbers.isOver; left -= 1) {
      const code = names[numbers.next()] ?? '';
      const count = sign * numbers.next();
      if (sum === null) continue;
      sum.failures += count;
      sum.codes.set(code, (sum.codes.get(code) ?? 0) + count);
      add(this.#counts, sum.from + FAILURES_AT + at, count);
      add(this.#failuresBy, at, count);
    }
  }

  #addDurations(sum: ToolSum | null, numbers: NumberReader, at: number, sign: Sign): void {
    const durations = this.#durationsBy[at];
    const counts = this.#counts;
    let left = numbers.next();
    let bucket = left > 0 ? numbers.next() : 0;
    while (left > 0 && !numbers.isOver) {
      const count = sign * numbers.next();
      if (count === 0) {
        bucket += numbers.next();
        continue;
      }
      if (sum !== null && durations !== undefined && bucket < BUCKETS) {
        add(counts, sum.from + DURATIONS_AT + bucket, count);
        add(durations, bucket, count);
      }
      bucket += 1;
      left -= 1;
    }
  }

  /** Gives a name's number the sums of its tool; null: the caller may not use it. */
  #open(number: number, names: readonly string[], numbered: (ToolSum | null)[]): ToolSum | null {
    const tool = names[number];
    // Such a number, or name, is in none but a damaged record.
    if (tool === undefined || !isToolName(tool)) return null;
    const sum = this.#tools.get(tool) ?? (this.#mayUse(tool) ? this.#create(tool) : null);
    numbered[number] = sum;
    return sum;
  }

  #create(tool: string): ToolSum {
    const sum = new ToolSum(tool, this.#tools.size * STRIDE);
    this.#tools.set(tool, sum);
    if (sum.from + STRIDE <= this.#counts.length) return sum;
    const larger = new Int32Array(2 * this.#counts.length);
    larger.set(this.#counts);
    this.#counts = larger;
    return sum;
  }

  /** The hour whose last minute is not over. */
  describe(minute: number, now: number, runs: FailureRuns): HourFigures {
    const first = minute - MINUTES + 1;
    const called = [...this.#tools.values()].filter(({ calls }) => calls > 0);
    const shown = called
      .toSorted((one, other) => other.failures - one.failures || other.calls - one.calls)
      .slice(0, MOST_TOOLS);
    const sumOf = (counts: Int32Array): number => counts.reduce((sum, count) => sum + count, 0);
    const calls = sumOf(this.#callsBy);
    return {
      minutes: Array.from({ length: MINUTES }, (_, place) => this.#describeMinute(first + place)),
      total: { calls, failures: sumOf(this.#failuresBy), ...describeDurations(addAll(this.#durationsBy)) },
      tools: shown.map((sum) => describeTool(sum, this.#counts.subarray(sum.from, sum.from + STRIDE), first)),
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
      ...describeDurations(this.#durationsBy[at] ?? new Int32Array()),
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

const addAll = (histograms: readonly Int32Array[]): Int32Array => {
  const sum = new Int32Array(BUCKETS);
  for (const histogram of histograms) for (const [bucket, count] of histogram.entries()) add(sum, bucket, count);
  return sum;
};

const describeDurations = (durations: Int32Array) => ({
  p50_ms: quantileOf(durations, 0.5),
  p95_ms: quantileOf(durations, 0.95),
});

const inOrder = (counts: Int32Array, first: number): number[] =>
  Array.from({ length: MINUTES }, (_, place) => counts[(first + place) % MINUTES] ?? 0);

const describeTool = ({ tool, calls, failures }: ToolSum, counts: Int32Array, first: number): ToolFigures => ({
  ...{ tool, calls, failures, ...describeDurations(counts.subarray(DURATIONS_AT)) },
  calls_by_minute: inOrder(counts, first),
  failures_by_minute: inOrder(counts.subarray(FAILURES_AT), first),
});
