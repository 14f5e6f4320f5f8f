import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import type { Redis } from 'ioredis';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { unpackRound } from './marks.ts';
import { roomyMemory } from './roomy-memory.ts';
import {
  type CreateStoreUnderTest,
  createManualClock,
  createRedisUnderTest,
  type StoreUnderTest,
  toRedisClient,
} from './session-stores-under-test.ts';

/** Sessions as records in SQLite, in a database of its own that is in memory. */
export const createSqliteRecordsUnderTest: CreateStoreUnderTest = (settings) => {
  const { store, pass } = openSqliteRecords();
  return {
    store: createRecordSessionStore({ mode: 'memory', settings, store, unpackRound }),
    mode: 'memory',
    age: async (_sessionKey, ms) => pass(ms),
    forget: async () => pass(settings.ttlMs + 1),
  };
};

/** Sessions in one Redis, a replica for each connection. Time passes for all of them. */
export const createRedisRecordsUnderTest = (
  connections: readonly Redis[],
  settings: SessionSettings,
): readonly StoreUnderTest[] => {
  const replicas = connections.map((connection) => createRedisUnderTest(connection, settings));
  const age: StoreUnderTest['age'] = async (sessionKey, ms) => {
    for (const replica of replicas) await replica.age(sessionKey, ms);
  };
  return replicas.map((replica) => ({ ...replica, age }));
};

/** A store of records, and how time passes for it. */
export type AgingRecords = { readonly store: RecordStore; readonly pass: (ms: number) => void };

/** The store, with each update done by `around`, which is given it. */
export const aroundUpdates = (
  store: RecordStore,
  around: <Result>(update: () => Result | Promise<Result>) => Promise<Result>,
): RecordStore => ({
  now: store.now,
  open: (kind) => {
    const records = store.open(kind);
    return {
      ...{ list: records.list.bind(records), delete: records.delete.bind(records), read: records.read.bind(records) },
      update: (key, decide, timeout) => around(() => records.update(key, decide, timeout)),
    };
  },
});

export const openMemoryRecords = (): AgingRecords => {
  const clock = createManualClock();
  return { store: createMemoryRecordStore({ memory: roomyMemory(), now: clock.now }), pass: clock.advance };
};

/** In a database of its own that is in memory. */
export const openSqliteRecords = (): AgingRecords => {
  const clock = createManualClock();
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const options = { path: ':memory:', durable: 'process', cacheBytes: 10_000_000, now: clock.now, onFailed } as const;
  return { store: new SqliteRecordStore(options), pass: clock.advance };
};

/** Replicas in one Redis. Time passes for all of them, but not for the ends of records. */
export const openRedisRecords = (
  connections: readonly Redis[],
): { readonly stores: readonly RecordStore[]; readonly pass: (ms: number) => void } => {
  let aged = 0;
  const stores = connections.map((connection) =>
    createRedisRecordStore({
      client: toRedisClient(connection),
      cacheBytes: 10_000_000,
      timeouts: { short: 20_000, long: 20_000 },
      skewMs: () => aged,
    }),
  );
  return {
    stores,
    pass: (ms) => {
      aged += ms;
    },
  };
};
