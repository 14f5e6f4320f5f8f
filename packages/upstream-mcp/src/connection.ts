import { once } from 'node:events';
import { setTimeout as afterMs } from 'node:timers/promises';
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import type { LinkState } from './call-tool.ts';
import { type ConnectFailure, mayDifferElsewhere, toConnectFailure } from './connect-failure.ts';
import { createHttpTransport, createSseTransport } from './http-transport.ts';
import type { BoundedLog } from './limited-log.ts';
import type { McpServerSettings } from './mcp-server-settings.ts';
import type { ServerTransport } from './message-limits.ts';
import { createStdioTransport } from './stdio-transport.ts';

/** How long an upstream waits for what, in milliseconds. */
export type McpTiming = {
  /** `start` holds up the service no longer. */
  readonly startMs: number;
  /** For one connection; `npx` may have to fetch a package first. */
  readonly connectMs: number;
  readonly listMs: number;
  /** Between the first two lines of the log about a list that cannot be read; each further pause is twice as long. */
  readonly listLogMs: number;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** A connection that lasted so long was a good one: the next death begins with the first back-off. */
  readonly stableMs: number;
  readonly pingEveryMs: number;
  readonly pingWithinMs: number;
  /** Where calls are always running: after so long without a single answer it is asked too. */
  readonly silentMs: number;
  readonly pollEveryMs: number;
  /** Between two readings of the list, however often a server says that it has changed. */
  readonly refreshGapMs: number;
  /** Between end of input, SIGTERM and SIGKILL. */
  readonly graceMs: number;
};

export const DEFAULT_TIMING: McpTiming = {
  startMs: 10_000,
  connectMs: 60_000,
  listMs: 30_000,
  listLogMs: 60_000,
  firstBackoffMs: 500,
  maxBackoffMs: 30_000,
  stableMs: 10_000,
  pingEveryMs: 30_000,
  pingWithinMs: 10_000,
  silentMs: 120_000,
  pollEveryMs: 300_000,
  refreshGapMs: 5_000,
  graceMs: 2_000,
};

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

export type Connection = {
  readonly start: () => void;
  /** Ends the connection and all that it started. Never rejects. */
  readonly stop: () => Promise<void>;
  /** The same, at once and without waiting. */
  readonly kill: () => void;
  readonly state: () => LinkState;
  /** The client in use; null while there is none. */
  readonly client: () => Client | null;
  /** Gives up a connection that is still the one in use, and makes a new one. */
  readonly drop: (client: Client, why: string) => void;
  /** A connection has given what it is for: only from then on its time counts for a good one. */
  readonly served: (client: Client) => void;
  /** How often the connection was made again. */
  readonly reconnects: () => number;
};

type Connected = { readonly client: Client; readonly server: ServerTransport; readonly closed: Promise<string> };

