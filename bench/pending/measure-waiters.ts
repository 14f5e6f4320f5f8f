import { setTimeout as pause } from 'node:timers/promises';
import { type AskProcess, startAsking } from '../ask-process.ts';
import type { Part } from '../part.ts';
import { readResidentMb } from '../process-usage.ts';
import { endServers, type Server } from '../servers.ts';
import { readCpuNanos } from '../slices/processor-time.ts';
import { acceptCalls } from './accept-calls.ts';
import { type HoldPlan, HoldResult } from './hold-plan.ts';
import { LoadResult, type Spread } from './load-plan.ts';
import { toEchoRequest } from './requests.ts';
import { startQueued } from './start-queued.ts';

/** What the service is like with and without those who wait. */
export type OthersState = {
  readonly title: string;
  readonly took: Spread;
  /** Share of a core that the service and Redis use while nobody calls anything. */
  readonly idleShare: { readonly service: number; readonly redis: number };
  readonly residentMb: number;
};

export type Waiters = {
  readonly polls: number;
  readonly streams: number;
  readonly before: OthersState;
  readonly beside: OthersState;
  readonly held: HoldResult;
};

const POLLS = 5000;
const STREAMS = 1000;
const CALL_MS = 3_600_000;
const SETTLE_MS = 3000;
const PACE = { whole: { idleMs: 10_000, ms: 15_000 }, short: { idleMs: 3000, ms: 4000 } } as const;
// A hundred calls a second at most, one after the other: the caller measures how long others have to wait, not a peak.
const PAUSE_MS = 10;

type Terms = { readonly part: Part; readonly ask: AskProcess; readonly service: Server; readonly redisPid: number };

/** 5 000 long polls and 1 000 streams at once, each of a batch of its own that waits in Redis, and one caller beside them. */
export const measureWaiters = async (part: Part, ask: AskProcess): Promise<Waiters> => {
  const { surroundings, progress } = part;
  const redis = await surroundings.redisServers.start();
  const service = await startQueued(surroundings, { role: 'api', place: 'server', redisUrl: redis.url });
  const terms = { part, ask, service, redisPid: redis.pid };
  const ids = await acceptCalls({ url: service.url, batches: POLLS + STREAMS, calls: 1, ms: CALL_MS });
  const before = await measureOthers(terms, 'nobody waits');
  const hold = startAsking('pending/hold-waiters.ts', surroundings);
  const askHold = async (plan: HoldPlan, seconds: number): Promise<HoldResult> =>
    HoldResult.parse(await hold([service], plan, seconds));
  const [polls, streams] = [ids.slice(0, POLLS), ids.slice(POLLS)];
  const opened = await askHold({ kind: 'open', url: service.url, polls, streams }, 60);
  progress(`those who wait: ${JSON.stringify(opened)}`);
  const beside = await measureOthers(terms, 'all wait');
  const held = await askHold({ kind: 'count' }, 1);
  progress(`of those who wait: ${JSON.stringify(held)}`);
  await endServers([service]);
  await redis.stop();
  return { polls: POLLS, streams: STREAMS, before, beside, held };
};

const measureOthers = async ({ part, ask, service, redisPid }: Terms, title: string): Promise<OthersState> => {
  const { idleMs, ms } = PACE[part.options.isWhole ? 'whole' : 'short'];
  await pause(SETTLE_MS);
  const pids = [service.process.pid, redisPid];
  const request = toEchoRequest(service.url);
  const plan = { url: service.url, request, connections: 1, pauseMs: PAUSE_MS, warmUpMs: 2000, ms, pids };
  const { took } = LoadResult.parse(await ask([service], plan, (2000 + ms) / 1000));
  const before = pids.map(readCpuNanos);
  await pause(idleMs);
  const [ofService = 0, ofRedis = 0] = pids.map((pid, place) => {
    const nanos = readCpuNanos(pid) - (before[place] ?? 0);
    return nanos / (idleMs * NANOS_PER_MS);
  });
  const state = {
    title,
    took,
    idleShare: { service: ofService, redis: ofRedis },
    residentMb: readResidentMb(service.process.pid),
  };
  part.progress(show(state));
  return state;
};

const NANOS_PER_MS = 1_000_000;

const show = ({ title, took, idleShare, residentMb }: OthersState): string =>
  `${title}: another call takes ${took.p50.toFixed(2)} ms (p99 ${took.p99.toFixed(2)}, most ${took.most.toFixed(1)}); idle, the service uses ${(idleShare.service * 100).toFixed(1)} % of a core and Redis ${(idleShare.redis * 100).toFixed(1)} %; ${residentMb.toFixed(0)} MB`;
