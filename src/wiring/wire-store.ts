import { getHeapStatistics } from 'node:v8';
import type { Logger } from 'pino';
import type { RateLimitsOptions } from '../auth/rate-limits.ts';
import type { Config } from '../config/settings/config.ts';
import { readStoreChoice } from '../config/settings/store-choice.ts';
import { parseStoreKeys } from '../config/settings/store-keys.ts';
import type { IdempotencyStore } from '../executor/idempotency-store.ts';
import { createUnpackRound } from '../executor/journal.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { SessionSettings, SessionStore } from '../executor/session-store.ts';
import { type ByteBudget, createByteBudget } from '../memory/byte-budget.ts';
import { createStoreMemory, type StoreMemory, toRequestBytes, toStoreBytes } from '../memory/store-memory.ts';
import { PACKAGES } from '../packages.ts';
import { createRecordEndedSessions } from '../sessions/ended-sessions.ts';
import { createIdempotencyStore } from '../sessions/idempotency/idempotency-store.ts';
import { createRecordPageTokens } from '../sessions/record-page-tokens.ts';
import { createRecordSessionStore, type RecordSessionStore } from '../sessions/record-session-store.ts';
import { createRequestSessionStore } from '../sessions/request-session-store.ts';
import type { StoreBackend } from '../sessions/store-backend.ts';
import { OpenedStoreSpace, UNLIMITED_SPACE } from '../sessions/store-space.ts';
import { createMemoryRecordStore, type MemoryRecordStore } from '../store/memory-record-store.ts';
import type { OpenedStore } from '../store/opened-store.ts';
import { createSeals, NO_SEALING, type Sealing } from '../store/seals.ts';
import { KEY_PREFIX } from '../store/shared-connection.ts';
import type { StoreAvailability } from '../store/store-availability.ts';
import type { SpaceObserver, StoreObserver } from '../store/store-observer.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createSpaceObserver, createStoreObserver, createUnopenedObserver } from '../telemetry/store-observers.ts';
import type { PageTokenStore } from '../tools/page-tokens.ts';

/** What is kept between batches. */
export type Stores = { readonly sessions: SessionStore; readonly keys: IdempotencyStore };

/** What the stores are made with. */
type StoreParts = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly memory: StoreMemory;
  readonly redactor: Pick<Redactor, 'cut'>;
  readonly now: () => number;
};

/** What the settings say of all sessions. */
export const readSessionSettings = (config: Config): SessionSettings => ({
  sessionRetries: config.SESSION_RETRIES,
  cooldownMs: config.SESSION_BUDGET_COOLDOWN_SECONDS * 1000,
  ttlMs: config.SESSION_TTL_SECONDS * 1000,
  maxCalls: config.SESSION_MAX_CALLS,
  maxRounds: config.SESSION_MAX_ROUNDS,
  journal: config.SESSION_JOURNAL,
});

/** Records, and how they are reached: in the memory of this process, or in a store that may be away. */
type Records = Omit<StoreBackend, 'onReturn' | 'openOutageMemory'> & {
  /** Whether the store is up, and what takes over while it is away: forgotten when it is back. null: it is in this process. */
  readonly outage: { readonly availability: StoreAvailability; readonly local: MemoryRecordStore } | null;
  /** What rates are counted with, all replicas together; null where there is no Redis. */
  readonly rates: RateLimitsOptions['store'];
  readonly close: () => Promise<void>;
};

export type WiredStore = Awaited<ReturnType<typeof wireStore>>;

