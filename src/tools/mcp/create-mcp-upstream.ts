import type { Client } from '@modelcontextprotocol/client';
import type { Publish, ToolSource } from '../offers/tool-source.ts';
import type { ToolLog } from '../tool.ts';
import { createBoundedLog } from './bounded-log.ts';
import { createOfferBuilder } from './build-offer.ts';
import type { ConnectionVerdict } from './call-failure.ts';
import type { Link } from './call-tool.ts';
import { createChangeGuard, type KnownDigests } from './change-guard.ts';
import { createFadingLog } from './fading-log.ts';
import { type Keeper, keepConnected } from './keep-connected.ts';
import { createListReader } from './list-reader.ts';
import { type McpServerSettings, unknownMembersOf } from './mcp-server-settings.ts';
import { DEFAULT_TIMING, type McpTiming } from './mcp-timing.ts';
import { createOfferKeeper, UNLISTED_REASON } from './offer-keeper.ts';
import { toPrefix, toShownNames } from './offered-name.ts';
import { toAttempts } from './to-attempts.ts';
import { createHealth, type Health } from './watch-health.ts';

export type McpUpstreamOptions = {
  /** The key under `mcpServers`. */
  readonly name: string;
  /** Checked, and with every `${VAR}` expanded. */
  readonly settings: McpServerSettings;
  readonly publish: Publish;
  /** Has the name of the upstream on every line. */
  readonly log: ToolLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The service's own, of which PATH, HOME and their like alone reach a server. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** MAX_RESULT_BYTES. */
  readonly maxResultBytes: number;
  /** Whether a registered secret is in a text. Default: none is. */
  readonly holdsSecret?: ((text: string) => boolean) | undefined;
  /** Of this service, as servers are told it. */
  readonly version?: string;
  /** Digests seen before, for whoever makes the upstream anew with other settings; it is written to. */
  readonly known?: KnownDigests;
  readonly timing?: Partial<McpTiming>;
  /** At least 0, less than 1. */
  readonly random?: () => number;
};

export type McpUpstream = ToolSource & {
  /** Ends the server's processes at once, without waiting for it: for a process that exits. */
  readonly kill: () => void;
};

const UNLISTED = 'the tools of an MCP server could not be listed';

// Waiting costs memory, not turns: a server that can bear fewer says so in its settings.
const DEFAULT_CONCURRENCY = 512;
// Beyond what a result may hold, for what JSON and base64 add; and for the envelope.
const MESSAGE_SHARE = 8;
const MESSAGE_SLACK_BYTES = 65_536;

/**
 * An MCP server, a process that is started or one that is reached by URL, as a source of tools. It is connected again
 * whenever it goes away; meanwhile its tools stay, marked, and each call says so at once.
 */
export const createMcpUpstream = (options: McpUpstreamOptions): McpUpstream => {
  const { name, settings, log, now } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const upstream = { name: `mcp:${name}`, concurrency: settings.concurrency ?? DEFAULT_CONCURRENCY };
  const clientNow = (): Client | null => {
    const state = keeper.state();
    return state.kind === 'up' ? state.client : null;
  };
  const readList = createListReader({
    log,
    failures: createFadingLog(log, { message: UNLISTED, firstPauseMs: timing.listLogMs, now }),
    limitMs: timing.listMs,
    gapMs: timing.refreshGapMs,
    client: clientNow,
    holdsSecret: (tool) => toShownNames(toPrefix(name, settings.prefix), tool).some(options.holdsSecret ?? holdsNone),
    onList: (tools) => offers.take(tools, () => clientNow() !== null),
  });
  const health = createHealth({ timing, now, onDead: (client, why) => keeper.drop(client, why) });
  const link = toLink({
    keeper: () => keeper,
    health,
    stillHas: async (tool) => (await readList()).kind !== 'read' || offers.has(tool),
  });
  const offers = createOfferKeeper({
    publish: options.publish,
    build: createOfferBuilder({ ...options, server: name, upstream, link }),
    guard: createChangeGuard({ settings, known: options.known ?? new Map(), log }),
  });
  const keeper = keepConnected({
    ...toConnectOptions(options, timing),
    onListChanged: () => void readList(),
    onFault: health.check,
    onUp: (client) => {
      health.watch(client);
      void readList().then((reading) => {
        if (reading.kind === 'failed') keeper.drop(client, `${UNLISTED_REASON}: ${reading.cause}`);
        if (reading.kind !== 'read') return;
        keeper.served(client);
        log.info('an MCP server is up', { tools: offers.state().tools });
      });
    },
    onDown: ({ reason }) => {
      health.stop();
      if (offers.down(reason)) log.warn('an MCP server is down', { reason });
    },
  });
  let polling: NodeJS.Timeout | undefined;
  return {
    start: async () => {
      const ignored = unknownMembersOf(settings);
      if (ignored.length > 0) log.warn('members of an MCP server are ignored', { ignored });
      keeper.start();
      polling = setInterval(() => void readList(), timing.pollEveryMs);
      await Promise.race([offers.first, afterMs(timing.startMs)]);
      offers.tellAtLeastOnce();
    },
    stop: async () => {
      offers.stop();
      health.stop();
      clearInterval(polling);
      await keeper.stop();
      log.info('an MCP server was stopped');
    },
    kill: () => keeper.kill(),
    state: () => ({ name: upstream.name, ...offers.state(), reconnects: keeper.reconnects() }),
  };
};

const toLink = (parts: {
  /** Called once there is one. */
  readonly keeper: () => Keeper;
  readonly health: Health;
  readonly stillHas: Link['stillHas'];
}): Link => {
  const { keeper, health, stillHas } = parts;
  const reactions = {
    works: () => undefined,
    unanswered: () => undefined,
    uncertain: () => health.check(),
    lost: (client: Client) => keeper().drop(client, 'the connection was lost during a call'),
  } as const satisfies Record<ConnectionVerdict, (client: Client) => void>;
  return {
    state: () => keeper().state(),
    callStarted: health.callStarted,
    callEnded: (client, verdict) => {
      health.callEnded(verdict === 'works' ? 'answered' : 'unanswered');
      reactions[verdict](client);
    },
    stillHas,
  };
};

const toConnectOptions = (options: McpUpstreamOptions, timing: McpTiming) => {
  const { log, now } = options;
  const logFault = createBoundedLog(log, { level: 'warn', now });
  const attempts = toAttempts({
    ...options,
    maxMessageBytes: options.maxResultBytes * MESSAGE_SHARE + MESSAGE_SLACK_BYTES,
    graceMs: timing.graceMs,
    logOutput: createBoundedLog(log, { level: 'info', now }),
    logFault,
  });
  const limitMs = timing.connectMs;
  return {
    attempts,
    address: toAddress(options.settings),
    version: options.version ?? '0',
    limitMs,
    timing,
    now,
    random: options.random ?? Math.random,
    logFault,
  };
};

/** Whom a connection is made to, for people: no credentials, no path. */
const toAddress = ({ url }: McpServerSettings): string | null => {
  if (url === undefined) return null;
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port === '' ? DEFAULT_PORTS.get(protocol) : port}`;
};

const DEFAULT_PORTS: ReadonlyMap<string, number> = new Map([
  ['http:', 80],
  ['https:', 443],
]);

const afterMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

const holdsNone = (): boolean => false;
