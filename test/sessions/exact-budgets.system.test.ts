import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import type { RoundReport, SessionSettings, SessionStore } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createRedisClient } from '#src/sessions/redis-client.ts';
import { createRedisRecordStore } from '#src/store/redis-record-store.ts';
import { unpackRound } from '#test/support/marks.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { timeLimit } from '#test/support/time-limit.ts';

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

const start = async () => {
  const server = await startRedisServer({ settings: DURABLE });
  onTestFinished(server.stop);
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, () => connect(server)));
  return { server, replicas };
};

const connect = async ({ url }: RedisServer): Promise<SessionStore> => {
  const client = createRedisClient(url, timeLimit(20_000));
  onTestFinished(client.disconnect);
  const ready = Promise.withResolvers<void>();
  client.onReady(ready.resolve);
  client.onError(() => undefined);
  client.connect();
  await ready.promise;
  const timeouts = { short: timeLimit(20_000), long: timeLimit(20_000) };
  const store = createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts });
  return createRecordSessionStore({ mode: 'redis', settings: SETTINGS, store, unpackRound });
};

const toReport = (runs: boolean): RoundReport => ({
  outcomes: [{ name: 'read', failed: runs, succeeded: false, interrupted: false, error: runs ? 'no' : '' }],
  calls: [
    { tool: 'read', counts: true, mark: null, ending: runs ? 'failed' : 'not_run', answer: null, executed: runs },
  ],
  journal: null,
});

/** One batch of one call, which fails if it may run; tells whether it ran. */
const fail = async (store: SessionStore | undefined, sessionKey: string): Promise<boolean> => {
  const admission = await store?.admit({
    ...{ sessionKey, batchId: randomUUID(), roundId: null, leaseMs: 600_000 },
    tools: [{ name: 'read', retries: RETRIES, maxCalls: null, effects: 'read', polling: false }],
    calls: [{ tool: 'read', counts: true, mark: null }],
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

/** Watches the server; the promise that it gives ends when the server was killed after so many more swaps, and serves again. */
const armRestart = async (server: RedisServer, swaps: number): Promise<{ readonly restarted: Promise<void> }> => {
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  const watcher = new Redis(server.url);
  watcher.on('error', () => undefined);
  const monitor = await watcher.monitor();
  monitor.on('error', () => undefined);
  let seen = 0;
  monitor.on('monitor', (_time: string, [command = '']: readonly string[]) => {
    if (!/^evalsha$/i.test(command)) return;
    seen += 1;
    if (seen === swaps) resolve();
  });
  const restart = async (): Promise<void> => {
    await reached;
    await server.kill();
    monitor.disconnect();
    watcher.disconnect();
    await server.restart();
  };
  return { restarted: restart() };
};

test('nor do more or fewer run where Redis is killed among them and starts again', LONG, async () => {
  const { server, replicas } = await start();
  for (let run = 0; run < RUNS; run += 1) {
    const sessionKey = `killed:${randomUUID()}`;
    expect(await fail(replicas[0], sessionKey)).toBe(true);
    const { restarted } = await armRestart(server, 1 + (run % 5));
    const [ran] = await Promise.all([race(replicas, sessionKey), restarted]);
    expect(ran).toBe(RETRIES);
    expect(await replicas[1]?.read(sessionKey)).toMatchObject({ calls: 1 + RETRIES, rounds: 1 + BATCHES });
  }
});
