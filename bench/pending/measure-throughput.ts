import type { AskProcess } from '../ask-process.ts';
import type { Part } from '../part.ts';
import { endServers, type Server } from '../servers.ts';
import { LoadResult, type Spread } from './load-plan.ts';
import { toWaitRequest } from './requests.ts';
import { CONCURRENCY, startQueued } from './start-queued.ts';

/** So many workers at full load. Processor times are of one call, in microseconds. */
export type Throughput = {
  readonly workers: number;
  readonly callsPerSecond: number;
  /** What the workers could do if nothing but the calls took time. */
  readonly idealPerSecond: number;
  /** Calls that were refused because Redis was late. */
  readonly away: number;
  readonly took: Spread;
  readonly micros: { readonly api: number; readonly workers: number; readonly redis: number };
};

export const CALL_MS = 100;
const WORKERS = [1, 2, 3] as const;
// As many calls wait as run: a worker never runs out of them.
const WAITING_SHARE = 2;
const PACE = { whole: { warmUpMs: 4000, ms: 8000 }, short: { warmUpMs: 2000, ms: 3000 } } as const;

/** Calls of 100 ms by a growing number of workers: these on the servers' core, the service that accepts on the load's. */
export const measureThroughput = async (part: Part, ask: AskProcess): Promise<readonly Throughput[]> => {
  const { surroundings, progress, options } = part;
  const redis = await surroundings.redisServers.start();
  const api = await startQueued(surroundings, { role: 'api', place: 'load', redisUrl: redis.url });
  const workers: Server[] = [];
  const figures: Throughput[] = [];
  for (const count of WORKERS) {
    workers.push(await startQueued(surroundings, { role: 'worker', place: 'server', redisUrl: redis.url }));
    const pace = PACE[options.isWhole ? 'whole' : 'short'];
    const plan = {
      url: api.url,
      request: toWaitRequest(api.url, CALL_MS, 'queued'),
      connections: WAITING_SHARE * CONCURRENCY * count,
      pids: [api.process.pid, redis.pid, ...workers.map(({ process }) => process.pid)],
      ...pace,
    };
    const result = LoadResult.parse(await ask([api, ...workers], plan, (pace.warmUpMs + pace.ms) / 1000));
    const one = toThroughput(count, result);
    progress(show(one));
    figures.push(one);
  }
  await endServers([api, ...workers]);
  await redis.stop();
  return figures;
};

const toThroughput = (workers: number, { answers, ms, took, away, cpuNanos }: LoadResult): Throughput => {
  const [api = 0, redis = 0, ...ofWorkers] = cpuNanos.map((nanos) => nanos / answers / 1000);
  return {
    workers,
    callsPerSecond: (answers * 1000) / ms,
    idealPerSecond: (workers * CONCURRENCY * 1000) / CALL_MS,
    took,
    away,
    micros: { api, redis, workers: ofWorkers.reduce((sum, one) => sum + one, 0) },
  };
};

const show = ({ workers, callsPerSecond, idealPerSecond, micros }: Throughput): string =>
  [
    `${workers} workers: ${callsPerSecond.toFixed(0)} of ${idealPerSecond} calls/s`,
    `a call takes ${micros.api.toFixed(0)} µs of the service, ${micros.workers.toFixed(0)} of workers, ${micros.redis.toFixed(0)} of Redis`,
  ].join('; ');
