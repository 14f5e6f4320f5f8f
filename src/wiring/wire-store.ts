import { randomUUID } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import type { Config } from '../config/settings/config.ts';
import { type StoreChoice, toStoreChoice } from '../config/settings/store-choice.ts';
import { createUnpackRound } from '../executor/journal/round-journal.ts';
import type { KeyedStore } from '../executor/keyed-store.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { EndedSessions, SessionSettings, SessionStore } from '../executor/session-store.ts';
import type { MayKeep, SpaceObserver, StoreObserver } from '../executor/store-observer.ts';
import { type ByteBudget, createByteBudget } from '../memory/byte-budget.ts';
import { createStoreMemory, type StoreMemory, toRequestBytes, toStoreBytes } from '../memory/store-memory.ts';
import type { CallRecords } from '../sessions/calls/call-records.ts';
import { createFallbackEndedSessions, createRecordEndedSessions } from '../sessions/ended-sessions.ts';
import { createRecordKeyedStore } from '../sessions/keyed/record-keyed-store.ts';
import { createRecordPageTokens } from '../sessions/record-page-tokens.ts';
import { createRecordSessionStore } from '../sessions/record-session-store.ts';
import { createRequestSessionStore } from '../sessions/request-session-store.ts';
import type { RateStore, StoreAvailability, WatchableStore } from '../sessions/store-availability.ts';
import { LONG_TIMEOUT_MS, SHORT_TIMEOUT_MS } from '../store/command-timeout.ts';
import { createMemoryRecordStore } from '../store/memory-record-store.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SqliteRecordStore } from '../store/sqlite-record-store.ts';
import { withoutSqliteWarning } from '../store/sqlite-warning.ts';
import type { SwapClient } from '../store/swap-sender.ts';
import { describeCauses } from '../telemetry/describe-error.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createSpaceObserver, createStoreObserver } from '../telemetry/store-observers.ts';
import type { PageTokenStore, PageTokens } from '../tools/page-tokens.ts';
import type { Delivery, DeliveryStore } from '../webhooks/delivery-store.ts';
import { openEmbeddedCalls, openSharedCalls } from './wire-calls.ts';
import { LOCAL_QUEUE, openEmbeddedDeliveries, openSharedDeliveries } from './wire-deliveries.ts';

/** What is kept between batches. */
export type Stores = { readonly sessions: SessionStore; readonly keys: KeyedStore };

export type WiredStore = Stores & {
  readonly kind: StoreChoice['kind'];
  /** For batches without a session. */
  readonly requests: SessionStore;
  readonly isUp: () => boolean;
  /** What rates are counted with, all replicas together; null where there is no Redis. */
  readonly rates: RateStore | null;
  /** What pages of lists are found again with. */
  readonly pageTokens: PageTokens;
  /** Which sessions of `/mcp` have ended. */
  readonly endedSessions: EndedSessions;
  /** Opens what keeps messages for webhook endpoints: not before there are any. */
  readonly openDeliveries: (onEvicted: (delivery: Delivery) => void) => Promise<DeliveryStore>;
  /** Opens the records of pending calls. `budget`: of what those take that only this process knows. */
  readonly openCallRecords: (budget: ByteBudget) => Promise<CallRecords>;
  readonly close: () => void;
};

/** What the stores are made with. */
export type StoreParts = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly memory: StoreMemory;
  readonly redactor: Pick<Redactor, 'cut'>;
  readonly now: () => number;
};

/** What the settings say of all sessions. */
export const toSessionSettings = (config: Config): SessionSettings => ({
  sessionRetries: config.SESSION_RETRIES,
  cooldownMs: config.SESSION_BUDGET_COOLDOWN_SECONDS * 1000,
  ttlMs: config.SESSION_TTL_SECONDS * 1000,
  maxCalls: config.SESSION_MAX_CALLS,
  maxRounds: config.SESSION_MAX_ROUNDS,
  journal: config.SESSION_JOURNAL,
});

/** Sessions on records, as the settings want them. */
const createToSessions =
  (config: Config, redactor: StoreParts['redactor']) =>
  (on: Pick<Parameters<typeof createRecordSessionStore>[0], 'mode' | 'store' | 'mayKeep'>): SessionStore =>
    createRecordSessionStore({ ...on, settings: toSessionSettings(config), unpackRound: createUnpackRound(redactor) });

