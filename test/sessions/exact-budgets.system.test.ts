import { randomUUID } from 'node:crypto';
import { createRedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { unpackRound } from '@recourse/test-support/marks.ts';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import type { RoundReport, SessionSettings, SessionStore } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';

// More by hand: RUNS=500.
const RUNS = Number(process.env['RUNS'] ?? 20);
const LONG = { timeout: timeLimit(60_000) + RUNS * 1000 };
const BATCHES = 100;
const RETRIES = 3;
const REPLICAS = 3;

const SETTINGS: SessionSettings = {
  sessionRetries: 20,
  cooldownMs: 0,
  ttlMs: 86_400_000,
  maxCalls: 0,
  maxRounds: 0,
  journal: 10,
};

// Each write is on disk before it is answered: a server that was killed knows all that it has said.
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** Calls back once so many more swaps were sent. */
type SwapCount = { left: number; onNone: () => void };

const start = async () => {
  const server = await startRedisServer({ settings: DURABLE });
  onTestFinished(server.stop);
  const count: SwapCount = { left: Number.POSITIVE_INFINITY, onNone: () => undefined };
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => connect(server, count)));
  return { server, replicas, count };
};

const connect = async ({ url }: RedisServer, count: SwapCount): Promise<SessionStore> => {
  const client = createRedisClient(url, timeLimit(20_000));
  onTestFinished(client.disconnect);
  const ready = Promise.withResolvers<void>();
  client.onReady(ready.resolve);
  client.onError(() => undefined);
  client.connect();
  await ready.promise;
  const send: typeof client.send = (command, ...words) => {
    const answer = client.send(command, ...words);
    count.left -= command === 'EVALSHA' ? 1 : 0;
    if (count.left === 0) count.onNone();
    return answer;
  };
  const timeouts = { short: timeLimit(20_000), long: timeLimit(20_000) };
  const store = createRedisRecordStore({ client: { ...client, send }, cacheBytes: 10_000_000, timeouts });
  return createRecordSessionStore({ mode: 'redis', settings: SETTINGS, store, unpackRound });
};

const toReport = (runs: boolean): RoundReport => ({
  outcomes: [{ name: 'read', failed: runs, succeeded: false, interrupted: false, error: runs ? 'no' : '' }],
  calls: [
    {
      tool: 'read',
      counts: true,
      callHash: null,
      callEnd: runs ? 'failed' : 'not_run',
      resultHash: null,
      executed: runs,
    },
  ],
  journal: null,
});

/** One batch of one call, which fails if it may run; tells whether it ran. */
const fail = async (store: SessionStore | undefined, sessionKey: string): Promise<boolean> => {
  const admission = await store?.admit({
    ...{ sessionKey, batchId: randomUUID(), roundId: null, leaseMs: 600_000 },
    tools: [{ name: 'read', retries: RETRIES, maxCalls: null, effects: 'read', polling: false }],
    calls: [{ tool: 'read', counts: true, callHash: null }],
  });
  const runs = ['free', 'retry'].includes(admission?.permits.get('read')?.decision ?? '');
  await admission?.settle(toReport(runs));
  return runs;
};

/** How many of a hundred batches run that come at once to a session whose first call has failed. */
const race = async (replicas: readonly SessionStore[], sessionKey: string): Promise<number> => {
  const ran = await Promise.all(
    Array.from({ length: BATCHES }, (_, at) => fail(replicas[at % replicas.length], sessionKey)),
  );
  return ran.filter((runs) => runs).length;
};

test('of a hundred failing batches at once on three replicas just the retries run', LONG, async () => {
  const { replicas } = await start();
  for (let run = 0; run < RUNS; run += 1) {
    const sessionKey = `exact:${randomUUID()}`;
    expect(await fail(replicas[0], sessionKey)).toBe(true);
    expect(await race(replicas, sessionKey)).toBe(RETRIES);
    expect(await replicas[1]?.read(sessionKey)).toMatchObject({ calls: 1 + RETRIES, rounds: 1 + BATCHES });
  }
});

test('nor do more or fewer run where Redis is killed among them and starts again', LONG, async () => {
  const { server, replicas, count } = await start();
  for (let run = 0; run < RUNS; run += 1) {
    const sessionKey = `killed:${randomUUID()}`;
    expect(await fail(replicas[0], sessionKey)).toBe(true);
    const restarted = Promise.withResolvers<void>();
    count.left = 1 + (run % 6);
    count.onNone = () => void server.restart().then(restarted.resolve, restarted.reject);
    const [ran] = await Promise.all([race(replicas, sessionKey), restarted.promise]);
    expect(ran).toBe(RETRIES);
    // This replica may not be connected yet: then it says so.
    await expect
      .poll(() => replicas[1]?.read(sessionKey).catch(() => null), { timeout: timeLimit(20_000) })
      .toMatchObject({ calls: 1 + RETRIES, rounds: 1 + BATCHES });
  }
});
