import { once } from 'node:events';
import { createScript, type RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { type Cluster, Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { BudgetMode } from '#src/contract/tool-result.ts';
import type { SessionSettings, SessionStore, UnpackRound } from '#src/executor/session-store.ts';
import { createFallbackSessionStore, type StoreDownPolicy } from '#src/sessions/fallback-session-store.ts';
import { OutageSessions } from '#src/sessions/outage-sessions.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { guardRecordStore } from '#src/store/guarded-record-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import type { StoreObserver, StoreOperation } from '#src/store/store-observer.ts';
import { unpackRound } from './marks.ts';
import { createMemorySessionStore } from './memory-sessions.ts';
import { type RedisForTests, redisForTests } from './redis-server.ts';
import { roomyMemory } from './roomy-memory.ts';

/** A store and what a test may do to its sessions without waiting. */
export type StoreUnderTest = {
  readonly store: SessionStore;
  readonly mode: BudgetMode;
  /** Makes everything a session remembers older by this much, without ending the session. */
  readonly age: (sessionKey: string, ms: number) => Promise<void>;
  /** Ends this life of the session: expired, or evicted. */
  readonly forget: (sessionKey: string) => Promise<void>;
};

export type RedisUnderTest = StoreUnderTest & { readonly records: RecordStore };

export type CreateStoreUnderTest = (settings: SessionSettings) => StoreUnderTest;

/** A clock that stands until it is moved. */
export const createManualClock = (startsAt = 1_000_000) => {
  let time = startsAt;
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
    store: createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now: clock.now }),
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
export const toRedisClient = (redis: Redis | Cluster): RedisClient => ({
  call: (command, ...parameters) => redis.call(command, ...parameters),
  callWithTimeout: (command, ...parameters) => redis.call(command, ...parameters),
  send: (command, ...parameters) => redis.call(command, ...parameters),
  publish: (channel, message) =>
    (redis instanceof Redis ? redis : (redis.nodes('master')[0] ?? redis)).publish(channel, message),
  memory: async () => (redis instanceof Redis ? [await redis.info('memory')] : []),
  openScript: (file) => createScript((command, ...parameters) => redis.call(command, ...parameters), file),
  preload: () => undefined,
  topology: redis instanceof Redis ? 'server' : 'cluster',
  connect: () => undefined,
  onReady: (listener) => void redis.on('ready', listener),
  isReady: () => redis.status === 'ready',
  onLost: (listener) => void redis.on('close', listener),
  onError: (listener) => void redis.on('error', listener),
  disconnect: () => redis.disconnect(),
});

export const toRedisKey = (sessionKey: string): string => `recourse2:{${sessionKey}}:session`;

/** Where a session's journal is. */
export const toJournalKey = (sessionKey: string): string => `${toRedisKey(sessionKey)}:list`;

// A busy machine is no outage.
const TIMEOUTS = { short: 20_000, long: 20_000 } as const;

/**
 * A store in Redis, standalone or a cluster, over `client`, or the connection itself. Forgetting is an eviction of the hash: the
 * journal stays behind. Its time goes by the server's clock, and what a test makes older moves that for this store.
 */
export const createRedisUnderTest = (
  redis: Redis | Cluster,
  settings: SessionSettings,
  {
    client = toRedisClient(redis),
    unpack = unpackRound,
    mayKeepJournals = () => true,
  }: { readonly client?: RedisClient; readonly unpack?: UnpackRound; readonly mayKeepJournals?: () => boolean } = {},
): RedisUnderTest => {
  let aged = 0;
  const records = createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts: TIMEOUTS, skewMs: () => aged });
  return {
    records,
    store: createRecordSessionStore({ mode: 'redis', settings, store: records, unpackRound: unpack, mayKeepJournals }),
    mode: 'redis',
    age: async (_sessionKey, ms) => {
      aged += ms;
    },
    forget: async (sessionKey) => void (await redis.call('DEL', toRedisKey(sessionKey))),
  };
};

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

type Connection = Pick<RedisClient, 'onLost' | 'onReady' | 'isReady'>;

/** Records as the service asks for them, with an observer that remembers and the real clock, or another one. */
export const createGuarded = (
  store: RecordStore,
  { connection, now = () => performance.now() }: { readonly connection?: Connection; readonly now?: () => number } = {},
): ReturnType<typeof guardRecordStore> & { readonly log: ReturnType<typeof createStoreLog> } => {
  const log = createStoreLog();
  const guarded = guardRecordStore(store, {
    ...{ observer: log.observer, now },
    watch: ({ lost, connected }) => {
      connection?.onLost(lost);
      connection?.onReady(connected);
    },
    isConnected: connection?.isReady ?? (() => true),
  });
  return { ...guarded, log };
};

/** Sessions as the service has them in a store that can fail. */
export const createFallback = (
  records: RecordStore,
  settings: SessionSettings,
  options: { readonly policy?: StoreDownPolicy; readonly now?: () => number; readonly connection?: Connection } = {},
): {
  readonly store: SessionStore & { readonly isUp: () => boolean };
  readonly log: ReturnType<typeof createStoreLog>;
} => {
  const { policy = 'local', now = () => performance.now() } = options;
  const localRecords = createMemoryRecordStore({ memory: roomyMemory(), now });
  const { records: store, availability, log } = createGuarded(records, options);
  const primary = createRecordSessionStore({ mode: 'redis', settings, store, unpackRound });
  const local = createRecordSessionStore({ mode: 'local', settings, store: localRecords, unpackRound });
  const outage = new OutageSessions({ shared: primary.records, local });
  availability.onRecovered(() => void outage.settleAll());
  const fallback = createFallbackSessionStore({ primary, local, outage, policy, availability });
  return { store: { ...fallback, isUp: availability.isUp }, log };
};

/** Connections to a Redis for the tests of one file, opened before them and let go after them. */
export const useConnections = (count: number): (() => readonly Redis[]) => {
  let server: RedisForTests | undefined;
  let connections: readonly Redis[] = [];
  beforeAll(async () => {
    server = await redisForTests();
    const { url } = server;
    connections = await Promise.all(Array.from({ length: count }, () => connectToRedis(url)));
  });
  afterAll(async () => {
    for (const connection of connections) connection.disconnect();
    await server?.stop();
  });
  return () => connections;
};

/** The same with one connection. */
export const useRedis = (): (() => Redis) => {
  const connections = useConnections(1);
  return () => {
    const [client] = connections();
    if (client === undefined) throw new Error('Redis is there only while tests run.');
    return client;
  };
};