/** The stores the settings ask for: in Redis or a file, or in this process's memory. */
export const wireStore = async (config: Config, parts: StoreParts) => {
  const { memory } = parts;
  const { kind } = readStoreChoice(config);
  const opened = await openRecords(config, parts);
  const { records, space, sealing, outage, rates, close, ...reached } = opened;
  const time = records.now;
  const settings = readSessionSettings(config);
  const { ttlMs } = settings;
  const unpackRound = createUnpackRound(parts.redactor);
  const { mayKeepJournals } = space;
  const sessions = createRecordSessionStore({ mode: kind, store: records, settings, unpackRound, mayKeepJournals });
  /** Its own memory: sessions of an outage are forgotten as the store takes them, pages all at once. */
  const openLocalSessions = () => {
    // By the store's time as well: what it takes over, and gives back, has times of the store.
    const store = createMemoryRecordStore({ memory, now: time });
    return createRecordSessionStore({ mode: 'local', store, settings, unpackRound, mayKeepJournals });
  };
  const pageTokens = createRecordPageTokens({ store: records, local: outage?.local ?? null, ttlMs });
  const { toNames } = sealing.seals;
  return {
    kind,
    /** The store's time in Unix milliseconds: by this pending calls and messages end, whichever process looks at them. */
    time,
    sessions: withPages(
      outage === null
        ? sessions
        : await withFallback(sessions, outage.availability, openLocalSessions(), config.RETRY_BUDGET_ON_STORE_DOWN),
      pageTokens,
    ),
    keys:
      outage === null
        ? createIdempotencyStore({ store: records, space, toNames, durability: 'process', memory })
        : createIdempotencyStore({ store: records, space, toNames, durability: 'durable' }),
    /** For batches without a session. */
    requests: createRequestSessionStore({ settings }),
    isUp: outage === null ? () => true : outage.availability.isUp,
    rates,
    /** What pages of lists are found again with. */
    pageTokens,
    /** Which sessions of `/mcp` have ended. */
    endedSessions: createRecordEndedSessions({ store: records, ttlMs }),
    /** Where others keep records of their own. */
    backend: {
      ...reached,
      records,
      space,
      sealing,
      onReturn: outage?.availability.onRecovered ?? (() => undefined),
      openOutageMemory: outage === null ? null : () => createMemoryRecordStore({ memory, now: time }),
    },
    close,
  };
};

const withFallback = async (
  primary: RecordSessionStore,
  availability: StoreAvailability,
  local: RecordSessionStore,
  policy: Config['RETRY_BUDGET_ON_STORE_DOWN'],
): Promise<SessionStore> => {
  const { createFallbackSessionStore } = await import('../sessions/fallback-session-store.ts');
  const { OutageSessions } = await import('../sessions/outage-sessions.ts');
  const outage = new OutageSessions({ shared: primary.records, local });
  availability.onRecovered(() => void outage.settleAll());
  return createFallbackSessionStore({ primary, local, outage, policy, availability });
};

/** Sessions that take their pages with them. Those go first: where Redis is away, ending fails and is requested again. */
const withPages = (sessions: SessionStore, pageTokens: PageTokenStore): SessionStore => ({
  ...sessions,
  end: async (sessionKey) => {
    await pageTokens.forget(sessionKey);
    await sessions.end(sessionKey);
  },
});

/** The records that the settings choose, loaded only then: ioredis alone is 9 MB that others need not pay. */
const openRecords = async (config: Config, parts: StoreParts): Promise<Records> => {
  const { log, metrics, memory } = parts;
  // Also without Redis: the metrics of a store are there from the start.
  const observers = { observer: createStoreObserver(parts), spaceObserver: createSpaceObserver(parts) };
  const sealing = createSealing(config, parts);
  const { REDIS_URL: url, REDIS_SENTINEL_PASSWORD: sentinelPassword, REDIS_MEMORY_MB } = config;
  const choice = readStoreChoice(config);
  const cacheBytes = memory.totalBytes * KNOWN_STATES;
  if (choice.kind === 'sqlite') {
    const { openSqliteStore } = await PACKAGES.storeSqlite();
    return openGuarded(await openSqliteStore({ ...choice, cacheBytes, log }), sealing, { ...parts, ...observers });
  }
  if (url === undefined) return openMemory(memory);
  const { openRedisStore } = await PACKAGES.storeRedis();
  const onConflict = (): void => {
    metrics.storeConflicts.count += 1;
  };
  const onError = (error: unknown): void => observers.observer.operationFailed('connect', error);
  const memoryBytes = REDIS_MEMORY_MB * MIB;
  const store = await openRedisStore({ url, sentinelPassword, cacheBytes, memoryBytes, onConflict, onError });
  return openGuarded(store, sealing, { ...parts, ...observers });
};