/** The stores the settings ask for: Redis or a file behind its fall-back, or this process's memory. */
export const wireStore = async (config: Config, parts: StoreParts): Promise<WiredStore> => {
  const { REDIS_URL } = config;
  const { memory, now } = parts;
  const requests = createRequestSessionStore({ settings: toSessionSettings(config), now });
  // Also without Redis: the metrics of a store are there from the start.
  const observers = { observer: createStoreObserver(parts), spaceObserver: createSpaceObserver(parts) };
  if (REDIS_URL !== undefined) return { ...(await wireRedis(REDIS_URL, config, { ...parts, ...observers })), requests };
  const choice = toStoreChoice(config);
  if (choice.kind === 'sqlite') return { ...(await wireSqlite(choice, config, { ...parts, ...observers })), requests };
  const { ttlMs } = toSessionSettings(config);
  const records = createMemoryRecordStore({ memory, now });
  const pageTokens = createRecordPageTokens({ store: records, ttlMs });
  const sessions = createToSessions(config, parts.redactor)({ mode: 'memory', store: records });
  return {
    kind: 'memory',
    sessions: withPages(sessions, pageTokens),
    keys: createRecordKeyedStore({ store: records, durability: 'process', memory }),
    requests,
    isUp: () => true,
    rates: null,
    pageTokens,
    endedSessions: createRecordEndedSessions({ store: records, ttlMs }),
    openDeliveries: (onEvicted) => openEmbeddedDeliveries(records, onEvicted),
    openCallRecords: (budget) =>
      openEmbeddedCalls(config, { ...{ durability: 'process', store: records, budget, now }, keys: [] }),
    close: () => undefined,
  };
};

type Fallback = {
  readonly ttlMs: number;
  readonly records: RecordStore;
  /** What takes over while they are away. */
  readonly localRecords: RecordStore;
  readonly sessions: SessionStore;
  readonly availability: StoreAvailability;
  readonly mayKeep: MayKeep;
  /** The name of this process's queues of messages. */
  readonly queue: string;
};

/** Sessions that take their pages with them, and what else stands before records that can be away. */
const wireBehindFallback = async (
  { memory, now, observer }: Pick<ObservedParts, 'memory' | 'now' | 'observer'>,
  { ttlMs, records, localRecords, sessions, availability, mayKeep, queue }: Fallback,
): Promise<Pick<WiredStore, 'sessions' | 'isUp' | 'pageTokens' | 'endedSessions' | 'openDeliveries'>> => {
  const { createFallbackPageTokens } = await import('../sessions/fallback-page-tokens.ts');
  const pageTokens = createFallbackPageTokens({
    primary: createRecordPageTokens({ store: records, ttlMs }),
    local: createRecordPageTokens({ store: localRecords, ttlMs }),
    availability,
    onRefused: (error) => observer.operationFailed('page', error),
  });
  const ended = createRecordEndedSessions({ store: records, ttlMs });
  return {
    sessions: withPages(sessions, pageTokens),
    isUp: availability.isUp,
    pageTokens,
    endedSessions: createFallbackEndedSessions({ primary: ended, availability }),
    openDeliveries: (onEvicted) =>
      openSharedDeliveries({
        ...{ store: records, queue, mayKeep, availability, onEvicted },
        // Its own: what sessions of an outage leave in memory is forgotten when the store is back, messages are not.
        memory: createMemoryRecordStore({ memory, now }),
        onRefused: (error) => observer.operationFailed('webhook', error),
      }),
  };
};

/** Sessions that take their pages with them. Those go first: where Redis is away, ending fails and is asked for again. */
const withPages = (sessions: SessionStore, pageTokens: PageTokenStore): SessionStore => ({
  ...sessions,
  end: async (sessionKey) => {
    await pageTokens.forget(sessionKey);
    await sessions.end(sessionKey);
  },
});

type ObservedParts = StoreParts & { readonly observer: StoreObserver; readonly spaceObserver: SpaceObserver };