/** Holds one connection and makes it anew whenever it ends: after half a second, then after ever more, each by chance. */
export const keepConnected = (options: ConnectionOptions): Connection => {
  const { timing } = options;
  const stopping = new AbortController();
  let connected: Connected | null = null;
  let server: ServerTransport | null = null;
  let failure: ConnectFailure = { reason: 'it has not connected yet', refusedStatus: null };
  let nextTryAt = Date.now() + timing.firstBackoffMs;
  let connections = 0;
  let servedSince: number | null = null;
  let running: Promise<void> = Promise.resolve();
  const fail = (cause: ConnectFailure): void => {
    connected = null;
    failure = cause;
    options.onDown(cause.reason);
  };
  /** Whether it was a good connection. */
  const connect = async (): Promise<boolean> => {
    const opened = await openAny(options, stopping.signal, (made) => {
      server = made;
    });
    if ('failure' in opened) {
      fail(opened.failure);
      return false;
    }
    connections += 1;
    connected = opened;
    servedSince = null;
    options.onUp(opened.client);
    const reason = await opened.closed;
    await close(opened.server);
    fail({ reason, refusedStatus: null });
    return servedSince !== null && Date.now() - servedSince >= timing.stableMs;
  };
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const wasGood = await connect();
      failures = wasGood ? 1 : failures + 1;
      const backoffMs = Math.min(timing.maxBackoffMs, timing.firstBackoffMs * 2 ** (failures - 1));
      const delayMs = backoffMs * (0.5 + Math.random() / 2);
      nextTryAt = Date.now() + delayMs;
      await afterMs(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  const client = (): Client | null =>
    connected === null || connected.client.transport === undefined ? null : connected.client;
  return {
    start: () => {
      running = run();
    },
    stop: async () => {
      stopping.abort();
      if (connected !== null) await close(connected.server);
      await running;
    },
    kill: () => {
      stopping.abort();
      server?.kill();
    },
    client,
    state: () => {
      const current = client();
      return current === null
        ? { kind: 'down', ...failure, retryAfterMs: Math.max(timing.firstBackoffMs, Math.ceil(nextTryAt - Date.now())) }
        : { kind: 'up', client: current };
    },
    drop: (dropped, why) => {
      if (connected?.client === dropped) connected.server.breakOff(why);
    },
    served: (serving) => {
      if (connected?.client === serving) servedSince ??= Date.now();
    },
    reconnects: () => Math.max(0, connections - 1),
  };
};

// What is closed after a failed handshake may be closed already.
const close = ({ transport }: ServerTransport): Promise<void> => transport.close().catch(() => undefined);

/** One way to try a server. */
type Attempt = { readonly mode: VersionNegotiationMode; readonly createTransport: () => ServerTransport };
type Refused = { readonly error: unknown; readonly failure: ConnectFailure };

/** Tries one way after the other, as long as another one may work. Never rejects; nothing of a failed try is left. */
const openAny = async (
  options: ConnectionOptions,
  signal: AbortSignal,
  onTransport: (server: ServerTransport) => void,
): Promise<Connected | Refused> => {
  let first: Refused | null = null;
  for (const { mode, createTransport } of toAttempts(options)) {
    const server = createTransport();
    // So that what it starts can be ended at any moment.
    onTransport(server);
    const opened = await open(server, mode, options, signal);
    if (!('failure' in opened)) return opened;
    first ??= opened;
    if (signal.aborted || !mayDifferElsewhere(opened.error)) return opened;
  }
  return first ?? { error: null, failure: { reason: 'there is no transport to it', refusedStatus: null } };
};

const open = async (
  server: ServerTransport,
  mode: VersionNegotiationMode,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<Connected | Refused> => {
  const limitMs = options.timing.connectMs;
  const client = new Client(
    { name: 'recourse', version: options.version },
    {
      capabilities: {},
      versionNegotiation: { mode },
      // Else the SDK would send a call again with answers that nobody gave.
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, onChanged: () => options.onListChanged() } },
    },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(server.reason() ?? 'the connection has ended');
  client.onerror = (error) => {
    options.logFault('MCP connection error', error.message);
    options.onFault();
  };
  const connecting = client.connect(server.transport, { timeout: limitMs, signal });
  const refused = await Promise.race([
    connecting.then(
      () => null,
      (error: unknown) => ({ error }),
    ),
    whenOver(signal, limitMs),
  ]);
  if (refused === null) return { client, server, closed: closed.promise };
  const failure = toConnectFailure(refused.error, server.reason(), options.settings.url);
  await close(server);
  return { error: refused.error, failure };
};

// The SDK's own limit is one of each request, and opening a transport has none.
const whenOver = async (signal: AbortSignal, limitMs: number): Promise<{ readonly error: unknown }> => {
  const over = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  if (!over.aborted) await once(over, 'abort');
  return { error: new SdkError(SdkErrorCode.RequestTimeout, 'Connecting timed out') };
};

/** The ways to try a server, in their order. */
const toAttempts = (options: ConnectionOptions): readonly Attempt[] => {
  const { settings, maxMessageBytes } = options;
  const { command, args = [], env = {}, cwd = '', url, headers = {}, type } = settings;
  if (command !== undefined) {
    const server = { command, args, cwd, environment: toServerEnvironment(options.environment, env) };
    const { logOutput, logFault, timing } = options;
    const createTransport = (): ServerTransport =>
      createStdioTransport({ server, maxMessageBytes, graceMs: timing.graceMs, logOutput, logFault });
    // The old handshake first: servers of the previous revisions are most, and some end at a request for the new one.
    return [
      { mode: 'legacy', createTransport },
      { mode: 'auto', createTransport },
    ];
  }
  if (url === undefined) return [];
  const http = { url, headers, maxMessageBytes };
  const sse: Attempt = { mode: 'legacy', createTransport: () => createSseTransport(http) };
  if (type === 'sse') return [sse];
  const createTransport = (): ServerTransport => createHttpTransport(http);
  // Over HTTP a request for the new one does no harm, and such a server needs no session.
  const streamable: readonly Attempt[] = [
    { mode: 'auto', createTransport },
    { mode: 'legacy', createTransport },
  ];
  return type === undefined ? [...streamable, sse] : streamable;
};

// What a program needs to find its files, its language and its temporary folder. None of it is a secret.
const BASICS = [
  ...['PATH', 'HOME', 'TZ', 'LANG', 'LC_ALL', 'TERM', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
];

/** All that a server process gets: the basics of the service's environment, and what its settings give it by name. */
const toServerEnvironment = (
  environment: ConnectionOptions['environment'],
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => {
  const basics = BASICS.flatMap((name) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(basics), ...own };
};

export type Health = {
  readonly watch: (client: Client) => void;
  readonly stop: () => void;
  readonly callStarted: () => void;
  readonly callEnded: (answered: 'answered' | 'unanswered') => void;
  /** Asks now, where something looks wrong. */
  readonly check: () => void;
};

/**
 * Tells a server that hangs from one that is slow: a call that takes too long says nothing of it, a ping that is not
 * answered does. Asks while no call runs, for many servers do one thing at a time; and, however busy, after a long silence.
 */
export const createHealth = (timing: McpTiming, onDead: (client: Client, why: string) => void): Health => {
  let watched: Client | null = null;
  let timer: NodeJS.Timeout | undefined;
  let running = 0;
  let answeredAt = 0;
  let isAsking = false;
  const ask = async (client: Client): Promise<void> => {
    isAsking = true;
    const isAlive = await ping(client, timing.pingWithinMs);
    isAsking = false;
    if (watched !== client) return;
    if (isAlive) answeredAt = Date.now();
    else onDead(client, 'it did not answer a ping');
  };
  const check = (): void => {
    if (watched !== null && !isAsking) void ask(watched);
  };
  const stop = (): void => {
    watched = null;
    clearInterval(timer);
  };
  return {
    watch: (client) => {
      stop();
      watched = client;
      answeredAt = Date.now();
      timer = setInterval(() => {
        if (running === 0 || Date.now() - answeredAt > timing.silentMs) check();
      }, timing.pingEveryMs);
    },
    stop,
    check,
    callStarted: () => {
      running += 1;
    },
    callEnded: (answered) => {
      running -= 1;
      if (answered === 'answered') answeredAt = Date.now();
    },
  };
};

/** Whether the server has answered; an error is an answer too. */
const ping = (client: Client, withinMs: number): Promise<boolean> => {
  const timeout = { timeout: withinMs };
  const answer = client.getProtocolEra() === 'modern' ? client.discover(timeout) : client.ping(timeout);
  return answer.then(
    () => true,
    (error: unknown) => error instanceof ProtocolError,
  );
};
