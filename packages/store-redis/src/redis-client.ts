import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Cluster, Redis } from 'ioredis';
import type { SharedChannels } from 'recourse-server/store/shared-connection';
import { CommandTimeout, LONG_TIMEOUT_MS, SHORT_TIMEOUT_MS } from './command-timeout.ts';
import { openConnection, type RedisAddress } from './redis-connections.ts';

/** The little of a Redis client that the stores need. */
export type RedisClient = ReturnType<typeof createRedisClient>;

type Send = (command: string, ...parameters: string[]) => Promise<unknown>;

/** A client for the servers of `openConnection`. Gives up an answer after `answerWithinMs` milliseconds, at most 1 000. */
export const createRedisClient = (address: RedisAddress, answerWithinMs = SHORT_TIMEOUT_MS) => {
  const client = openConnection(address, 'commands');
  const short = new CommandTimeout(answerWithinMs);
  const long = new CommandTimeout(LONG_TIMEOUT_MS);
  const beginWrite = createWriteBatches(client, () => {
    const now = performance.now();
    short.begin(now);
    long.begin(now);
  });
  let wanted = true;
  const readyListeners: (() => void)[] = [];
  const onReady = (listener: () => void): void => void readyListeners.push(listener);
  watchReady(client, () => {
    for (const listener of readyListeners) listener();
  });
  const callWithin = <Answer>(timeout: CommandTimeout, command: () => Promise<Answer>): Promise<Answer> => {
    beginWrite();
    return timeout.wait(command());
  };
  const send: Send = (command, ...parameters) => client.call(command, ...parameters);
  const call: Send = (...words) => callWithin(short, () => send(...words));
  const callWithTimeout: Send = (...words) => callWithin(long, () => send(...words));
  const preload = createPreload(client, onReady);
  return {
    /**
     * Makes a script known to the servers before it is first run. Best effort. Its listener is the first: what others ask at a new
     * connection comes after the scripts.
     */
    preload,
    /**
     * Sends one command, in a cluster to the node that serves its keys. Rejects within about 50 ms when Redis does not answer;
     * such a command may have been applied.
     */
    call,
    /** The same for what must be durable, and for what no batch waits for: rejects after a second. */
    callWithTimeout,
    /** A script of a file, and what is run with it; as `callWithTimeout`. */
    openScript: (file: URL) => createScript(callWithTimeout, file, preload),
    /** Sends one command at once. Rejects with Redis's error, or where the connection is lost: the caller knows how long to wait. */
    send,
    /** Sends a message; as `callWithTimeout`. Those of a channel stay in their order: in a cluster one node takes them all. */
    publish: (channel: string, message: string): Promise<unknown> =>
      callWithin(long, () => findPublisher(client, channel).publish(channel, message)),
    /** What each server that takes writes says of its memory; as `callWithTimeout`. */
    memory: (): Promise<readonly string[]> =>
      Promise.all(mastersOf(client).map((server) => callWithin(long, () => server.info('memory')))),
    /** Whether one command may name keys of several hash slots. */
    topology: client instanceof Cluster ? ('cluster' as const) : ('server' as const),
    /** Starts connecting and goes on trying; never rejects. Events tell how the first attempt ended. */
    connect: (): void => void client.connect().then(ignore, ignore),
    onReady,
    /** Whether it is connected, to a cluster's nodes as far as it knows them. */
    isReady: (): boolean => client.status === 'ready',
    /** Of the connection, of that to one node of a cluster, or of one Sentinel: of a wrong address, password or name only this tells. */
    onError: (listener: (error: unknown) => void): void => {
      client.on('error', listener);
      client.on('node error', listener);
      client.on('sentinelError', listener);
    },
    /** The connection, or an attempt at one, has ended without `disconnect`. */
    onLost: (listener: () => void): void => void client.on('close', () => wanted && listener()),
    disconnect: (): void => {
      wanted = false;
      client.disconnect();
    },
  };
};

/** The servers that take writes. */
const mastersOf = (client: Redis | Cluster): readonly Redis[] =>
  client instanceof Cluster ? client.nodes('master') : [client];

const findPublisher = (client: Redis | Cluster, channel: string): Redis | Cluster => {
  const masters = mastersOf(client);
  return masters[channel.charCodeAt(channel.length - 1) % masters.length] ?? client;
};

/**
 * Sends each script to the servers before it is first run, and again at each new connection: a server that was restarted has
 * forgotten it. Best effort: the user of Redis may lack the right, and a script that a server does not know is sent whole.
 */
