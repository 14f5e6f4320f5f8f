import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { isSentinelUrl, splitRedisUrl } from 'recourse-server/sessions/redis-url';
import { CommandTimeout, LONG_TIMEOUT_MS, SHORT_TIMEOUT_MS } from './command-timeout.ts';
import { toSentinelOptions } from './redis-sentinel.ts';

/** A REDIS_URL, also with REDIS_SENTINEL_PASSWORD. */
export type RedisAddress = string | { readonly url: string; readonly sentinelPassword?: string | undefined };

/** The little of a Redis client that the stores need. */
export type RedisClient = {
  /**
   * Sends one command, in a cluster to whoever serves its keys. Rejects within about 50 ms when Redis does not answer;
   * such a command may have been applied.
   */
  readonly call: (command: string, ...parameters: string[]) => Promise<unknown>;
  /** The same for what must be durable, and for what no batch waits for: rejects after a second. */
  readonly callWithTimeout: RedisClient['call'];
  /** Sends one command at once. Rejects with Redis's error, or where the connection is lost: whoever asks knows how long to wait. */
  readonly send: RedisClient['call'];
  /** Sends a message; as patient. Those of a channel stay in their order: in a cluster one node takes them all. */
  readonly publish: (channel: string, message: string) => Promise<unknown>;
  /** Makes a script known to the servers before it is first run. Best effort. */
  readonly preload: (lua: string) => void;
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

const MAX_RECONNECT_DELAY_MS = 1000;

// ioredis 6 by default waits 73 s until a command fails, runs a script again whose reply was lost, and keeps timed-out
// commands in a queue that runs later. With these a command fails within 51 ms and is never sent twice.
const SHARED_OPTIONS = {
  lazyConnect: true,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  // When ioredis itself ends a command, which nobody waits for any more by then.
  commandTimeout: LONG_TIMEOUT_MS + 500,
  connectTimeout: 1000,
  socketTimeout: 2000,
  enableAutoPipelining: false,
} as const satisfies RedisOptions;

const retryDelay = (attempt: number): number =>
  Math.min(MAX_RECONNECT_DELAY_MS, 50 * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);

/**
 * A client for one server (`redis://`, `rediss://`), for the master that Sentinels name (`redis+sentinel://`) or, for a
 * comma-separated list of URLs, a cluster. Gives up an answer after `answerWithinMs` milliseconds, at most 1 000.
 */
export const createRedisClient = (address: RedisAddress, answerWithinMs = SHORT_TIMEOUT_MS): RedisClient => {
  const nodes = toNodes(address);
  const client = nodes.length > 1 ? createCluster(nodes) : createStandalone(address);
  const hurried = new CommandTimeout(answerWithinMs);
  const patient = new CommandTimeout(LONG_TIMEOUT_MS);
  const openTurn = createTurns(client, () => {
    const now = performance.now();
    hurried.begin(now);
    patient.begin(now);
  });
  let wanted = true;
  const readyListeners: (() => void)[] = [];
  const onReady = (listener: () => void): void => void readyListeners.push(listener);
  const becomeReady = (): void => {
    for (const listener of readyListeners) listener();
  };
  if (client instanceof Cluster) onNodesReady(client, becomeReady);
  else client.on('ready', becomeReady);
  const ask = <Answer>(timeout: CommandTimeout, command: () => Promise<Answer>): Promise<Answer> => {
    openTurn();
    return timeout.wait(command());
  };
  return {
    // Its listener is the first: what others ask at a new connection comes after the scripts.
    preload: createPreload(client, onReady),
    call: (command, ...parameters) => ask(hurried, () => client.call(command, ...parameters)),
    callWithTimeout: (command, ...parameters) => ask(patient, () => client.call(command, ...parameters)),
    send: (command, ...parameters) => client.call(command, ...parameters),
    publish: (channel, message) => ask(patient, () => toPublisher(client, channel).publish(channel, message)),
    memory: () => Promise.all(mastersOf(client).map((server) => ask(patient, () => server.info('memory')))),
    topology: client instanceof Cluster ? 'cluster' : 'server',
    // The outcome of the first attempt is told by the events; later ones are the retry strategy's.
    connect: () => void client.connect().then(ignore, ignore),
    onReady,
    isReady: () => client.status === 'ready',
    onError: (listener) => {
      client.on('error', listener);
      // What ioredis says of one node of a cluster.
      client.on('node error', listener);
      // What it says of one Sentinel: of an address, a password or a name that is wrong only this tells.
      client.on('sentinelError', listener);
    },
    onLost: (listener) => void client.on('close', () => wanted && listener()),
    disconnect: () => {
      wanted = false;
      client.disconnect();
    },
  };
};

/** The servers that take writes. */
const mastersOf = (client: Redis | Cluster): readonly Redis[] =>
  client instanceof Cluster ? client.nodes('master') : [client];

const toPublisher = (client: Redis | Cluster, channel: string): Redis | Cluster => {
  const masters = mastersOf(client);
  return masters[channel.charCodeAt(channel.length - 1) % masters.length] ?? client;
};

/**
 * Sends each script to the servers before it is first run, and again at each new connection: a server that was restarted has
 * forgotten it. Best effort: the user of Redis may lack the right, and a script that a server does not know is sent whole.
 */
const createPreload = (client: Redis | Cluster, onReady: RedisClient['onReady']): RedisClient['preload'] => {
  const scripts = new Set<string>();
  const load = (lua: string): void => {
    for (const server of mastersOf(client)) server.script('LOAD', lua).then(ignore, ignore);
  };
  onReady(() => {
    for (const lua of scripts) load(lua);
  });
  return (lua) => {
    if (scripts.has(lua)) return;
    scripts.add(lua);
    if (client.status === 'ready') load(lua);
  };
};

const toUrl = (address: RedisAddress): string => (typeof address === 'string' ? address : address.url);
const toNodes = (address: RedisAddress): readonly string[] => splitRedisUrl(toUrl(address));

const ignore = (): void => undefined;

// A cluster connects to a node with the first command for it, and refuses every other one until that is done: so it is
// ready when all nodes are connected to, and a node that joins or comes back later is news as well. Once for a cluster: a
// second one would take nodes that are connecting for connected.
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
  let corked = 0;
  let stream: Redis['stream'] | undefined;
  const write = (): void => {
    corked = 0;
    stream?.uncork();
    stream = undefined;
    written();
  };
  const endTurn = (): void => {
    if (corked > 0) write();
  };
  return () => {
    if (corked === MOST_CORKED) write();
    corked += 1;
    if (corked > 1) return;
    // The nodes of a cluster have a connection each, and write at once.
    stream = client instanceof Redis ? client.stream : undefined;
    stream?.cork();
    setImmediate(endTurn);
  };
};

