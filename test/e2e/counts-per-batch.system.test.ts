import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { ROOT, type RunningProcess, startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { openLane } from '../../bench/slices/open-lane.ts';
import { type LaneLoad, LanePlan } from '../../bench/slices/slice-plan.ts';

// What a batch costs in numbers that are the same on every machine, however busy: they change only with the code. A change that costs
// more raises its number here and says what that buys; one that saves lowers it.

/** Batches that are measured, and bytes of V8's heap for each. */
const ALLOCATIONS = [
  ['1 call', { calls: 1 }, 20_000, 16_900],
  ['1 call of a session', { calls: 1, sessions: 256 }, 20_000, 22_000],
  ['32 calls', { calls: 32 }, 5000, 121_700],
  ['32 calls of a session', { calls: 32, sessions: 256 }, 5000, 151_500],
] as const satisfies readonly (readonly [string, LaneLoad, number, number])[];
// Compiled code allocates less, and compiler threads are done with it some batches sooner or later: 1.2 % on a machine with four other
// programs that compute.
const ALLOCATIONS_MAY_VARY = 0.05;

/** Commands that Redis runs for one batch of a session, however many calls it has, and of one with a key; those of scripts included. */
const OF_A_SESSION = { evalsha: 2, hmget: 2, hset: 2, ltrim: 1, pexpire: 3, rpush: 1, time: 2 };
const WITH_A_KEY = { del: 2, evalsha: 2, hmget: 3, hset: 3, pexpire: 3, time: 2 };
const COMMANDS = [
  ['1 call', { calls: 1 }, {}],
  ['1 call of a session', { calls: 1, sessions: 256 }, OF_A_SESSION],
  ['32 calls of a session', { calls: 32, sessions: 256 }, OF_A_SESSION],
  ['1 call with an Idempotency-Key', { calls: 1, key: 'fresh' }, WITH_A_KEY],
] as const satisfies readonly (readonly [string, LaneLoad, Readonly<Record<string, number>>])[];

const SLOW_MS = timeLimit(120_000);
const CONNECTIONS = 16;

const openTestLane = async ({ url, pid }: RunningProcess, load: LaneLoad) => {
  const lane = await openLane(LanePlan.parse({ ...load, url: `${url}/tool-calls`, pid }), 1);
  onTestFinished(lane.close);
  return lane;
};

/** Starts a service that tells how many bytes it has allocated so far, and how many came to V8's old generation. */
const startTelling = async (environment: Readonly<Record<string, string>> = {}) => {
  const teller = pathToFileURL(join(ROOT, 'test/support/tell-allocations.ts')).href;
  const service = await startProcess({
    by: 'node',
    environment: { NODE_OPTIONS: `--import=${teller}`, ...environment },
  });
  let asked = 0;
  const tell = async () => {
    asked += 1;
    service.send('SIGUSR2', 'service');
    const line = await service.logged(`allocated ${asked}`);
    return { bytes: Number(line['bytes']), old: Number(line['old']) };
  };
  return { service, tell };
};

test.each(ALLOCATIONS)('a batch of %s allocates as many bytes as before', { timeout: SLOW_MS }, async (...row) => {
  const [, load, batches, expected] = row;
  const { service, tell } = await startTelling();
  const lane = await openTestLane(service, { ...load, connections: CONNECTIONS });
  const most = expected * (1 + ALLOCATIONS_MAY_VARY);
  await lane.drive({ answers: batches });
  let bytes = Number.POSITIVE_INFINITY;
  // Where other programs compute, compiler threads may need more windows.
  for (let windows = 0; windows < 10 && bytes > most; windows += 1) {
    const before = await tell();
    await lane.drive({ answers: batches });
    bytes = Math.round(((await tell()).bytes - before.bytes) / batches);
  }
  const says = `bytes a batch: put ${bytes} in place of ${expected} if the change is meant`;
  expect(bytes, says).toBeGreaterThan(expected * (1 - ALLOCATIONS_MAY_VARY));
  expect(bytes, says).toBeLessThanOrEqual(most);
});

// What a session keeps of a batch is 1.1 KB. A batch that V8 allocates old has 10 KB.
const MOST_OLD_BYTES = 5000;
const BURST = { connections: 1000, batches: 40_000 } as const;

test('requests are young again after a burst', { timeout: SLOW_MS }, async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const { service, tell } = await startTelling({ REDIS_URL: server.url });
  const load = { calls: 1, sessions: 1024 } as const;
  const burst = await openTestLane(service, { ...load, connections: BURST.connections });
  await burst.drive({ answers: BURST.batches });
  burst.close();
  const lane = await openTestLane(service, { ...load, connections: CONNECTIONS });
  await lane.drive({ answers: BURST.batches });
  const before = await tell();
  await lane.drive({ answers: BURST.batches });
  const old = Math.round(((await tell()).old - before.old) / BURST.batches);
  expect(old, 'bytes of a batch that came to the old generation').toBeLessThan(MOST_OLD_BYTES);
});

/** How often each command was run since the server began, those of scripts included. */
const countCommands = async (redis: Redis): Promise<ReadonlyMap<string, number>> =>
  new Map(
    Array.from((await redis.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm), ([, name = '', calls]) => [
      name,
      Number(calls),
    ]),
  );

const BATCHES = 400;

test('a batch asks Redis for as many commands as before', { timeout: SLOW_MS }, async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const service = await startProcess({ by: 'node', environment: { REDIS_URL: server.url } });
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const found: Record<string, Record<string, number>> = {};
  for (const [what, load] of COMMANDS) {
    // One after the other: no batch shares a command with another one.
    const lane = await openTestLane(service, { ...load, connections: 1 });
    await lane.drive({ answers: BATCHES });
    const before = await countCommands(redis);
    await lane.drive({ answers: BATCHES });
    const after = await countCommands(redis);
    // What the service does by itself meanwhile is less than half a command a batch.
    const perBatch = Array.from(after, ([name, calls]): [string, number] => [
      name,
      Math.round((calls - (before.get(name) ?? 0)) / BATCHES),
    ]);
    found[what] = Object.fromEntries(perBatch.filter(([, calls]) => calls > 0).sort());
  }
  expect(found).toEqual(Object.fromEntries(COMMANDS.map(([what, , commands]) => [what, commands])));
});
