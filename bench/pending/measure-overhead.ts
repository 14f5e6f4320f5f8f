import type { AskProcess } from '../ask-process.ts';
import type { Part } from '../part.ts';
import { endServers, type Server } from '../servers.ts';
import { LoadResult, type Spread } from './load-plan.ts';
import { type Manner, toWaitRequest } from './requests.ts';
import { startQueued } from './start-queued.ts';

/** One call at a time. Processor times are of one call, in microseconds; null where there is no such process. */
export type Overhead = {
  readonly title: string;
  readonly untilBegun: Spread;
  readonly sinceEnded: Spread;
  readonly micros: { readonly api: number; readonly worker: number | null; readonly redis: number | null };
};

const CALL_MS = 10;
const PACE = { whole: { warmUpMs: 6000, ms: 12_000 }, short: { warmUpMs: 2000, ms: 3000 } } as const;

type Case = {
  readonly title: string;
  readonly manner: Manner;
  readonly api: Server;
  readonly worker: Server | null;
  readonly redisPid: number | null;
};

/** What stands between a request and the begin of its handler where nothing else runs: called, queued, and queued in Redis. */
export const measureOverhead = async (part: Part, ask: AskProcess): Promise<readonly Overhead[]> => {
  const { surroundings, progress, options } = part;
  const redis = await surroundings.redisServers.start();
  const api = await startQueued(surroundings, { role: 'api', place: 'server', redisUrl: redis.url });
  const worker = await startQueued(surroundings, { role: 'worker', place: 'server', redisUrl: redis.url });
  const alone = await startQueued(surroundings, { role: 'all', place: 'server' });
  const cases: readonly Case[] = [
    { title: 'called directly', manner: 'direct', api, worker: null, redisPid: null },
    { title: 'queued in the process', manner: 'queued', api: alone, worker: null, redisPid: null },
    { title: 'queued in Redis', manner: 'queued', api, worker, redisPid: redis.pid },
  ];
  const figures: Overhead[] = [];
  const pace = PACE[options.isWhole ? 'whole' : 'short'];
  for (const one of cases) {
    const pids = [one.api.process.pid, ...(one.worker === null ? [] : [one.worker.process.pid, one.redisPid ?? 0])];
    const request = toWaitRequest(one.api.url, CALL_MS, one.manner);
    const plan = { url: one.api.url, request, connections: 1, pids, ...pace };
    const result = LoadResult.parse(await ask([one.api], plan, (pace.warmUpMs + pace.ms) / 1000));
    figures.push(toOverhead(one.title, result));
  }
  for (const figure of figures) progress(show(figure));
  await endServers([api, worker, alone]);
  await redis.stop();
  return figures;
};

const toOverhead = (title: string, { answers, untilBegun, sinceEnded, cpuNanos }: LoadResult): Overhead => {
  if (untilBegun === null || sinceEnded === null) throw new Error('A call does not say when it began.');
  const [api = 0, worker = null, redis = null] = cpuNanos.map((nanos) => nanos / answers / 1000);
  return { title, untilBegun, sinceEnded, micros: { api, worker, redis } };
};

const show = ({ title, untilBegun, sinceEnded, micros }: Overhead): string =>
  `${title}: begun after ${untilBegun.p50.toFixed(2)} ms (p99 ${untilBegun.p99.toFixed(2)}), answered ${sinceEnded.p50.toFixed(2)} ms after its end (p99 ${sinceEnded.p99.toFixed(2)}); µs of service ${micros.api.toFixed(0)}, worker ${micros.worker?.toFixed(0)}, Redis ${micros.redis?.toFixed(0)}`;
