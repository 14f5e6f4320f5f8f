import type { Logger } from 'pino';
import type { EndedSessions } from '../executor/ended-sessions.ts';
import { createUnpackRound } from '../executor/journal/round-journal.ts';
import type { KeyedStore } from '../executor/keyed-store.ts';
import type { Redactor } from '../executor/redactor.ts';
import type { SessionSettings, SessionStore } from '../executor/session-store.ts';
import type { SpaceObserver, StoreObserver } from '../executor/store-observer.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import { createMemoryEndedSessions, createRedisEndedSessions } from '../sessions/ended-sessions.ts';
import { createMemoryKeyedStore } from '../sessions/keyed/memory-keyed-store.ts';
import { createMemoryPageTokens } from '../sessions/memory-page-tokens.ts';
import { createMemorySessionStore, createRequestSessionStore } from '../sessions/memory-session-store.ts';
import type { RateStore } from '../sessions/rate-store.ts';
import type { SpaceSettings } from '../sessions/space/store-space.ts';
import type { Config } from '../settings/config.ts';
import { createSpaceObserver } from '../telemetry/create-space-observer.ts';
import { createStoreObserver } from '../telemetry/create-store-observer.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { PageTokenStore, PageTokens } from '../tools/page-tokens.ts';

/** What is kept between batches. */
export type Stores = {
  readonly sessions: SessionStore;
  readonly keys: KeyedStore;
};

export type WiredStore = Stores & {
  readonly mode: 'memory' | 'redis';
  /** For batches without a session. */
  readonly requests: SessionStore;
  readonly isUp: () => boolean;
  /** What rates are counted with, all replicas together; null where there is no Redis. */
  readonly rates: RateStore | null;
  /** What pages of lists are found again with. */
  readonly pageTokens: PageTokens;
  /** Which sessions of `/mcp` have ended. */
  readonly endedSessions: EndedSessions;
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

const toSpaceSettings = (config: Config): SpaceSettings => ({
  memoryBytes: config.REDIS_MEMORY_MB * 1024 * 1024,
  droppablePercent: config.STORE_DROPPABLE_PERCENT,
  tenantPercent: config.STORE_TENANT_PERCENT,
  sessionTtlMs: config.SESSION_TTL_SECONDS * 1000,
});

/** The stores the settings ask for: Redis behind its fall-back, or this process's memory. */
export const wireStore = async (
  config: Config,
  { log, metrics, memory, redactor, now }: StoreParts,
): Promise<WiredStore> => {
  const settings = toSessionSettings(config);
  const requests = createRequestSessionStore({ settings, now });
  const observer = createStoreObserver({ metrics, log, now });
  const spaceObserver = createSpaceObserver({ metrics, log, now });
  if (config.REDIS_URL === undefined) {
    const store = createMemorySessionStore({ mode: 'memory', settings, memory, now });
    const keys = createMemoryKeyedStore({ memory, now });
    const pageTokens = createMemoryPageTokens({ ttlMs: settings.ttlMs, memory, now });
    const sessions = withPages(store, pageTokens);
    const endedSessions = createMemoryEndedSessions({ ttlMs: settings.ttlMs, memory, now });
    const close = (): void => undefined;
    const kept = { sessions, keys, pageTokens, endedSessions };
    return { mode: 'memory', ...kept, requests, isUp: () => true, rates: null, close };
  }
  const terms = { settings, observer, spaceObserver, memory, redactor, now };
  return { ...(await wireRedis(config.REDIS_URL, config, terms)), mode: 'redis', requests };
};

/** Sessions that take their pages with them. Those go first: where Redis is away, ending fails and is asked for again. */
const withPages = (sessions: SessionStore, pageTokens: PageTokenStore): SessionStore => ({
  ...sessions,
  end: async (sessionKey) => {
    await pageTokens.forget(sessionKey);
    await sessions.end(sessionKey);
  },
});

type RedisTerms = Pick<StoreParts, 'memory' | 'redactor' | 'now'> & {
  readonly settings: SessionSettings;
  readonly observer: StoreObserver;
  readonly spaceObserver: SpaceObserver;
};

const wireRedis = async (
  url: string,
  config: Config,
  { settings, observer, spaceObserver, memory, redactor, now }: RedisTerms,
): Promise<Omit<WiredStore, 'mode' | 'requests'>> => {
  // Only here: ioredis is 9 MB that the embedded store need not pay.
  const { createRedisClient } = await import('../sessions/redis-client.ts');
  const { createRedisSessionStore } = await import('../sessions/redis-session-store.ts');
  const { createRedisKeyedStore } = await import('../sessions/keyed/redis-keyed-store.ts');
  const { createStoreAvailability } = await import('../sessions/store-availability.ts');
  const { createFallbackSessionStore } = await import('../sessions/fallback-session-store.ts');
  const { createRateStore } = await import('../sessions/rate-store.ts');
  const { createRedisSpace } = await import('../sessions/space/store-space.ts');
  const { createRedisPageTokens } = await import('../sessions/redis-page-tokens.ts');
  const { createFallbackKeyedStore } = await import('../sessions/keyed/fallback-keyed-store.ts');
  const client = createRedisClient(url);
  client.onError((error) => observer.operationFailed('connect', error));
  const space = createRedisSpace({
    client,
    settings: toSpaceSettings(config),
    observer: spaceObserver,
    onFailed: (error) => observer.operationFailed('space', error),
    now,
  });
  const primary = createRedisSessionStore({ client, settings, unpackRound: createUnpackRound(redactor), space });
  const local = createMemorySessionStore({ mode: 'local', settings, memory, now });
  // One for all that ask: an outage is one outage.
  const onRecovered = (): void => {
    local.clear();
    pageTokens.clear();
  };
  const availability = createStoreAvailability({ observer, now, onRecovered, store: primary });
  const store = createFallbackSessionStore({
    primary,
    local,
    policy: config.RETRY_BUDGET_ON_STORE_DOWN,
    availability,
  });
  const keys = createFallbackKeyedStore({ primary: createRedisKeyedStore({ client, space }), availability });
  const rates = createRateStore({ client, availability });
  const pageTokens = createRedisPageTokens({
    client,
    availability,
    ttlMs: settings.ttlMs,
    memory,
    now,
    onRefused: (error) => observer.operationFailed('page', error),
  });
  client.connect();
  space.start();
  const sessions = withPages(store, pageTokens);
  const endedSessions = createRedisEndedSessions({ client, availability, ttlMs: settings.ttlMs });
  const close = (): void => {
    space.stop();
    client.disconnect();
  };
  return { sessions, keys, rates, pageTokens, endedSessions, isUp: availability.isUp, close };
};