const wireRedis = async (
  url: string,
  config: Config,
  { memory, metrics, redactor, now, observer, spaceObserver }: ObservedParts,
): Promise<Omit<WiredStore, 'requests'>> => {
  // Only here: ioredis is 9 MB that the embedded store need not pay.
  const { createRedisClient, createRedisSubscription } = await import('../sessions/redis-client.ts');
  const { createFallbackCallRecords } = await import('../sessions/calls/fallback-call-records.ts');
  const { createRedisCheck } = await import('../sessions/redis-check.ts');
  const { createRateStore, createStoreAvailability } = await import('../sessions/store-availability.ts');
  const { createFallbackKeyedStore, createFallbackSessionStore } = await import('../sessions/fallback-stores.ts');
  const { createRedisSpace } = await import('../sessions/redis-space.ts');
  const { refuseFormerReplicas } = await import('../sessions/former-replicas.ts');
  const { ttlMs } = toSessionSettings(config);
  const address = { url, sentinelPassword: config.REDIS_SENTINEL_PASSWORD };
  const client = createRedisClient(address);
  client.onError((error) => observer.operationFailed('connect', error));
  const space = createRedisSpace({
    client,
    memoryBytes: config.REDIS_MEMORY_MB * MIB,
    observer: spaceObserver,
    onFailed: (error) => observer.operationFailed('space', error),
  });
  const { mayKeep } = space;
  const records = await openRedisRecords(client, { memory, metrics });
  const toSessions = createToSessions(config, redactor);
  const keys = createRecordKeyedStore({ store: records, durability: 'durable', mayKeep });
  const localRecords = createMemoryRecordStore({ memory, now });
  const primary = toSessions({ mode: 'redis', store: records, mayKeep });
  const local = toSessions({ mode: 'local', store: localRecords });
  // One for all that ask: an outage is one outage.
  const availability = createStoreAvailability({
    ...{ observer, now, onRecovered: localRecords.clear },
    store: createRedisCheck(client),
  });
  const policy = config.RETRY_BUDGET_ON_STORE_DOWN;
  const sessions = createFallbackSessionStore({ primary, local, policy, availability });
  const subscription = createRedisSubscription(address);
  const calls = await openSharedCalls(config, { client, subscription, store: records, mayKeep });
  client.connect();
  await refuseFormerReplicas(client);
  space.start();
  return {
    kind: 'redis',
    ...(await wireBehindFallback(
      { memory, now, observer },
      { ttlMs, records, localRecords, sessions, availability, mayKeep, queue: randomUUID() },
    )),
    keys: createFallbackKeyedStore({ primary: keys, availability }),
    rates: createRateStore({ client, availability }),
    openCallRecords: async () => createFallbackCallRecords({ primary: calls, availability }),
    close: () => {
      space.stop();
      subscription.close();
      client.disconnect();
    },
  };
};

const wireSqlite = async (
  choice: SqliteChoice,
  config: Config,
  parts: ObservedParts,
): Promise<Omit<WiredStore, 'requests'>> => {
  const { memory, now, observer, redactor } = parts;
  const { createStoreAvailability } = await import('../sessions/store-availability.ts');
  const { createFallbackKeyedStore, createFallbackSessionStore } = await import('../sessions/fallback-stores.ts');
  const { store: records, watch } = await openSqliteRecords(choice, parts);
  const toSessions = createToSessions(config, redactor);
  const localRecords = createMemoryRecordStore({ memory, now });
  const availability = createStoreAvailability({
    observer,
    now,
    onRecovered: localRecords.clear,
    store: { watch, check: records.check },
  });
  const sessions = createFallbackSessionStore({
    primary: toSessions({ mode: 'sqlite', store: records }),
    local: toSessions({ mode: 'local', store: localRecords }),
    policy: config.RETRY_BUDGET_ON_STORE_DOWN,
    availability,
  });
  return {
    kind: 'sqlite',
    ...(await wireBehindFallback(parts, {
      ...{ ttlMs: toSessionSettings(config).ttlMs, records, localRecords, sessions, availability },
      ...{ mayKeep: () => true, queue: LOCAL_QUEUE },
    })),
    rates: null,
    keys: createFallbackKeyedStore({
      primary: createRecordKeyedStore({ store: records, durability: 'durable' }),
      availability,
    }),
    openCallRecords: async (budget) => {
      const { createFallbackCallRecords } = await import('../sessions/calls/fallback-call-records.ts');
      const { callKind } = await import('../sessions/calls/call-kind.ts');
      const kept = { durability: 'file', store: records, keys: records.keys(callKind.name) } as const;
      return createFallbackCallRecords({
        primary: await openEmbeddedCalls(config, { ...kept, budget, now }),
        availability,
      });
    },
    close: records.close,
  };
};

