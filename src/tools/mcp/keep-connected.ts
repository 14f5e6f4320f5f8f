import type { Client } from '@modelcontextprotocol/client';
import type { BoundedLog } from './bounded-log.ts';
import type { LinkState } from './call-tool.ts';
import { type Connected, type ConnectFailure, type ConnectOptions, connectServer } from './connect-server.ts';
import type { McpTiming } from './mcp-timing.ts';
import type { ServerTransport } from './server-transport.ts';

export type KeeperOptions = Omit<ConnectOptions, 'signal' | 'onTransport' | 'onError'> & {
  readonly logFault: BoundedLog;
  /** Something went wrong that a connection may or may not have survived. */
  readonly onFault: () => void;
  readonly timing: McpTiming;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** At least 0, less than 1. */
  readonly random: () => number;
  readonly onUp: (client: Client) => void;
  readonly onDown: (failure: ConnectFailure) => void;
};

export type Keeper = {
  readonly start: () => void;
  /** Ends the connection and all that it started. Never rejects. */
  readonly stop: () => Promise<void>;
  /** The same, at once and without waiting. */
  readonly kill: () => void;
  readonly state: () => LinkState;
  /** Gives up a connection that is still the one in use, and makes a new one. */
  readonly drop: (client: Client, why: string) => void;
  /** A connection has given what it is for: only from then on its time counts for a good one. */
  readonly served: (client: Client) => void;
  /** How often the connection was made again. */
  readonly reconnects: () => number;
};

const UNTRIED: ConnectFailure = { reason: 'it was not connected yet', refusedStatus: null };

/** Holds one connection and makes it anew whenever it ends: after half a second, then after ever more, each by chance. */
export const keepConnected = (options: KeeperOptions): Keeper => {
  const { timing, now, random } = options;
  const stopping = new AbortController();
  let connected: Connected | null = null;
  let server: ServerTransport | null = null;
  let failure = UNTRIED;
  let nextTryAt = now() + timing.firstBackoffMs;
  let connections = 0;
  let servedSince: number | null = null;
  let running: Promise<void> = Promise.resolve();
  const onTransport = (made: ServerTransport): void => {
    server = made;
  };
  const onError = (error: Error): void => {
    options.logFault('an MCP connection has a fault', error.message);
    options.onFault();
  };
  const fail = (why: ConnectFailure): void => {
    connected = null;
    failure = why;
    options.onDown(why);
  };
  /** Whether it was a good one. */
  const live = async (live: Connected): Promise<boolean> => {
    connections += 1;
    connected = live;
    servedSince = null;
    options.onUp(live.client);
    const reason = await live.closed;
    await live.close();
    fail({ reason, refusedStatus: null });
    return servedSince !== null && now() - servedSince >= timing.stableMs;
  };
  const connect = async (): Promise<boolean> => {
    const opened = await connectServer({ ...options, signal: stopping.signal, onTransport, onError });
    if (opened.ok) return live(opened.connected);
    fail(opened.failure);
    return false;
  };
  const run = async (): Promise<void> => {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const wasGood = await connect();
      failures = wasGood ? 1 : failures + 1;
      const delayMs = Math.min(timing.maxBackoffMs, timing.firstBackoffMs * 2 ** (failures - 1)) * (0.5 + random() / 2);
      nextTryAt = now() + delayMs;
      await pauseUnless(stopping.signal, delayMs);
    }
  };
  return {
    start: () => {
      running = run();
    },
    stop: async () => {
      stopping.abort();
      await connected?.close();
      await running;
    },
    kill: () => {
      stopping.abort();
      server?.kill();
    },
    state: () =>
      connected === null || connected.client.transport === undefined
        ? { kind: 'down', ...failure, retryAfterMs: Math.max(timing.firstBackoffMs, Math.ceil(nextTryAt - now())) }
        : { kind: 'up', client: connected.client },
    drop: (client, why) => {
      if (connected?.client === client) connected.breakOff(why);
    },
    served: (client) => {
      if (connected?.client === client) servedSince ??= now();
    },
    reconnects: () => Math.max(0, connections - 1),
  };
};

const pauseUnless = (signal: AbortSignal, ms: number): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
