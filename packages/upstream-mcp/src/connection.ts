import { once } from 'node:events';
import { setTimeout as afterMs } from 'node:timers/promises';
import { Client, SdkError, SdkErrorCode, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import type { Link } from './call-tool.ts';
import { createHttpTransport, createSseTransport } from './http-transport.ts';
import type { BoundedLog } from './limited-log.ts';
import type { McpServerSettings } from './mcp-server-settings.ts';
import type { ServerTransport } from './server-transport.ts';
import { createStdioTransport } from './stdio-transport.ts';
import { type ConnectFailure, explainConnect, mayDifferElsewhere } from './trouble.ts';

/** How long an upstream waits for what, in milliseconds. */
export const DEFAULT_TIMING = {
  /** `start` holds up the service no longer. */
  startMs: 10_000,
  /** For one connection; `npx` may have to fetch a package first. */
  connectMs: 60_000,
  listMs: 30_000,
  /** Between the first two lines of the log about a list that cannot be read; each further pause is twice as long. */
  listLogMs: 60_000,
  firstBackoffMs: 500,
  maxBackoffMs: 30_000,
  /** A connection that lasted so long was a good one: the next death begins with the first back-off. */
  stableMs: 10_000,
  pingEveryMs: 30_000,
  pingWithinMs: 10_000,
  /** Where calls are always running: after so long without a single answer it is asked too. */
  silentMs: 120_000,
  pollEveryMs: 300_000,
  /** Between two readings of the list, however often a server says that it has changed. */
  refreshGapMs: 5_000,
  /** Between end of input, SIGTERM and SIGKILL. */
  graceMs: 2_000,
};
export type McpTiming = Readonly<typeof DEFAULT_TIMING>;

type ConnectionOptions = {
  readonly settings: McpServerSettings;
  /** The service's own, of which PATH, HOME and their like alone reach a server. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly maxMessageBytes: number;
  readonly timing: McpTiming;
  readonly logOutput: BoundedLog;
  readonly logFault: BoundedLog;
  readonly onListChanged: () => void;
  /** Something went wrong that a connection may or may not have survived. */
  readonly onFault: () => void;
  readonly onUp: (client: Client) => void;
  readonly onDown: (reason: string) => void;
};

type Connected = { readonly client: Client; readonly server: ServerTransport; readonly closed: Promise<string> };
/** Why one way to a server failed: what was thrown, and what is said of it. */
type Refused = { readonly error: unknown; readonly failure: ConnectFailure };

/**
 * Owns one connection, and makes it anew whenever it ends: after half a second, then after ever more, each by chance.
 *
 * | state      | `#connected` | until                                                            |
 * |------------|--------------|------------------------------------------------------------------|
 * | connecting | null         | one of the ways to the server is open (up), or all fail (waiting) |
 * | up         | set          | its transport closes, or it is dropped (waiting)                 |
 * | waiting    | null         | the back-off is over (connecting)                                |
 * | stopped    | any          | the end: `#stopping` is aborted                                  |
 */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #stopping = new AbortController();
  #connected: Connected | null = null;
  /** The newest transport, so that what it starts can be ended at any moment. */
  #server: ServerTransport | null = null;
  #failure: ConnectFailure = { reason: 'it has not connected yet', refusedStatus: null };
  #nextTryAt: number;
  #connections = 0;
  #servedSince: number | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#nextTryAt = Date.now() + options.timing.firstBackoffMs;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Ends the connection and all that it started. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#connected !== null) await close(this.#connected.server);
    await this.#running;
  }

  /** The same, at once and without waiting. */
  kill(): void {
    this.#stopping.abort();
    this.#server?.kill();
  }

  /** The client in use; null while there is none. */
  client(): Client | null {
    return this.#connected?.client.transport === undefined ? null : this.#connected.client;
  }

  state(): ReturnType<Link['state']> {
    const client = this.client();
    if (client !== null) return { client };
    const retryAfterMs = Math.max(this.#options.timing.firstBackoffMs, Math.ceil(this.#nextTryAt - Date.now()));
    return { ...this.#failure, retryAfterMs };
  }

  /** Gives up a connection that is still the one in use, and makes a new one. */
  drop(client: Client, why: string): void {
    if (this.#connected?.client === client) this.#connected.server.breakOff(why);
  }

  /** A connection has given what it is for: only from then on its time counts for a good one. */
  served(client: Client): void {
    if (this.#connected?.client === client) this.#servedSince ??= Date.now();
  }

  /** How often the connection was made again. */
  get reconnects(): number {
    return Math.max(0, this.#connections - 1);
  }

  async #run(): Promise<void> {
    const { firstBackoffMs, maxBackoffMs } = this.#options.timing;
    for (let failures = 0; !this.#stopping.signal.aborted; ) {
      const wasGood = await this.#connectOnce();
      failures = wasGood ? 1 : failures + 1;
      const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (failures - 1));
      const delayMs = backoffMs * (0.5 + Math.random() / 2);
      this.#nextTryAt = Date.now() + delayMs;
      await afterMs(delayMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  /** One connection, from its first try to its end. Whether it was a good one. */
  async #connectOnce(): Promise<boolean> {
    const opened = await this.#openAny();
    this.#servedSince = null;
    if ('failure' in opened) {
      this.#fail(opened.failure);
      return false;
    }
    this.#connections += 1;
    this.#connected = opened;
    this.#options.onUp(opened.client);
    const reason = await opened.closed;
    await close(opened.server);
    this.#fail({ reason, refusedStatus: null });
    return this.#servedSince !== null && Date.now() - this.#servedSince >= this.#options.timing.stableMs;
  }

  #fail(failure: ConnectFailure): void {
    this.#connected = null;
    this.#failure = failure;
    this.#options.onDown(failure.reason);
  }

  /** Tries one way after the other, as long as another one may work. Never rejects; nothing of a failed try is left. */
  async #openAny(): Promise<Connected | Refused> {
    const { signal } = this.#stopping;
    let first: Refused | null = null;
    for (const [mode, createTransport] of listWays(this.#options)) {
      const server = createTransport();
      this.#server = server;
      const opened = await open(server, mode, this.#options, signal);
      if (!('failure' in opened)) return opened;
      first ??= opened;
      if (signal.aborted || !mayDifferElsewhere(opened.error)) return opened;
    }
    return first ?? { error: null, failure: { reason: 'there is no transport to it', refusedStatus: null } };
  }
}

// What is closed after a failed handshake may be closed already.
const close = ({ transport }: ServerTransport): Promise<void> => transport.close().catch(() => undefined);

const open = async (
  server: ServerTransport,
  mode: VersionNegotiationMode,
  { timing, version, settings, onListChanged, logFault, onFault }: ConnectionOptions,
  signal: AbortSignal,
): Promise<Connected | Refused> => {
  const client = new Client(
    { name: 'recourse', version },
    {
      capabilities: {},
      versionNegotiation: { mode },
      // Else the SDK would send a call again with answers that nobody gave.
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, onChanged: () => onListChanged() } },
    },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(server.reason() ?? 'the connection has ended');
  client.onerror = (error) => {
    logFault('MCP connection error', error.message);
    onFault();
  };
  // The SDK's own limit is one of each request, and opening a transport has none.
  const over = AbortSignal.any([signal, AbortSignal.timeout(timing.connectMs)]);
  const timedOut = new SdkError(SdkErrorCode.RequestTimeout, 'Connecting timed out');
  const connecting = client.connect(server.transport, { timeout: timing.connectMs, signal });
  const refused = await Promise.race([
    connecting.then(
      () => null,
      (error: unknown) => ({ error }),
    ),
    (over.aborted ? Promise.resolve() : once(over, 'abort')).then(() => ({ error: timedOut })),
  ]);
  if (refused === null) return { client, server, closed: closed.promise };
  const failure = explainConnect(refused.error, server.reason(), settings.url);
  await close(server);
  return { error: refused.error, failure };
};

/** The ways to try a server, in their order. */
const listWays = (
  options: ConnectionOptions,
): readonly (readonly [mode: VersionNegotiationMode, createTransport: () => ServerTransport])[] => {
  const { settings, maxMessageBytes, logOutput, logFault, timing } = options;
  const { command, args = [], env = {}, cwd = '', url, headers = {}, type } = settings;
  if (command !== undefined) {
    const server = { command, args, cwd, environment: { ...pickBasics(options.environment), ...env } };
    const createTransport = () =>
      createStdioTransport({ server, maxMessageBytes, graceMs: timing.graceMs, logOutput, logFault });
    // The old handshake first: servers of the previous revisions are most, and some end at a request for the new one.
    return [
      ['legacy', createTransport],
      ['auto', createTransport],
    ];
  }
  if (url === undefined) return [];
  const http = { url, headers, maxMessageBytes };
  const sse = ['legacy', () => createSseTransport(http)] as const;
  if (type === 'sse') return [sse];
  // Over HTTP a request for the new one does no harm, and such a server needs no session.
  const streamable = (['auto', 'legacy'] as const).map((mode) => [mode, () => createHttpTransport(http)] as const);
  return type === undefined ? [...streamable, sse] : streamable;
};

// What a program needs to find its files, its language and its temporary folder. None of it is a secret.
const BASICS = [
  ...['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'TERM', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
];

/** What a server process gets of the service's environment. */
const pickBasics = (environment: ConnectionOptions['environment']): Readonly<Record<string, string>> =>
  Object.fromEntries(
    BASICS.flatMap((name) => {
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
