import { readdirSync, readFileSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { LoadSample } from '../queue/load-gate.ts';
import type { Metrics } from './metrics.ts';

type LoadSampler = {
  /** The 99th percentile of how late the event loop was in the last ten seconds, in milliseconds; null before the first look. */
  readonly lagMs: () => number | null;
  readonly stop: () => void;
};

type LoadSamplerOptions = {
  readonly metrics: Pick<Metrics, 'eventLoopLag' | 'eventLoopUtilization'>;
  readonly onSample: (sample: LoadSample) => void;
};

const INTERVAL_MS = 100;
// A lag must still be there when the next scrape comes, and not for ever.
const MAX_INTERVALS = 100;
// The gauge is the mean of about the last twenty intervals: one alone says little to whoever looks every 15 s.
const GAUGE_WEIGHT = 0.05;

/** Measures every 100 ms how the process does, and keeps it from ending no longer than anything else does. */
export const startLoadSampler = ({ metrics, onSample }: LoadSamplerOptions): LoadSampler => {
  const memoryLimit = findMemoryLimit();
  const fileLimit = findFileLimit();
  const longest = createRecentMaximum();
  const lags: number[] = [];
  let measuredAt = performance.now();
  let utilized = performance.eventLoopUtilization();
  let smoothed = 0;
  const measure = (): void => {
    const moment = performance.now();
    const lagMs = Math.max(0, moment - measuredAt - INTERVAL_MS);
    measuredAt = moment;
    const { utilization, total } = readUtilization(utilized);
    utilized = total;
    smoothed += (utilization - smoothed) * GAUGE_WEIGHT;
    lags.push(lagMs);
    if (lags.length > MAX_INTERVALS) lags.shift();
    metrics.eventLoopLag.set(longest(lagMs) / 1000);
    metrics.eventLoopUtilization.set(smoothed);
    onSample({ lagMs, utilization, memory: readMemory(memoryLimit), files: countOpenFiles() / fileLimit });
  };
  const timer = setInterval(measure, INTERVAL_MS).unref();
  return {
    lagMs: () => lags.toSorted((one, other) => one - other)[Math.ceil(lags.length * 0.99) - 1] ?? null,
    stop: () => clearInterval(timer),
  };
};

// Since the process began it is an average that knows nothing of the last minute: only differences count.
const readUtilization = (
  before: EventLoopUtilization,
): { readonly utilization: number; readonly total: EventLoopUtilization } => {
  const total = performance.eventLoopUtilization();
  return { utilization: performance.eventLoopUtilization(total, before).utilization, total };
};

/** Bytes the system gives the process: the limit of its control group, else the memory of the machine. */
const findMemoryLimit = (): number => {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
};

const readMemory = (memoryLimit: number): number => {
  const { used_heap_size: usedHeap, heap_size_limit: heapLimit } = getHeapStatistics();
  return Math.max(usedHeap / heapLimit, readResidentMemory() / memoryLimit);
};

/** The largest of the last one to two times KEPT_INTERVALS values. */
const createRecentMaximum = (): ((value: number) => number) => {
  let earlier = 0;
  let current = 0;
  let count = 0;
  return (value) => {
    if (count === MAX_INTERVALS) {
      earlier = current;
      current = 0;
      count = 0;
    }
    count += 1;
    current = Math.max(current, value);
    return Math.max(earlier, current);
  };
};

/** Memory of this process that is in RAM, in bytes; 0 where the system does not tell (Linux without /proc). */
const readResidentMemory = (): number => {
  try {
    return process.memoryUsage.rss();
  } catch (_unknown) {
    return 0;
  }
};

/** How many file descriptors the process may have (RLIMIT_NOFILE); Infinity where the system does not tell. */
export const findFileLimit = (): number => {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch (_noProc) {
    return Number.POSITIVE_INFINITY;
  }
};

/** Descriptors that are open now; 0 where the system does not tell. The size of the directory is their number from Linux 6.2 on. */
const countOpenFiles = (): number => {
  try {
    return statSync('/proc/self/fd').size || readdirSync('/proc/self/fd').length;
  } catch (_noProc) {
    return 0;
  }
};
