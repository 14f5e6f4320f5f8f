import { getHeapStatistics } from 'node:v8';
import { pino } from 'pino';
import { loadConfig } from '#src/config/settings/config.ts';
import { createUnpackRound } from '#src/executor/journal/round-journal.ts';
import type { SessionStore } from '#src/executor/session-store.ts';
import { createStoreMemory, toStoreBytes } from '#src/memory/store-memory.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createFallbackSessionStore } from '#src/sessions/fallback-stores.ts';
import { createMemorySessionStore } from '#src/sessions/memory-session-store.ts';
import { createRecordSessionStore } from '#src/sessions/record-session-store.ts';
import { createRedisClient } from '#src/sessions/redis-client.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { createRedisRecordStore } from '#src/store/redis-record-store.ts';
import { createSqliteRecordStore } from '#src/store/sqlite-record-store.ts';
import { wire } from '#src/wiring/wire.ts';
import { toSessionSettings } from '#src/wiring/wire-store.ts';

// The service with its sessions as records: in Redis where there is REDIS_URL, in the file SQLITE, else in memory.
const loaded = loadConfig(process.env);
if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
const { config } = loaded;
const settings = toSessionSettings(config);
const unpackRound = createUnpackRound(createRedactor({ secrets: [], onRedacted: () => undefined }));
const now = (): number => performance.now();
const memory = createStoreMemory({
  totalBytes: toStoreBytes(getHeapStatistics().heap_size_limit, config.STORE_MEMORY_MB),
});

const toSessions = (mode: 'memory' | 'redis', store: RecordStore): SessionStore =>
  createRecordSessionStore({ mode, settings, unpackRound, store });

const openMemory = (): RecordStore => createMemoryRecordStore({ memory, now });

const openRedis = (url: string): SessionStore => {
  const client = createRedisClient(url);
  const store = createRedisRecordStore({ client, cacheBytes: 200_000_000, timeouts: { short: 50, long: 1000 } });
  const local = createMemorySessionStore({ mode: 'local', settings, memory, now });
  const observer = {
    operationEnded: () => undefined,
    operationFailed: () => undefined,
    availabilityChanged: () => undefined,
  };
  const availability = createStoreAvailability({ observer, now, onRecovered: local.clear });
  client.onError(() => undefined);
  client.connect();
  return createFallbackSessionStore({ primary: toSessions('redis', store), local, policy: 'local', availability });
};

const openSessions = (): SessionStore => {
  const { SQLITE: path } = process.env;
  if (config.REDIS_URL !== undefined) return openRedis(config.REDIS_URL);
  if (path === undefined) return toSessions('memory', openMemory());
  const failed = (error: unknown): void => void process.stderr.write(`${error}\n`);
  return toSessions(
    'memory',
    createSqliteRecordStore({ path, durable: 'process', cacheBytes: 200_000_000, now: Date.now, onFailed: failed }),
  );
};

const log = pino({ base: null, level: config.LOG_LEVEL });
const service = await wire(config, log, {
  environment: process.env,
  wrapStores: ({ keys }) => ({ keys, sessions: openSessions() }),
});
await service.app.listen({ host: config.HOST, port: config.PORT });