type SqliteChoice = StoreChoice & { readonly kind: 'sqlite' };

/** The records of a file. A commit that fails takes it away for all who ask: memory answers before it. */
const openSqliteRecords = async (
  choice: SqliteChoice,
  { memory, log }: StoreParts,
): Promise<{ readonly store: SqliteRecordStore; readonly watch: WatchableStore['watch'] }> => {
  const { waitForSqliteRecordStore } = await withoutSqliteWarning(() => import('../store/sqlite-record-store.ts'));
  const watchers: ((error: unknown) => void)[] = [];
  const store = await waitForSqliteRecordStore({
    ...choice,
    cacheBytes: memory.totalBytes * KNOWN_STATES,
    now: Date.now,
    onFailed: (error) => {
      for (const refused of watchers) refused(error);
    },
    onInUse: (problem) => log.warn({ problem }, 'waiting for the file of the store, at most 30 s'),
  });
  const { serveCopies } = await import('../store/sqlite-copies.ts');
  const copies = serveCopies(choice.path, store.backup, (error) =>
    log.warn({ causes: describeCauses(error) }, 'recourse store backup cannot reach this process'),
  );
  const close = (): void => {
    copies.close();
    store.close();
  };
  return { store: { ...store, close }, watch: ({ refused }) => void watchers.push(refused) };
};

// Of the memory of all stores: of each kind the last states that this process has seen in Redis or in its file.
const KNOWN_STATES = 0.2;

const openRedisRecords = async (
  client: SwapClient,
  { memory, metrics }: Pick<StoreParts, 'memory' | 'metrics'>,
): Promise<RecordStore> => {
  const { createRedisRecordStore } = await import('../store/redis-record-store.ts');
  return createRedisRecordStore({
    client,
    cacheBytes: memory.totalBytes * KNOWN_STATES,
    timeouts: { short: SHORT_TIMEOUT_MS, long: LONG_TIMEOUT_MS },
    onConflict: () => {
      metrics.storeConflicts.count += 1;
    },
  });
};

const MIB = 1024 * 1024;

/** The memory of this process, parts of what V8 lets the heap grow to: that of all stores, and that of requests. */
export const wireMemory = (
  config: Config,
  log: Logger,
  metrics: Metrics,
): { readonly stores: StoreMemory; readonly requests: ByteBudget } => {
  const heapLimitBytes = getHeapStatistics().heap_size_limit;
  const totalBytes = toStoreBytes(heapLimitBytes, config.STORE_MEMORY_MB);
  const limitBytes = toRequestBytes(heapLimitBytes, config.REQUEST_MEMORY_MB);
  const sizes = {
    store_memory_mb: Math.floor(totalBytes / MIB),
    request_memory_mb: Math.floor(limitBytes / MIB),
    heap_limit_mb: Math.floor(heapLimitBytes / MIB),
  };
  const parts = { STORE_MEMORY_MB: totalBytes, REQUEST_MEMORY_MB: limitBytes } as const;
  for (const setting of ['STORE_MEMORY_MB', 'REQUEST_MEMORY_MB'] as const) {
    const asked = config[setting];
    if (asked !== undefined && parts[setting] < asked * MIB)
      log.warn({ ...sizes, asked_mb: asked }, `${setting} is larger than the heap allows`);
  }
  log.debug(sizes, 'memory of stores and requests');
  const requests = createByteBudget({ limitBytes, onRefused: metrics.requestMemory.refused });
  metrics.requestMemory.countBy(requests.inUse, limitBytes);
  return { stores: createStoreMemory({ totalBytes, watch: metrics.watchStore }), requests };
};
