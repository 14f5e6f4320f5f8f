import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { isSentinelUrl, splitRedisUrl } from 'recourse-server/sessions/redis-url';
import { LONG_TIMEOUT_MS } from './command-timeout.ts';
import { createSentinelOptions } from './redis-sentinel.ts';

/** A REDIS_URL, also with REDIS_SENTINEL_PASSWORD. */
export type RedisAddress = string | { readonly url: string; readonly sentinelPassword?: string | undefined };

const MAX_RECONNECT_DELAY_MS = 1000;

// ioredis 6 by default waits 73 s until a command fails, runs a script again whose reply was lost, and keeps timed-out
// commands in a queue that runs later. With these a command fails within 51 ms and is never sent twice.
const SHARED_OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // When ioredis itself ends a command, which no caller waits for any more by then.
  commandTimeout: LONG_TIMEOUT_MS + 500,
  connectTimeout: 1000,
  socketTimeout: 2000,
  enableAutoPipelining: false,
} as const satisfies RedisOptions;

const OPTIONS = {
  commands: SHARED_OPTIONS,
  // Without a time for data to come: there may be none for hours.
  messages: { ...SHARED_OPTIONS, socketTimeout: undefined, autoResubscribe: false },
  producer: { ...SHARED_OPTIONS, lazyConnect: false },
  // A worker's commands wait until Redis is back. One that blocks for a job may take ten seconds; and what BullMQ finds not
  // connected at all it connects once, and takes for lost where that fails.
  worker: {
    ...SHARED_OPTIONS,
    lazyConnect: false,
    enableOfflineQueue: true,
    autoResendUnfulfilledCommands: true,
    maxRetriesPerRequest: null,
    commandTimeout: undefined,
    socketTimeout: 15_000,
  },
} as const satisfies Record<string, RedisOptions>;

const retryDelay = (attempt: number): number =>
  Math.min(MAX_RECONNECT_DELAY_MS, 50 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);

/**
 * A connection to one server (`redis://`, `rediss://`), to the master that Sentinels name (`redis+sentinel://`) or, for a
 * comma-separated list of URLs, to a cluster. It goes on trying.
 */
export const openConnection = (address: RedisAddress, use: keyof typeof OPTIONS): Redis | Cluster => {
  const { url, sentinelPassword } = typeof address === 'string' ? { url: address } : address;
  const nodes = splitRedisUrl(url);
  if (nodes.length > 1) return openCluster(nodes, use);
  const options = { ...OPTIONS[use], retryStrategy: retryDelay, reconnectOnError: createReconnectRule() };
  if (!isSentinelUrl(url)) return new Redis(url, options);
  return new Redis({ ...options, ...createSentinelOptions(url, sentinelPassword, retryDelay) });
};

// A server that was demoted: behind its name another one may be the master by now. At most once a second, or a replica
// that stays one would be connected to anew for each command. Never 2, which would send the command again.
const createReconnectRule = (): ((error: Error) => boolean) => {
  let lastAt = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    const now = performance.now();
    if (!message.startsWith('READONLY') || now - lastAt < MAX_RECONNECT_DELAY_MS) return false;
    lastAt = now;
    return true;
  };
};

const CLUSTER_OPTIONS = {
  // Must also stand at the top level (langfuse#12574).
  enableOfflineQueue: false,
  // By default ioredis sends a command again whose connection was lost: it may have been applied. Where the cluster
  // is down the answer to a second try would come when no caller waits for it any more.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  // A slot that is on its way: what was refused was not applied. Four tries end before the caller's time does.
  retryDelayOnTryAgain: 10,
  maxRedirections: 5,
} as const;

const openCluster = (nodes: readonly string[], use: keyof typeof OPTIONS): Cluster =>
  new Cluster([...nodes], {
    lazyConnect: OPTIONS[use].lazyConnect,
    clusterRetryStrategy: retryDelay,
    // How long a silent node is asked who serves what, before the next one is.
    slotsRefreshTimeout: 1000,
    ...(use === 'worker' ? {} : CLUSTER_OPTIONS),
    redisOptions: { ...OPTIONS[use === 'worker' ? use : 'commands'], ...readAccess(nodes[0] ?? '') },
  });

// The nodes that a cluster names itself are reached as the first one is: ioredis keeps what a URL says to that URL.
const readAccess = (url: string) => {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
};