// What Redis does of a burst while the rest of it is still being read.
const MOST_CORKED = 32;

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

const createStandalone = (address: RedisAddress, more: Omit<RedisOptions, 'replyMapping'> = {}): Redis => {
  const url = toUrl(address);
  const options = {
    ...SHARED_OPTIONS,
    enableOfflineQueue: false,
    retryStrategy: retryDelay,
    reconnectOnError: createReconnectRule(),
    ...more,
  };
  if (!isSentinelUrl(url)) return new Redis(url, options);
  const password = typeof address === 'string' ? undefined : address.sentinelPassword;
  return new Redis({ ...options, ...toSentinelOptions(url, password, retryDelay) });
};

// The nodes that a cluster names itself are reached as the first one is: ioredis keeps what a URL says to that URL.
const toAccess = (url: string): { username?: string; password?: string; tls?: Record<string, never> } => {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
};

const createCluster = (nodes: readonly string[], options: Pick<ClusterOptions, 'lazyConnect'> = {}): Cluster =>
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
    ...options,
  });

// A worker's commands wait until Redis is back. One that blocks for a job may take ten seconds; and what BullMQ finds not
// connected at all it connects once, and takes for lost where that fails.
const WORKER_OPTIONS = {
  ...SHARED_OPTIONS,
  lazyConnect: false,
  enableOfflineQueue: true,
  autoResendUnfulfilledCommands: true,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
  socketTimeout: 15_000,
} as const satisfies RedisOptions;

/**
 * A connection for BullMQ, to the servers of `createRedisClient`, that connects at once and goes on trying. `producer`: a
 * command fails where Redis is away. `worker`: it waits until Redis is back.
 */
export const openQueueConnection = (address: RedisAddress, use: 'producer' | 'worker'): Redis | Cluster => {
  const nodes = toNodes(address);
  const options = use === 'worker' ? WORKER_OPTIONS : { lazyConnect: false };
  if (nodes.length === 1) return ignoreErrors(createStandalone(address, options));
  if (use === 'producer') return ignoreErrors(createCluster(nodes, options));
  return ignoreErrors(
    new Cluster([...nodes], {
      lazyConnect: false,
      clusterRetryStrategy: retryDelay,
      slotsRefreshTimeout: 1000,
      redisOptions: { ...WORKER_OPTIONS, ...toAccess(nodes[0] ?? '') },
    }),
  );
};

