import { expect } from 'vitest';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import { createRedisRecordStore } from '#src/store/redis-record-store.ts';
import { createSqliteRecordStore } from '#src/store/sqlite-record-store.ts';
import { describeSessionStore } from '#test/sessions/promises/describe-session-store.ts';
import { unpackRound } from '#test/support/marks.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';
import { createManualClock, toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';

const redis = useRedis();

describeSessionStore('records in memory', (settings) => {
  const clock = createManualClock();
  const store = createMemoryRecordStore({ memory: roomyMemory(), now: clock.now });
  return {
    store: createRecordSessionStore({ mode: 'memory', settings, store, unpackRound }),
    mode: 'memory',
    age: async (_sessionKey, ms) => clock.advance(ms),
    forget: async () => clock.advance(settings.ttlMs + 1),
  };
});

describeSessionStore('records in Redis', (settings) => {
  const client = redis();
  let aged = 0;
  const store = createRedisRecordStore({
    client: toRedisClient(client),
    cacheBytes: 10_000_000,
    timeouts: { short: 20_000, long: 20_000 },
    skewMs: () => aged,
  });
  return {
    store: createRecordSessionStore({ mode: 'redis', settings, store, unpackRound }),
    mode: 'redis',
    age: async (_sessionKey, ms) => {
      aged += ms;
    },
    forget: async (sessionKey) => void (await client.call('DEL', `recourse2:{${sessionKey}}:session`)),
  };
});

describeSessionStore('records in SQLite', (settings) => {
  const clock = createManualClock();
  const store = createSqliteRecordStore({
    path: ':memory:',
    durable: 'process',
    cacheBytes: 10_000_000,
    now: clock.now,
    onFailed: (error) => expect(error).toBeUndefined(),
  });
  return {
    store: createRecordSessionStore({ mode: 'memory', settings, store, unpackRound }),
    mode: 'memory',
    age: async (_sessionKey, ms) => clock.advance(ms),
    forget: async () => clock.advance(settings.ttlMs + 1),
  };
});
