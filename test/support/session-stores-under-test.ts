import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { BudgetMode } from '#src/contract/tool-result.ts';
import type { BudgetSettings, SessionStore } from '#src/executor/session-store.ts';
import type { StoreObserver, StoreOperation } from '#src/executor/store-observer.ts';
import {
  createFallbackSessionStore,
  type FallbackSessionStore,
  type StoreDownPolicy,
} from '#src/sessions/fallback-session-store.ts';
import { createMemorySessionStore } from '#src/sessions/memory-session-store.ts';
import type { RedisClient } from '#src/sessions/redis-client.ts';
import { createRedisSessionStore } from '#src/sessions/redis-session-store.ts';
import { type RedisForTests, redisForTests } from './redis-server.ts';

/** A store and what a test may do to its sessions without waiting. */
export type StoreUnderTest = {
  readonly store: SessionStore;
  readonly mode: BudgetMode;
  /** Makes everything a session remembers older by this much, without ending the session. */
  readonly age: (sessionKey: string, ms: number) => Promise<void>;
  /** Ends this life of the session: expired, or evicted. */
  readonly forget: (sessionKey: string) => Promise<void>;
};

export type CreateStoreUnderTest = (settings: BudgetSettings) => StoreUnderTest;

/** A clock that stands until it is moved. */
export const createManualClock = () => {
  let time = 1_000_000;
  return {
    now: (): number => time,
    advance: (ms: number): void => {
      time += ms;
    },
  };
};

export const createMemoryUnderTest: CreateStoreUnderTest = (settings) => {
  const clock = createManualClock();
  return {
    store: createMemorySessionStore({ mode: 'memory', settings, maxSessions: 100, now: clock.now }),
    mode: 'memory',
    age: async (_sessionKey, ms) => clock.advance(ms),
    forget: async () => clock.advance(settings.ttlMs + 1),
  };
};

/** A connection for tests. It waits for answers far longer than the service does: a busy machine is no outage. */
export const connectToRedis = async (url: string): Promise<Redis> => {
  const redis = new Redis(url, { commandTimeout: 20_000 });
  // A store listens to its connection, and tests make hundreds of stores on one.
  redis.setMaxListeners(0);
  await once(redis, 'ready');
  return redis;
};

/** What the Redis store needs of a client, on a connection for tests. */
export const toRedisClient = (redis: Redis): RedisClient => ({
  call: (command, ...parameters) => redis.call(command, ...parameters),
  connect: () => undefined,
  onReady: (listener) => void redis.on('ready', listener),
  onLost: (listener) => void redis.on('close', listener),
  onError: (listener) => void redis.on('error', listener),
  disconnect: () => redis.disconnect(),
});

export const toRedisKey = (sessionKey: string): string => `recourse:{${sessionKey}}`;

const ageClaims = (json: string, ms: number): string => {
  const claims: { readonly lease: number; readonly join_until: number }[] = JSON.parse(json);
  return JSON.stringify(
    claims.map((claim) => ({ ...claim, lease: claim.lease - ms, join_until: claim.join_until - ms })),
  );
};

// The scripts go by the server's clock, which a test cannot move: the times in the hash are moved instead.
const ageSession = async (redis: Redis, sessionKey: string, ms: number): Promise<void> => {
  const key = toRedisKey(sessionKey);
  for (const [field, value] of Object.entries(await redis.hgetall(key))) {
    if (field === 'claims') await redis.hset(key, field, ageClaims(value, ms));
    if (field.startsWith('failed_at:')) await redis.hset(key, field, String(Number(value) - ms));
  }
};

export const createRedisUnderTest = (redis: Redis, settings: BudgetSettings): StoreUnderTest => ({
  store: createRedisSessionStore({ client: toRedisClient(redis), settings }),
  mode: 'redis',
  age: (sessionKey, ms) => ageSession(redis, sessionKey, ms),
  forget: async (sessionKey) => void (await redis.del(toRedisKey(sessionKey))),
});

/** Writes down what a store's observer is told. */
export const createStoreLog = () => {
  const ended: StoreOperation[] = [];
  const failed: string[] = [];
  const states: ('up' | 'down')[] = [];
  const observer: StoreObserver = {
    operationEnded: (operation) => void ended.push(operation),
    operationFailed: (operation, error) =>
      void failed.push(`${operation}: ${error instanceof Error ? error.message : String(error)}`),
    availabilityChanged: (state) => void states.push(state),
  };
  return { observer, ended, failed, states };
};

/** The fall-back wrapper before a store, with an observer that remembers and the real clock, or another one. */
export const createFallback = (
  primary: SessionStore,
  settings: BudgetSettings,
  options: { readonly policy?: StoreDownPolicy; readonly now?: () => number } = {},
): { readonly store: FallbackSessionStore; readonly log: ReturnType<typeof createStoreLog> } => {
  const now = options.now ?? ((): number => performance.now());
  const log = createStoreLog();
  const local = createMemorySessionStore({ mode: 'local', settings, maxSessions: 100, now });
  const { policy = 'local' } = options;
  return { store: createFallbackSessionStore({ primary, local, policy, observer: log.observer, now }), log };
};

/** A Redis for the tests of one file, connected before them and let go after them. */
export const useRedis = (): (() => Redis) => {
  let server: RedisForTests | undefined;
  let client: Redis | undefined;
  beforeAll(async () => {
    server = await redisForTests();
    client = await connectToRedis(server.url);
  });
  afterAll(async () => {
    client?.disconnect();
    await server?.stop();
  });
  return () => {
    if (client === undefined) throw new Error('Redis is there only while tests run.');
    return client;
  };
};
