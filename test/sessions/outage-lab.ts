import { LONG_TIMEOUT_MS } from '@recourse/store-redis/command-timeout';
import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { createBudgetSession, ROOMY } from '@recourse/test-support/budget-session.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis, createFallback, createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import type { StoreDownPolicy } from '#src/sessions/fallback-session-store.ts';

const none = async (): Promise<void> => undefined;

/** Ten times the service's own patience: a machine that is busy for 50 ms is not what tests of outages are about. */
export const PATIENCE_MS = 500;

/** Reconnecting waits up to a second between attempts, and gives up a silent server after two. */
export const RECOVERY = { timeout: timeLimit(10_000), interval: 20 };

/** The store as the service has it: the fall-back over Redis, with the service's own client, and a clock that stands. */
const createSubject = (client: RedisClient, policy: StoreDownPolicy, patienceMs: number) => {
  const clock = createManualClock();
  const timeouts = { short: patienceMs, long: LONG_TIMEOUT_MS };
  const records = createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts });
  const { store, log } = createFallback(records, ROOMY, { policy, now: clock.now, connection: client });
  const open = () => createBudgetSession({ store, age: none, forget: none }, { x: 2, y: 0 });
  const modeNow = async () => (await open().begin(['x'])).admission.mode;
  return { store, log, clock, open, modeNow };
};

export type OutageSubject = ReturnType<typeof createSubject>;
type Terms = { readonly policy?: StoreDownPolicy; readonly patienceMs?: number };

/** Lets seconds pass until Redis serves: a store that is away asks again when one has. */
export const becomeReady = async ({ clock, modeNow }: OutageSubject): Promise<void> => {
  const modeLater = (): Promise<string> => {
    clock.advance(1000);
    return modeNow();
  };
  await expect.poll(modeLater, RECOVERY).toBe('redis');
};

/** A real server behind a proxy, and stores that see it through that. */
export const createOutageLab = async () => {
  const server = await startRedisServer();
  const proxy = await startTcpProxy({ to: server.port });
  const clients: (RedisClient | Redis)[] = [];
  const create = ({ policy = 'local', patienceMs = PATIENCE_MS }: Terms = {}): OutageSubject => {
    const client = createRedisClient(`redis://127.0.0.1:${proxy.port}`, patienceMs);
    clients.push(client);
    client.onError(() => undefined);
    client.connect();
    return createSubject(client, policy, patienceMs);
  };
  return {
    server,
    proxy,
    create,
    /** As `create`, and Redis serves; what happened before is forgotten. */
    createReady: async (terms: Terms = {}): Promise<OutageSubject> => {
      const subject = create(terms);
      await becomeReady(subject);
      subject.log.failed.length = 0;
      subject.log.states.length = 0;
      return subject;
    },
    goDown: async ({ store }: OutageSubject): Promise<void> => {
      proxy.refuse();
      proxy.cut();
      await expect.poll(store.isUp, RECOVERY).toBe(false);
    },
    /** Redis is silent, and two answers in a row have not come. */
    goSilent: async ({ modeNow }: OutageSubject): Promise<void> => {
      server.pause();
      expect([await modeNow(), await modeNow()]).toEqual(['local', 'local']);
    },
    comeBack: async ({ store }: OutageSubject): Promise<void> => {
      await proxy.accept();
      await expect.poll(store.isUp, RECOVERY).toBe(true);
    },
    /** A connection past the proxy. */
    direct: async (): Promise<Redis> => {
      const redis = await connectToRedis(server.url);
      clients.push(redis);
      return redis;
    },
    close: async (): Promise<void> => {
      for (const client of clients) client.disconnect();
      proxy.close();
      await server.stop();
    },
  };
};
