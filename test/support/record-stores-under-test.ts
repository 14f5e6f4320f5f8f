import type { Redis } from 'ioredis';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { createRedisRecordStore } from '#src/store/redis-record-store.ts';
import { createSqliteRecordStore } from '#src/store/sqlite-record-store.ts';
import { unpackRound } from './marks.ts';
import { roomyMemory } from './roomy-memory.ts';
import {
  type CreateStoreUnderTest,
  createManualClock,
  type StoreUnderTest,
  toRedisClient,
} from './session-stores-under-test.ts';

/** Sessions as records in memory. */
export const createMemoryRecordsUnderTest: CreateStoreUnderTest = (settings) => {
  const clock = createManualClock();
  const store = createMemoryRecordStore({ memory: roomyMemory(), now: clock.now });
  return {
    store: createRecordSessionStore({ mode: 'memory', settings, store, unpackRound }),
    mode: 'memory',
    age: async (_sessionKey, ms) => clock.advance(ms),
    forget: async () => clock.advance(settings.ttlMs + 1),
  };
};

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

// A busy machine is no outage.
const TIMEOUTS = { short: 20_000, long: 20_000 } as const;

/** Sessions as records in one Redis, a replica for each connection. Time passes for all of them. */
export const createRedisRecordsUnderTest = (
  connections: readonly Redis[],
  settings: SessionSettings,
): readonly StoreUnderTest[] => {
  let aged = 0;
  return connections.map((connection) => {
    const client = toRedisClient(connection);
    const store = createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts: TIMEOUTS, skewMs: () => aged });
    return {
      store: createRecordSessionStore({ mode: 'redis', settings, store, unpackRound }),
      mode: 'redis',
      age: async (_sessionKey, ms) => {
        aged += ms;
      },
      forget: async (sessionKey) => void (await connection.del(`recourse2:{${sessionKey}}:session`)),
    };
  });
};