/**
 * A connection that, with its duplicates, always has a listener of errors: BullMQ takes its own off when it closes, while the
 * connection is still there, and ioredis writes to stderr an error that nothing listens to.
 */
const ignoreErrors = <Client extends Redis | Cluster>(client: Client): Client => {
  client.on('error', ignore);
  const duplicate: unknown = Reflect.get(client, 'duplicate');
  Reflect.set(client, 'duplicate', (...words: readonly unknown[]) => {
    const other: unknown = typeof duplicate === 'function' ? Reflect.apply(duplicate, client, words) : null;
    return other instanceof Redis || other instanceof Cluster ? ignoreErrors(other) : other;
  });
  return client;
};

/** Messages of Redis, to all processes that subscribe. Best effort: what is published while a connection is away is lost. */
export type RedisSubscription = {
  /** Connects with the first channel, and goes on trying; never rejects. The last listener of a channel replaces the others. */
  readonly subscribe: (channel: string, listener: (message: string) => void) => Listening;
  readonly close: () => void;
};

/** One channel. `ready` resolves when its messages arrive, or after `stop`. */
export type Listening = { readonly ready: Promise<void>; readonly stop: () => void };

type Channel = PromiseWithResolvers<void> & { readonly listener: (message: string) => void };

// Subscribing again changes nothing where all is well. Else it finds a connection that is dead and does not say so, and a
// node of a cluster that was left: ioredis subscribes at the next one once, and does not tell when that failed.
const SUBSCRIBE_AGAIN_MS = 5000;

/** Subscribes at the server, or at one node of the cluster: a message reaches all of them. */
export const createRedisSubscription = (address: RedisAddress): RedisSubscription => {
  const nodes = toNodes(address);
  const channels = new Map<string, Channel>();
  let client: Redis | Cluster | undefined;
  let timer: NodeJS.Timeout | undefined;
  const subscribe = (names: readonly string[]): void => {
    if (client?.status !== 'ready' || names.length === 0) return;
    client.subscribe(...names).then(
      () => {
        for (const name of names) channels.get(name)?.resolve();
      },
      () => {
        // Of a cluster ioredis chooses another node when this one is gone.
        if (client instanceof Redis && client.status === 'ready') client.disconnect(true);
      },
    );
  };
  const subscribeToAll = (): void => subscribe([...channels.keys()]);
  const open = (): Redis | Cluster => {
    const opened = nodes.length > 1 ? createCluster(nodes) : createStandalone(address, SUBSCRIBER_OPTIONS);
    opened.on('ready', subscribeToAll);
    opened.on('message', (name: string, message: string) => channels.get(name)?.listener(message));
    // The other connection to the same servers tells of them.
    opened.on('error', ignore);
    opened.connect().then(ignore, ignore);
    timer = setInterval(subscribeToAll, SUBSCRIBE_AGAIN_MS).unref();
    return opened;
  };
  return {
    subscribe: (name, listener) => {
      const channel = { ...Promise.withResolvers<void>(), listener };
      channels.set(name, channel);
      client ??= open();
      subscribe([name]);
      const stop = (): void => {
        channel.resolve();
        if (channels.get(name) !== channel) return;
        channels.delete(name);
        if (client?.status === 'ready') client.unsubscribe(name).then(ignore, ignore);
      };
      return { ready: channel.promise, stop };
    },
    close: () => {
      clearInterval(timer);
      client?.disconnect();
    },
  };
};

// Without a time for data to come: there may be none for hours.
const SUBSCRIBER_OPTIONS = { socketTimeout: undefined, autoResubscribe: false } as const satisfies RedisOptions;

/** Runs a script on its keys; rejects when Redis does. An answer that was lost may have been a step that was taken. */
export type RunRedisScript = (keys: readonly string[], parameters: readonly string[]) => Promise<unknown>;

/**
 * The script of a file, whose caller is patient. It is sent by its hash, and whole where the server does not know it: NOSCRIPT is
 * the one error that says "certainly not applied".
 */
export const createRedisScript = (
  client: Pick<RedisClient, 'callWithTimeout' | 'preload'>,
  file: URL,
): RunRedisScript => {
  const lua = readFileSync(file, 'utf8');
  const sha = createHash('sha1').update(lua).digest('hex');
  client.preload(lua);
  return async (keys, parameters) => {
    const words = [String(keys.length), ...keys, ...parameters];
    try {
      return await client.callWithTimeout('EVALSHA', sha, ...words);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.callWithTimeout('EVAL', lua, ...words);
    }
  };
};