const createSealing = (config: Config, parts: StoreParts): Sealing => {
  const keys = parseStoreKeys(config.STORE_KEYS);
  // The settings were refused where they have a mistake.
  const seals = createSeals('mistake' in keys ? [] : keys, config.STORE_SEALED ?? 'required');
  if (config.REDIS_URL !== undefined && !seals.isSealing)
    parts.log.warn(
      'STORE_KEYS is not set: whoever writes to Redis runs tools as any tenant, and whoever reads it reads the arguments of pending calls',
    );
  return { seals, onUnopened: createUnopenedObserver(parts) };
};

const openMemory = (memory: StoreMemory): Records => ({
  // Unix milliseconds, by a clock that no operator sets.
  records: createMemoryRecordStore({ memory, now: () => Math.floor(performance.timeOrigin + performance.now()) }),
  durability: 'process',
  space: UNLIMITED_SPACE,
  sealing: NO_SEALING,
  keysOf: () => [],
  shared: null,
  outage: null,
  rates: null,
  close: async () => undefined,
});

type GuardParts = Pick<StoreParts, 'memory' | 'now'> & {
  readonly observer: StoreObserver;
  readonly spaceObserver: SpaceObserver;
};

/** A store that is away now and then: memory answers before it meanwhile. */
const openGuarded = async (store: OpenedStore, sealing: Sealing, parts: GuardParts): Promise<Records> => {
  const { observer, spaceObserver, memory, now } = parts;
  const { durability, keysOf, shared, look, watch, isConnected } = store;
  const { guardRecordStore } = await import('../store/guarded-record-store.ts');
  const local = createMemoryRecordStore({ memory, now: store.records.now });
  // One for all that ask: an outage is one outage.
  const { records, availability } = guardRecordStore(store.records, { observer, now, watch, isConnected });
  availability.onRecovered(local.clear);
  const onFailed = (error: unknown): void => observer.operationFailed('space', error);
  const space = new OpenedStoreSpace({ store: records, look, onFailed, observer: spaceObserver });
  space.start();
  await store.connect(() => space.look());
  return {
    durability,
    keysOf,
    records,
    space,
    sealing,
    outage: { availability, local },
    ...(shared === null ? { shared, rates: null } : guardShared(shared, availability)),
    close: async () => {
      await space.stop();
      store.close();
    },
  };
};

/** The connection that processes share, whose commands count as operations of the store. */
const guardShared = (
  { client, subscription }: NonNullable<OpenedStore['shared']>,
  { ask }: StoreAvailability,
): Pick<Records, 'shared' | 'rates'> => ({
  shared: {
    client: {
      ...client,
      callWithTimeout: async (...words) => ask('pending', 'long', () => client.callWithTimeout(...words)),
      openScript: (file) => {
        const run = client.openScript(file);
        // Asked as one: a server that was restarted does not know the script by its hash, and that is no outage.
        return async (words) => ask('pending', 'long', () => run(words));
      },
    },
    subscription,
  },
  rates: {
    keyPrefix: `${KEY_PREFIX}:rate`,
    call: async (...words) => ask('rate', 'short', () => client.call(...words)),
  },
});

// Of the memory of all stores: the last states that this process has seen in Redis or in its file. As much as the parts of results, marks, leases,
// answers and pending calls, which are not in memory then.
const KNOWN_STATES = 0.32;

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
    const requestedMb = config[setting];
    if (requestedMb !== undefined && parts[setting] < requestedMb * MIB)
      log.warn({ ...sizes, asked_mb: requestedMb }, `${setting} is larger than the heap allows`);
  }
  log.debug(sizes, 'memory of stores and requests');
  const requests = createByteBudget({ limitBytes, onRefused: metrics.requestMemory.refused });
  metrics.requestMemory.countBy(requests.inUse, limitBytes);
  return { stores: createStoreMemory({ totalBytes, watch: metrics.watchStore }), requests };
};
