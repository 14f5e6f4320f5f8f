import { startAsking } from './ask-process.ts';
import { type LoadRequest, LoadResult } from './load-plan.ts';
import { readCpuSeconds } from './process-usage.ts';
import type { Server, Surroundings } from './servers.ts';

/** One run against one server. */
export type Run = {
  readonly batchesPerSecond: number;
  /** Processor time of the server, all threads, for one batch. Other work on the machine hardly changes it. */
  readonly cpuMicrosPerBatch: number;
  /** Share of the run in which the server had its core. Well below 1: the load was too slow, or others had the core. */
  readonly busy: number;
  readonly p50: number;
  readonly p99: number;
} & Warned;

/** How many answers carried a warning, and one of these. */
export type Warned = { readonly warned: number; readonly warning: string };

export type MeasureLoad = (server: Server, plan: Omit<LoadRequest, 'url'>) => Promise<Run>;

const MICROS_PER_SECOND = 1_000_000;

/** Starts the load generator on the load core; it serves for all runs, so that it is warm. */
export const startLoad = (surroundings: Surroundings): MeasureLoad => {
  const ask = startAsking('send-load.ts', surroundings);
  return async (server, plan) => {
    const before = readCpuSeconds(server.process.pid);
    const message = await ask(server, { ...plan, url: server.url } satisfies LoadRequest, plan.seconds);
    const cpuSeconds = readCpuSeconds(server.process.pid) - before;
    return toRun(LoadResult.parse(message), cpuSeconds);
  };
};

const toRun = (
  { answers, failures, told, warned, warning, seconds, p50, p99 }: LoadResult,
  cpuSeconds: number,
): Run => {
  if (failures > 0 || answers === 0)
    throw new Error(`A run failed: ${answers} answers with 200, and ${failures} others, errors and time-outs: ${told}`);
  return {
    batchesPerSecond: answers / seconds,
    cpuMicrosPerBatch: (cpuSeconds / answers) * MICROS_PER_SECOND,
    busy: cpuSeconds / seconds,
    p50,
    p99,
    warned,
    warning,
  };
};

/** Throws where an answer carried a warning: what the load sends gives no reason for one. Gives the run. */
export const withoutWarnings = <T extends Warned>(run: T): T => {
  if (run.warned === 0) return run;
  throw new Error(`${run.warned} answers of a run carried a warning, and none should: ${run.warning}`);
};
