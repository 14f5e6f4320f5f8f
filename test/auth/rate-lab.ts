import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { connectToRedis, createGuarded } from '@recourse/test-support/session-stores-under-test.ts';
import { startTcpProxy } from '@recourse/test-support/tcp-proxy.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished } from 'vitest';
import { createRateLimits, type LimitRate, type RateLimitsOptions } from '#src/auth/rate-limits.ts';
import type { StoreAvailability } from '#src/store/store-availability.ts';

/** Far more than the service's own 50 ms: a machine that is busy for that long is not what these tests are about. */
export const PATIENCE_MS = 1000;

type Terms = Partial<Pick<RateLimitsOptions, 'standard' | 'now' | 'memory'>> & {
  readonly client?: Pick<RedisClient, 'call'> | null;
  /** What in the service rates share with sessions. */
  readonly availability?: Pick<StoreAvailability, 'ask'>;
};

const ASKING: Pick<StoreAvailability, 'ask'> = { ask: (_operation, _urgency, ask) => ask() };

/** Rate limits, and how often they could not be counted where they should be. */
export const createSubject = ({
  client = null,
  availability = ASKING,
  now = () => performance.now(),
  ...terms
}: Terms = {}) => {
  const errors: unknown[] = [];
  const store: RateLimitsOptions['store'] =
    client === null
      ? null
      : {
          keyPrefix: 'recourse2:rate',
          call: async (...words) => availability.ask('rate', 'short', () => client.call(...words)),
        };
  const onError = (error: unknown): void => void errors.push(error);
  const limit = createRateLimits({ standard: null, memory: roomyMemory(), store, onError, now, ...terms });
  return { limit, errors };
};

/** The service's own client of this Redis, ready; gone with its test. */
export const connectClient = async (urls: string, patienceMs = PATIENCE_MS): Promise<RedisClient> => {
  const client = createRedisClient(urls, patienceMs);
  onTestFinished(client.disconnect);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  return client;
};

let keys = 0;

/** A caller that no test has used yet, with a rate of its own, or without one. */
export const freshCaller = (requests?: number, windowMs = 3_600_000) => {
  keys += 1;
  return {
    tenant: 'acme',
    rateKey: `caller ${keys} ${process.pid}`,
    rate: requests === undefined ? null : { requests, windowMs },
  };
};

export type Caller = ReturnType<typeof freshCaller>;

/** Sends `count` requests at once; how many were let in. */
export const countLetIn = async (limit: LimitRate, caller: Caller, count: number): Promise<number> => {
  const answers = await Promise.all(Array.from({ length: count }, () => limit(caller, '192.0.2.1')));
  return answers.filter((answer) => answer === null).length;
};

/** A real server behind a proxy, and rate limits that count in it through that. */
export const startLab = async (patienceMs = PATIENCE_MS, now = () => performance.now()) => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const proxy = await startTcpProxy({ to: server.port });
  onTestFinished(proxy.close);
  const direct = await connectToRedis(server.url);
  direct.on('error', () => undefined);
  onTestFinished(() => direct.disconnect());
  const client = await connectClient(`redis://127.0.0.1:${proxy.port}`, patienceMs);
  let asked = 0;
  const watched: Pick<RedisClient, 'call'> = {
    call: (...words) => {
      asked += 1;
      return client.call(...words);
    },
  };
  const timeouts = { short: patienceMs, long: patienceMs };
  const records = createRedisRecordStore({ client, cacheBytes: 1_000_000, timeouts });
  const { availability, log } = createGuarded(records, { connection: client, now });
  const subject = createSubject({ client: watched, availability, now });
  return {
    ...subject,
    availability,
    ...{ states: log.states, failed: log.failed },
    server,
    proxy,
    direct,
    asked: () => asked,
    /** Asks as a session does: another one that writes. */
    admit: async () => availability.ask('admit', 'short', () => watched.call('SET', 'session', 'x')),
  };
};

export type Lab = Awaited<ReturnType<typeof startLab>>;
/** Lets callers come until one is counted in Redis. */
export const becomeShared = async ({ limit, errors }: Lab): Promise<void> => {
  const isShared = async (): Promise<boolean> => {
    const before = errors.length;
    await limit(freshCaller(1), '');
    return errors.length === before;
  };
  await expect.poll(isShared, { timeout: timeLimit(20_000), interval: 50 }).toBe(true);
};
