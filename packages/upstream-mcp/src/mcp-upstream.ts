import { resolve } from 'node:path';
import { setTimeout as afterMs } from 'node:timers/promises';
import type { Publish, SourceOptions, ToolSource, UpstreamState } from 'recourse-server/extension';
import type { ToolOffer } from 'recourse-server/tools/tool-offer';
import type { Link } from './call-tool.ts';
import {
  type Connection,
  createHealth,
  DEFAULT_TIMING,
  type Health,
  keepConnected,
  type McpTiming,
} from './connection.ts';
import { createBoundedLog, createFadingLog } from './limited-log.ts';
import { type McpServerSettings, toPrefix, unknownMembersOf } from './mcp-server-settings.ts';
import { createChangeGuard, createOfferBuilder, type HeldTools, toShownNames } from './offered-tools.ts';
import { createListReader, type ListedTool } from './tool-list.ts';

export type McpUpstreamOptions = Omit<SourceOptions<McpServerSettings>, 'mayRead' | 'readWorkspaceFile'> & {
  readonly timing?: Partial<McpTiming>;
};

const UNLISTED = 'tools of an MCP server could not be listed';

// Waiting costs memory, not turns: a server that can bear fewer says so in its settings.
const DEFAULT_CONCURRENCY = 512;
// Beyond what a result may hold, for what JSON and base64 add; and for the envelope.
const MESSAGE_SHARE = 8;
const MESSAGE_SLACK_BYTES = 65_536;

/**
 * An MCP server, a process that is started or one that is reached by URL, as a source of tools. It is connected again
 * whenever it goes away; meanwhile its tools stay, marked, and each call says so at once.
 */
export const createMcpUpstream = (options: McpUpstreamOptions): Required<ToolSource> => {
  const { name, settings, log, directory, maxResultBytes, holdsSecret } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const upstream = { name: `mcp:${name}`, concurrency: settings.concurrency ?? DEFAULT_CONCURRENCY };
  const prefix = toPrefix(name, settings.prefix);
  const list = createListReader({
    log,
    failures: createFadingLog(log, UNLISTED, timing.listLogMs),
    limitMs: timing.listMs,
    gapMs: timing.refreshGapMs,
    client: () => connection.client(),
    holdsSecret: (tool) => toShownNames(prefix, tool).some(holdsSecret),
    onList: (tools) => offers.take(tools, () => connection.client() !== null),
  });
  const health = createHealth(timing, (client, why) => connection.drop(client, why));
  const stillHas = async (tool: string): Promise<boolean> => (await list.latest()).kind !== 'read' || offers.has(tool);
  const link = createLink(() => connection, health, stillHas);
  const offers = createOfferKeeper(
    options.publish,
    createOfferBuilder({ server: name, prefix, upstream, settings, maxResultBytes, link }),
    createChangeGuard({ settings, log, memory: options.memory }),
  );
  const connection: Connection = keepConnected({
    settings: { ...settings, cwd: resolve(directory, settings.cwd ?? '') },
    environment: options.environment,
    version: options.version,
    maxMessageBytes: maxResultBytes * MESSAGE_SHARE + MESSAGE_SLACK_BYTES,
    timing,
    logOutput: createBoundedLog(log, 'info'),
    logFault: createBoundedLog(log, 'warn'),
    onListChanged: () => void list.read(),
    onFault: health.check,
    onUp: (client) => {
      health.watch(client);
      void list.read().then((reading) => {
        if (reading.kind === 'failed') connection.drop(client, `${UNLISTED_REASON}: ${reading.cause}`);
        if (reading.kind !== 'read') return;
        connection.served(client);
        log.info('MCP server up', { tools: offers.state().tools });
      });
    },
    onDown: (reason) => {
      health.stop();
      if (offers.down(reason)) log.warn('MCP server down', { reason });
    },
  });
  let polling: NodeJS.Timeout | undefined;
  return {
    start: async () => {
      const ignored = unknownMembersOf(settings);
      if (ignored.length > 0) log.warn('unknown settings of an MCP server ignored', { ignored });
      connection.start();
      polling = setInterval(() => void list.read(), timing.pollEveryMs);
      await Promise.race([offers.first, afterMs(timing.startMs, undefined, { ref: false })]);
      offers.tellAtLeastOnce();
    },
    stop: async () => {
      offers.stop();
      health.stop();
      clearInterval(polling);
      await connection.stop();
      log.info('MCP server stopped');
    },
    kill: connection.kill,
    state: () => ({ name: upstream.name, ...offers.state(), reconnects: connection.reconnects() }),
  };
};

