import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { BudgetSettings, SessionStore } from './executor/session-store.ts';
import { createFallbackSessionStore } from './sessions/fallback-session-store.ts';
import { createMemorySessionStore, createRequestSessionStore } from './sessions/memory-session-store.ts';
import { createRedisSessionStore } from './sessions/redis-session-store.ts';
import { createStoreObserver } from './telemetry/create-store-observer.ts';
import type { Metrics } from './telemetry/metrics.ts';

const MAX_SESSIONS = 100_000;
const MAX_LOCAL_SESSIONS = 10_000;

export type WiredStore = {
  readonly mode: 'memory' | 'redis';
  readonly sessions: SessionStore;
  /** For batches without a session. */
  readonly requests: SessionStore;
  readonly isUp: () => boolean;
  readonly close: () => void;
};

const toBudgetSettings = (config: Config): BudgetSettings => ({
  sessionRetries: config.SESSION_RETRIES,
  cooldownMs: config.SESSION_BUDGET_COOLDOWN_SECONDS * 1000,
  ttlMs: config.SESSION_TTL_SECONDS * 1000,
});

/** The session store the settings ask for: Redis behind its fall-back, or this process's memory. */
export const wireStore = async (
  config: Config,
  log: Logger,
  metrics: Metrics,
  now: () => number,
): Promise<WiredStore> => {
  const settings = toBudgetSettings(config);
  const requests = createRequestSessionStore({ settings, now });
  const observer = createStoreObserver({ metrics, log, now });
  if (config.REDIS_URL === undefined) {
    const sessions = createMemorySessionStore({ mode: 'memory', settings, maxSessions: MAX_SESSIONS, now });
    return { mode: 'memory', sessions, requests, isUp: () => true, close: () => undefined };
  }
  // Only here: ioredis is 9 MB that the embedded store need not pay.
  const { createRedisClient } = await import('./sessions/redis-client.ts');
  const client = createRedisClient(config.REDIS_URL);
  client.onError((error) => observer.operationFailed('connect', error));
  client.connect();
  const sessions = createFallbackSessionStore({
    primary: createRedisSessionStore({ client, settings }),
    local: createMemorySessionStore({ mode: 'local', settings, maxSessions: MAX_LOCAL_SESSIONS, now }),
    policy: config.RETRY_BUDGET_ON_STORE_DOWN,
    observer,
    now,
  });
  return { mode: 'redis', sessions, requests, isUp: sessions.isUp, close: client.disconnect };
};
