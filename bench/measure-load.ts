import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Cores, onCore } from './cores.ts';
import { type LoadPlan, LoadResult } from './load-plan.ts';
import { readCpuSeconds } from './process-usage.ts';
import type { Processes } from './processes.ts';
import type { Server } from './servers.ts';

/** One run against one server. */
export type Run = {
  readonly batchesPerSecond: number;
  /** Processor time of the server, all threads, for one batch. Other work on the machine hardly changes it. */
  readonly cpuMicrosPerBatch: number;
  /** Share of the run in which the server had its core. Well below 1: the load was too slow, or others had the core. */
  readonly busy: number;
  readonly p50: number;
  readonly p99: number;
};

export type MeasureLoad = (server: Server, plan: Omit<LoadPlan, 'url'>) => Promise<Run>;

const MICROS_PER_SECOND = 1_000_000;
// A run that has not ended this long after its time is stuck.
const OVERTIME_MS = 30_000;

/** Starts the load generator on the load core; it serves for all runs, so that it is warm. */
export const startLoad = (cores: Cores, processes: Processes, path: string): MeasureLoad => {
  const script = fileURLToPath(new URL('send-load.ts', import.meta.url));
  const words = onCore(cores.pinned ? cores.load : null, [process.execPath, script]);
  const load = processes.start({ words, environment: { PATH: path }, output: 'ignore', channel: 'ipc' });
  return async (server, plan) => {
    const signal = AbortSignal.timeout(plan.seconds * 1000 + OVERTIME_MS);
    const before = readCpuSeconds(server.process.pid);
    load.child.send({ ...plan, url: server.url } satisfies LoadPlan);
    const answered = once(load.child, 'message', { signal });
    const [message]: unknown[] = await Promise.race([answered, load.failure, server.process.failure]);
    const cpuSeconds = readCpuSeconds(server.process.pid) - before;
    return toRun(LoadResult.parse(message), cpuSeconds);
  };
};

const toRun = ({ answers, failures, seconds, p50, p99 }: LoadResult, cpuSeconds: number): Run => {
  if (failures > 0 || answers === 0)
    throw new Error(`A run failed: ${answers} answers with 200, and ${failures} others, errors and time-outs.`);
  return {
    batchesPerSecond: answers / seconds,
    cpuMicrosPerBatch: (cpuSeconds / answers) * MICROS_PER_SECOND,
    busy: cpuSeconds / seconds,
    p50,
    p99,
  };
};
