import { Cluster, Redis, type RedisOptions } from 'ioredis';

/** The little of a Redis client that the stores need. */
export type RedisClient = {
  /** Sends one command. Rejects within about 50 ms when Redis does not answer; such a command may have been applied. */
  readonly call: (command: string, ...parameters: string[]) => Promise<unknown>;
  /** Starts connecting and goes on trying; never rejects. */
  readonly connect: () => void;
  readonly onReady: (listener: () => void) => void;
  /** The connection, or an attempt at one, has ended without `disconnect`. */
  readonly onLost: (listener: () => void) => void;
  readonly onError: (listener: (error: unknown) => void) => void;
  readonly disconnect: () => void;
};

const COMMAND_TIMEOUT_MS = 50;
// When ioredis itself ends a command that nobody waits for any more.
const ABANDONED_COMMAND_MS = 1000;
const MAX_RECONNECT_DELAY_MS = 1000;

// ioredis 6 by default waits 73 s until a command fails, runs a script again whose reply was lost, and keeps timed-out
// commands in a queue that runs later. With these a command fails within 51 ms and is never sent twice.
const SHARED_OPTIONS = {
  lazyConnect: true,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  commandTimeout: ABANDONED_COMMAND_MS,
  connectTimeout: 1000,
  socketTimeout: 2000,
  enableAutoPipelining: false,
  // A replica that was promoted or demoted: connect anew. Never 2, which would send the command again.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} as const satisfies RedisOptions;

const retryDelay = (attempt: number): number =>
  Math.min(MAX_RECONNECT_DELAY_MS, 50 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);

/**
 * A client for one server (`redis://`, `rediss://`) or, for a comma-separated list of URLs, a cluster. Gives up an
 * answer after `answerWithinMs` milliseconds, at most 1 000.
 */
export const createRedisClient = (url: string, answerWithinMs = COMMAND_TIMEOUT_MS): RedisClient => {
  const nodes = url.split(',').map((node) => node.trim());
  const client = nodes.length > 1 ? createCluster(nodes) : createStandalone(url);
  let wanted = true;
  return {
    call: (command, ...parameters) => withDeadline(client.call(command, ...parameters), answerWithinMs),
    // The outcome of the first attempt is told by the events; later ones are the retry strategy's.
    connect: () => void client.connect().then(ignore, ignore),
    onReady: (listener) => void client.on('ready', listener),
    onError: (listener) => void client.on('error', listener),
    onLost: (listener) => void client.on('close', () => wanted && listener()),
    disconnect: () => {
      wanted = false;
      client.disconnect();
    },
  };
};

const ignore = (): void => undefined;

/**
 * Rejects when no answer has come in time. Not commandTimeout: that is a timer alone, and where a burst of requests
 * kept the event loop busy it fires before the answers that are there are read. They are read before an immediate.
 */
const withDeadline = (answer: Promise<unknown>, ms: number): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error('Command timed out'));
    const timer = setTimeout(() => setImmediate(giveUp), ms);
    const ended = (): void => clearTimeout(timer);
    answer.then(resolve, reject).then(ended, ended);
  });

const createStandalone = (url: string): Redis =>
  new Redis(url, { ...SHARED_OPTIONS, enableOfflineQueue: false, retryStrategy: retryDelay });

const createCluster = (nodes: readonly string[]): Cluster =>
  new Cluster([...nodes], {
    // Must also stand at the top level (langfuse#12574).
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: retryDelay,
    redisOptions: SHARED_OPTIONS,
  });
