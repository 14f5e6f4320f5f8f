import { Redis, type RedisOptions, SentinelConnector } from 'ioredis';
import { parseSentinelUrl, SENTINEL_URL_RULE } from 'recourse-server/sessions/redis-url';

type Connect = SentinelConnector['connect'];
type Stream = Awaited<ReturnType<Connect>>;
/** The servers of a Sentinel URL. */
type Servers = NonNullable<ReturnType<typeof parseSentinelUrl>>;

// A Sentinel that does not answer in this time is passed over.
const SENTINEL_ANSWER_MS = 1000;
const WATCH_AGAIN_MS = 2000;
// How long a server may take to close a connection that this side ends; a stopped one never does.
const CLOSE_WITHIN_MS = 200;
const SWITCHED = '+switch-master';

/**
 * What makes a connection follow the master: it asks one Sentinel after the other where that is, without end, and leaves
 * a server as soon as a Sentinel says that it is the master no longer. Its copies (`duplicate`) do so, too.
 */
export const createSentinelOptions = (
  url: string,
  sentinelPassword: string | undefined,
  retryDelay: (attempt: number) => number,
) => {
  const servers = parseSentinelUrl(url);
  if (servers === null) throw new Error(`REDIS_URL: ${SENTINEL_URL_RULE}`);
  const { sentinels, name, db, username, password, tls } = servers;
  const options = {
    sentinels,
    name,
    db,
    role: 'master',
    username,
    password,
    sentinelPassword,
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    connectTimeout: 1000,
    disconnectTimeout: CLOSE_WITHIN_MS,
    sentinelCommandTimeout: SENTINEL_ANSWER_MS,
    sentinelRetryStrategy: retryDelay,
    // Addresses that Sentinels have for each other may not be reachable from here: only those of the URL are asked.
    updateSentinels: false,
    // Also leaves the new master when a second Sentinel tells of it, leaves for other masters of these Sentinels, waits for
    // a stopped server, and prints errors of Sentinels to stderr (ioredis 6.0).
    failoverDetector: false,
  } as const satisfies RedisOptions;
  return { ...options, Connector: createConnector(options, watchSwitches(servers, sentinelPassword)) };
};

// Its type is named, or the declarations of the package would repeat the class, with what is private in it.
const createConnector = (
  options: RedisOptions,
  watch: ReturnType<typeof watchSwitches>,
): NonNullable<RedisOptions['Connector']> =>
  class extends SentinelConnector {
    readonly #master: { address: string };
    constructor() {
      const master = { address: '' };
      // Translates nothing: it is told where the Sentinel says that the master is.
      const natMap = (address: string): null => {
        master.address = address;
        return null;
      };
      super({ ...options, natMap });
      this.#master = master;
    }
    override async connect(emit: Parameters<Connect>[0]): Promise<Stream> {
      const stream = await super.connect(emit);
      // The next one to be asked is the next of the list, from the end again the first: what this one says may be old.
      this.sentinelIterator.reset(this.sentinelIterator.next().done !== true);
      const { address } = this.#master;
      stream.once('connect', () => watch(stream, address));
      return stream;
    }
  };

/** Destroys connections to a server that a Sentinel says is the master no longer. Listens while there are any. */
const watchSwitches = ({ sentinels, name, tls }: Servers, sentinelPassword: string | undefined) => {
  const open = new Map<Stream, string>();
  let listeners: readonly Redis[] = [];
  const leave = (message: string): void => {
    const [switched, , , host, port] = message.split(' ');
    if (switched !== name) return;
    // The others tell of it later, when a connection may be to the new one already.
    for (const [stream, address] of open) if (address !== `${host}:${port}`) stream.destroy();
  };
  const listen = ({ host, port }: Servers['sentinels'][number]): Redis => {
    const listener = new Redis({
      host,
      port,
      password: sentinelPassword,
      ...(tls ? { tls: {} } : {}),
      connectTimeout: SENTINEL_ANSWER_MS,
      disconnectTimeout: CLOSE_WITHIN_MS,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => WATCH_AGAIN_MS,
    });
    // One that is away tells nothing; who asks it for the master is told why.
    listener.on('error', ignore);
    listener.on('message', (_channel, message) => leave(message));
    listener.subscribe(SWITCHED).then(ignore, ignore);
    return listener;
  };
  return (stream: Stream, address: string): void => {
    open.set(stream, address);
    if (open.size === 1) listeners = sentinels.map(listen);
    stream.once('close', () => {
      open.delete(stream);
      if (open.size > 0) return;
      for (const listener of listeners) listener.disconnect();
    });
  };
};

const ignore = (): void => undefined;
