import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { createPatience } from './patience.ts';

/** The little of a Redis client that the stores need. */
export type RedisClient = {
  /**
   * Sends one command, in a cluster to whoever serves its keys. Rejects within about 50 ms when Redis does not answer;
   * such a command may have been applied.
   */
  readonly call: (command: string, ...parameters: string[]) => Promise<unknown>;
  /** The same for what no batch waits for: rejects after a second. */
  readonly callPatiently: RedisClient['call'];
  /** What each server that takes writes says of its memory; as patient. */
  readonly memory: () => Promise<readonly string[]>;
  /** Whether one command may name keys of several hash slots. */
  readonly topology: 'server' | 'cluster';
  /** Starts connecting and goes on trying; never rejects. */
  readonly connect: () => void;
  readonly onReady: (listener: () => void) => void;
  /** Whether it is connected, to a cluster's nodes as far as it knows them. */
  readonly isReady: () => boolean;
  /** The connection, or an attempt at one, has ended without `disconnect`. */
  readonly onLost: (listener: () => void) => void;
  /** Of the connection, or of that to one node of a cluster; without a listener they are nobody's. */
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
  const hurried = createPatience(answerWithinMs);
  const patient = createPatience(ABANDONED_COMMAND_MS);
  const openTurn = createTurns(client, () => {
    const now = performance.now();
    hurried.begin(now);
    patient.begin(now);
  });
  let wanted = true;
  return {
    call: (command, ...parameters) => {
      openTurn();
      return hurried.wait(client.call(command, ...parameters));
    },
    callPatiently: (command, ...parameters) => {
      openTurn();
      return patient.wait(client.call(command, ...parameters));
    },
    memory: () => {
      openTurn();
      const servers = client instanceof Cluster ? client.nodes('master') : [client];
      return Promise.all(servers.map((server) => patient.wait(server.info('memory'))));
    },
    topology: client instanceof Cluster ? 'cluster' : 'server',
    // The outcome of the first attempt is told by the events; later ones are the retry strategy's.
    connect: () => void client.connect().then(ignore, ignore),
    onReady: (listener) =>
      void (client instanceof Cluster ? onNodesReady(client, listener) : client.on('ready', listener)),
    isReady: () => client.status === 'ready',
    onError: (listener) => {
      client.on('error', listener);
      // What ioredis says of one node of a cluster.
      client.on('node error', listener);
    },
    onLost: (listener) => void client.on('close', () => wanted && listener()),
    disconnect: () => {
      wanted = false;
      client.disconnect();
    },
  };
};

const ignore = (): void => undefined;

// A cluster connects to a node with the first command for it, and refuses every other one until that is done: so it is
// ready when all nodes are connected to, and a node that joins or comes back later is news as well.
const onNodesReady = (cluster: Cluster, listener: () => void): void => {
  const open = (node: Redis): Promise<void> => (node.status === 'wait' ? node.connect() : Promise.resolve());
  cluster.on('ready', () => void Promise.allSettled(cluster.nodes().map(open)).then(listener));
  cluster.on('+node', (node: Redis) => void (cluster.status === 'ready' && node.once('ready', listener)));
};

/**
 * Holds back what a connection writes until the turn of the event loop is over, so that the commands of all requests that
 * came in it are one write: a write costs more than all else of a small command. `written` is called then.
 */
const createTurns = (client: Redis | Cluster, written: () => void): (() => void) => {
  let held = 0;
  let stream: Redis['stream'] | undefined;
  const write = (): void => {
    held = 0;
    stream?.uncork();
    stream = undefined;
    written();
  };
  const endTurn = (): void => {
    if (held > 0) write();
  };
  return () => {
    if (held === MOST_HELD) write();
    held += 1;
    if (held > 1) return;
    // The nodes of a cluster have a connection each, and write at once.
    stream = client instanceof Redis ? client.stream : undefined;
    stream?.cork();
    setImmediate(endTurn);
  };
};

// What Redis does of a burst while the rest of it is still being read.
const MOST_HELD = 32;

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

const createStandalone = (url: string): Redis =>
  new Redis(url, {
    ...SHARED_OPTIONS,
    enableOfflineQueue: false,
    retryStrategy: retryDelay,
    reconnectOnError: createReconnectRule(),
  });

// The nodes that a cluster names itself are reached as the first one is: ioredis keeps what a URL says to that URL.
const toAccess = (url: string): { username?: string; password?: string; tls?: Record<string, never> } => {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
};

const createCluster = (nodes: readonly string[]): Cluster =>
  new Cluster([...nodes], {
    // Must also stand at the top level (langfuse#12574).
    enableOfflineQueue: false,
    lazyConnect: true,
    clusterRetryStrategy: retryDelay,
    // How long a silent node is asked who serves what, before the next one is.
    slotsRefreshTimeout: 1000,
    // By default ioredis sends a command again whose connection was lost: it may have been applied. Where the cluster
    // is down the answer to a second try would come when nobody waits for it any more.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    // A slot that is on its way: what was refused was not applied. Four tries end before the caller's patience does.
    retryDelayOnTryAgain: 10,
    maxRedirections: 5,
    redisOptions: { ...SHARED_OPTIONS, ...toAccess(nodes[0] ?? '') },
  });