/** `connection`: called once there is one. */
const createLink = (connection: () => Connection, health: Health, stillHas: Link['stillHas']): Link => ({
  state: () => connection().state(),
  callStarted: health.callStarted,
  callEnded: (client, verdict) => {
    health.callEnded(verdict === 'works' ? 'answered' : 'unanswered');
    if (verdict === 'uncertain') health.check();
    if (verdict === 'lost') connection().drop(client, 'MCP connection lost during a call');
  },
  stillHas,
});

/** What the reason begins with where a server is connected to and cannot list its tools; its cause follows. */
const UNLISTED_REASON = 'its tools could not be listed';

const NOTHING: ToolOffer = { tools: [], unavailable: [], outdated: new Map() };

/** What is offered now, whether the server is there or not. */
const createOfferKeeper = (
  publish: Publish,
  build: (tools: readonly ListedTool[], held: HeldTools) => Promise<ToolOffer>,
  guard: (tools: readonly ListedTool[]) => HeldTools,
) => {
  const first = Promise.withResolvers<void>();
  let listed: readonly ListedTool[] = [];
  let offer = NOTHING;
  let held: HeldTools = new Map();
  let status: 'connecting' | 'up' | 'down' = 'connecting';
  let reason: string | null = null;
  let isStopped = false;
  const tell = (): void => {
    const unreachable = new Map(offer.tools.map(({ name }) => [name, reason ?? '']));
    if (!isStopped) publish(status === 'down' ? { ...offer, unreachable } : offer);
    first.resolve();
  };
  return {
    /** Resolves once something was published. */
    first: first.promise,
    /** `isUp`: called once it is built. What was listed is offered, marked, where the server is gone by then. */
    take: async (tools: readonly ListedTool[], isUp: () => boolean): Promise<void> => {
      const holding = guard(tools);
      offer = await build(tools, holding);
      listed = tools;
      held = holding;
      if (isUp()) {
        status = 'up';
        reason = null;
      }
      tell();
    },
    /** Whether that is news; a server that was stopped makes none. */
    down: (why: string): boolean => {
      const isNews = !isStopped && (status !== 'down' || toKind(reason ?? '') !== toKind(why));
      status = 'down';
      reason = why;
      if (isNews) tell();
      return isNews;
    },
    /** Publishes what there is, where nothing was yet. */
    tellAtLeastOnce: (): void => {
      if (status === 'connecting') tell();
    },
    stop: (): void => {
      isStopped = true;
      first.resolve();
    },
    has: (name: string): boolean => listed.some((tool) => tool.name === name),
    state: (): Pick<UpstreamState, 'status' | 'reason' | 'tools'> => {
      const tools = offer.tools.length;
      if (status === 'up' && held.size > 0)
        return { status: 'held', reason: `${held.size} of its tools are held`, tools };
      return { status, reason, tools };
    },
  };
};

// In a server's last words a time or an id differs with every try; of a list that fails, the cause has log lines of its own.
const toKind = (reason: string): string => {
  if (reason.startsWith(`${UNLISTED_REASON}: `)) return UNLISTED_REASON;
  const words = reason.indexOf(': ');
  return words === -1 ? reason : reason.slice(0, words) + reason.slice(words).replace(/\d+/g, '0');
};
