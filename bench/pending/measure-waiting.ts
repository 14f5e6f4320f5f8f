import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
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
  /** What the service holds once garbage is collected. */
  readonly heldMb: number;
  /** By how much its resident set grew: with the garbage of the requests. */
  readonly residentMb: number;
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
  for (const { title, calls, heldMb, redisMb } of figures)
    part.progress(`${calls} calls wait ${title}: service ${heldMb.toFixed(1)} MB, Redis ${redisMb?.toFixed(1)} MB`);
  return figures;
};

const measureRedis = async ({ surroundings }: Part): Promise<Waiting> => {
  const redis = await surroundings.redisServers.start();
  const memory = openRedisMemory(redis.url);
  const api = await startQueued(surroundings, { role: 'api', place: 'server', redisUrl: redis.url });
  await accept(api, WARM_UP_CALLS);
  const [serviceBefore, redisBefore] = [await readMemory(api), await memory.usedBytes()];
  await accept(api, CALLS);
  const [serviceAfter, redisAfter] = [await readMemory(api), await memory.usedBytes()];
  memory.close();
  await endServers([api]);
  await redis.stop();
  return {
    title: 'in Redis',
    calls: CALLS,
    ...toGrowth(serviceBefore, serviceAfter),
    redisMb: (redisAfter - redisBefore) / BYTES_PER_MB,
  };
};

const measureProcess = async ({ surroundings }: Part): Promise<Waiting> => {
  // The calls of the warm-up have all slots; those that are counted wait.
  const service = await startQueued(surroundings, { role: 'all', place: 'server' });
  await accept(service, WARM_UP_CALLS);
  const before = await readMemory(service);
  await accept(service, CALLS);
  const after = await readMemory(service);
  await endServers([service]);
  return { title: 'in the process', calls: CALLS, ...toGrowth(before, after), redisMb: null };
};

const accept = async ({ url }: Server, calls: number): Promise<void> =>
  void (await acceptCalls({ url, batches: calls / CALLS_A_BATCH, calls: CALLS_A_BATCH, ms: CALL_MS }));

type Memory = { readonly heldMb: number; readonly residentMb: number };

const Held = z.object({ heldBytes: z.number() });

const readMemory = async ({ process: { child, pid } }: Server): Promise<Memory> => {
  await pause(SETTLE_MS);
  const told = once(child, 'message');
  child.send('memory');
  const [message]: unknown[] = await told;
  return { heldMb: Held.parse(message).heldBytes / BYTES_PER_MB, residentMb: readResidentMb(pid) };
};

const toGrowth = (before: Memory, after: Memory): Memory => ({
  heldMb: after.heldMb - before.heldMb,
  residentMb: after.residentMb - before.residentMb,
});
