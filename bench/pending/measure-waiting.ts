import { setTimeout as pause } from 'node:timers/promises';
import type { Part } from '../part.ts';
import { readResidentMb } from '../process-usage.ts';
import { endServers, type Server } from '../servers.ts';
import { openRedisMemory } from '../sessions/redis-memory.ts';
import { acceptCalls } from './accept-calls.ts';
import { startQueued } from './start-queued.ts';

/** By how much memory grew when so many calls were accepted and none of them ran, in MB of 10^6 bytes. */
export type Waiting = {
  readonly title: string;
  readonly calls: number;
  readonly serviceMb: number;
  readonly redisMb: number | null;
};

const CALLS = 10_000;
const CALLS_A_BATCH = 50;
const WARM_UP_CALLS = 2000;
const CALL_MS = 3_600_000;
const SETTLE_MS = 2000;
const BYTES_PER_MB = 1_000_000;

/** 10 000 calls wait, in Redis and in a process without it. */
export const measureWaiting = async (part: Part): Promise<readonly Waiting[]> => {
  const figures = [await measureRedis(part), await measureProcess(part)];
  for (const { title, calls, serviceMb, redisMb } of figures)
    part.progress(`${calls} calls wait ${title}: service ${serviceMb.toFixed(1)} MB, Redis ${redisMb?.toFixed(1)} MB`);
  return figures;
};

const measureRedis = async ({ surroundings }: Part): Promise<Waiting> => {
  const redis = await surroundings.redisServers.start();
  const memory = openRedisMemory(redis.url);
  const api = await startQueued(surroundings, { role: 'api', place: 'server', redisUrl: redis.url });
  await accept(api, WARM_UP_CALLS);
  const [serviceBefore, redisBefore] = [await settledMb(api), await memory.usedBytes()];
  await accept(api, CALLS);
  const [serviceAfter, redisAfter] = [await settledMb(api), await memory.usedBytes()];
  memory.close();
  await endServers([api]);
  await redis.stop();
  return {
    title: 'in Redis',
    calls: CALLS,
    serviceMb: serviceAfter - serviceBefore,
    redisMb: (redisAfter - redisBefore) / BYTES_PER_MB,
  };
};

const measureProcess = async ({ surroundings }: Part): Promise<Waiting> => {
  // The calls of the warm-up have all slots; those that are counted wait.
  const service = await startQueued(surroundings, { role: 'all', place: 'server' });
  await accept(service, WARM_UP_CALLS);
  const before = await settledMb(service);
  await accept(service, CALLS);
  const after = await settledMb(service);
  await endServers([service]);
  return { title: 'in the process', calls: CALLS, serviceMb: after - before, redisMb: null };
};

const accept = async ({ url }: Server, calls: number): Promise<void> =>
  void (await acceptCalls({ url, batches: calls / CALLS_A_BATCH, calls: CALLS_A_BATCH, ms: CALL_MS }));

const settledMb = async ({ process }: Server): Promise<number> => {
  await pause(SETTLE_MS);
  return readResidentMb(process.pid);
};
