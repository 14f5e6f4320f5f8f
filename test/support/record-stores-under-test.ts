import type { Redis } from 'ioredis';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createSqliteRecordStore } from '#src/store/sqlite-record-store.ts';
import { unpackRound } from './marks.ts';
import {
  type CreateStoreUnderTest,
  createManualClock,
  createRedisUnderTest,
  type StoreUnderTest,
} from './session-stores-under-test.ts';

/** Sessions as records in SQLite, in a database of its own that is in memory. */
export const createSqliteRecordsUnderTest: CreateStoreUnderTest = (settings) => {
  const clock = createManualClock();
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const options = { path: ':memory:', durable: 'process', cacheBytes: 10_000_000, now: clock.now, onFailed } as const;
  return {
    store: createRecordSessionStore({ mode: 'memory', settings, store: createSqliteRecordStore(options), unpackRound }),
    mode: 'memory',
    age: async (_sessionKey, ms) => clock.advance(ms),
    forget: async () => clock.advance(settings.ttlMs + 1),
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