const createPreload = (client: Redis | Cluster, onReady: (listener: () => void) => void) => {
  const scripts = new Set<string>();
  const load = (lua: string): void => {
    for (const server of mastersOf(client)) server.script('LOAD', lua).then(ignore, ignore);
  };
  onReady(() => {
    for (const lua of scripts) load(lua);
  });
  return (lua: string): void => {
    if (scripts.has(lua)) return;
    scripts.add(lua);
    if (client.status === 'ready') load(lua);
  };
};

const ignore = (): void => undefined;

// A cluster connects to a node with the first command for it, and refuses every other one until that is done: so it is
// ready when all nodes are connected to, and a node that joins or comes back later is news as well. Once for a cluster: a
// second one would take nodes that are connecting for connected.
const watchReady = (client: Redis | Cluster, listener: () => void): void => {
  if (client instanceof Redis) {
    client.on('ready', listener);
    return;
  }
  const open = (node: Redis): Promise<void> => (node.status === 'wait' ? node.connect() : Promise.resolve());
  client.on('ready', () => void Promise.allSettled(client.nodes().map(open)).then(listener));
  client.on('+node', (node: Redis) => void (client.status === 'ready' && node.once('ready', listener)));
};

// What Redis does of a burst while the rest of it is still being read.
const MOST_CORKED = 32;

/**
 * Holds back what a connection writes until the turn of the event loop is over, so that the commands of all requests that
 * came in it are one write: a write costs more than all else of a small command. `written` is called then.
 */
const createWriteBatches = (client: Redis | Cluster, written: () => void): (() => void) => {
  let corked = 0;
  let stream: Redis['stream'] | undefined;
  const write = (): void => {
    if (corked === 0) return;
    corked = 0;
    stream?.uncork();
    stream = undefined;
    written();
  };
  return () => {
    if (corked === MOST_CORKED) write();
    corked += 1;
    if (corked > 1) return;
    // The nodes of a cluster have a connection each, and write at once.
    stream = client instanceof Redis ? client.stream : undefined;
    stream?.cork();
    setImmediate(write);
  };
};

/**
 * A connection for BullMQ that connects at once. `producer`: a command fails where Redis is away. `worker`: it waits until
 * Redis is back.
 */
export const openQueueConnection = (address: RedisAddress, use: 'producer' | 'worker'): Redis | Cluster =>
  ignoreErrors(openConnection(address, use));

/**
 * A connection that, with its duplicates, always has a listener of errors: BullMQ takes its own off when it closes, while the
 * connection is still there, and ioredis writes to stderr an error that nothing listens to.
 */
const ignoreErrors = <Client extends Redis | Cluster>(client: Client): Client => {
  client.on('error', ignore);
  const duplicate: unknown = Reflect.get(client, 'duplicate');
  Reflect.set(client, 'duplicate', (...args: readonly unknown[]) => {
    const other: unknown = typeof duplicate === 'function' ? Reflect.apply(duplicate, client, args) : null;
    return other instanceof Redis || other instanceof Cluster ? ignoreErrors(other) : other;
  });
  return client;
};

/** Messages of Redis, to all processes that subscribe. */
export type RedisSubscription = ReturnType<typeof createRedisSubscription>;

// Subscribing again changes nothing where all is well. Else it finds a connection that is dead and does not say so, and a
// node of a cluster that was left: ioredis subscribes at the next one once, and does not tell when that failed.
const SUBSCRIBE_AGAIN_MS = 5000;

/** Subscribes at the server, or at one node of the cluster: a message reaches all of them. Connects with the first channel. */
export const createRedisSubscription = (address: RedisAddress): SharedChannels & { readonly close: () => void } => {
  const channels = new Map<string, PromiseWithResolvers<void> & { readonly listener: (message: string) => void }>();
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
    const opened = openConnection(address, 'messages');
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

/**
 * The script of a file: it is sent by its hash, and whole where the server does not know it: NOSCRIPT is the one error that says
 * "certainly not applied". Gets the number of its keys, the keys, and parameters.
 */
export const createScript = (
  send: Send,
  file: URL,
  preload?: RedisClient['preload'],
): ((words: readonly string[]) => Promise<unknown>) => {
  const lua = readFileSync(file, 'utf8');
  const sha = createHash('sha1').update(lua).digest('hex');
  preload?.(lua);
  return async (words) => {
    try {
      return await send('EVALSHA', sha, ...words);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return send('EVAL', lua, ...words);
    }
  };
};

/** Runs a script of a file on its keys; rejects when Redis does. An answer that was lost may have been a step that was taken. */
export const createRedisScript = ({ openScript }: Pick<RedisClient, 'openScript'>, file: URL) => {
  const run = openScript(file);
  return (keys: readonly string[], parameters: readonly string[]): Promise<unknown> =>
    run([String(keys.length), ...keys, ...parameters]);
};
