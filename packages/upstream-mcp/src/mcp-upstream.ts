import { resolve } from 'node:path';
import { setTimeout as afterMs } from 'node:timers/promises';
import type { Publish, SourceOptions, ToolSource, UpstreamState } from 'recourse-server/extension';
import type { ToolOffer } from 'recourse-server/tools/tool-offer';
import type { Link } from './call-tool.ts';
import { createChangeGuard } from './change-guard.ts';
import { Connection, DEFAULT_TIMING, type McpTiming } from './connection.ts';
import { Health } from './health.ts';
import { createBoundedLog, createFadingLog } from './limited-log.ts';
import { ListRefresh } from './list-refresh.ts';
import { listUnknownMembers, type McpServerSettings, prefixOf } from './mcp-server-settings.ts';
import { createOfferBuilder, listShownNames } from './offered-tools.ts';
import type { ListedTool } from './tool-list.ts';

export type McpUpstreamOptions = Omit<SourceOptions<McpServerSettings>, 'mayRead' | 'readWorkspaceFile'> & {
  readonly timing?: Partial<McpTiming>;
};

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
  const { name, settings, log, directory, maxResultBytes, holdsSecret, memory } = options;
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const upstream = { name: `mcp:${name}`, concurrency: settings.concurrency ?? DEFAULT_CONCURRENCY };
  const prefix = prefixOf(settings, name);
  const health = new Health(timing, (client, why) => connection.drop(client, why));
  const stillHas = async (tool: string) => (await list.latest()) !== 'read' || catalogue.has(tool);
  const link = createLink(() => connection, health, stillHas);
  const build = createOfferBuilder({ server: name, prefix, upstream, settings, maxResultBytes, link });
  const guard = createChangeGuard({ settings, log, memory });
  const catalogue = new Catalogue(options.publish);
  const list = new ListRefresh({
    log,
    failures: createFadingLog(log, 'tools of an MCP server could not be listed', timing.listLogMs),
    limitMs: timing.listMs,
    gapMs: timing.refreshGapMs,
    client: () => connection.client(),
    holdsSecret: (tool) => listShownNames(prefix, tool).some(holdsSecret),
    onList: async (tools) => {
      const held = guard(tools);
      const offer = await build(tools, held);
      catalogue.register(offer, tools, held.size, connection.client() !== null);
    },
  });
  const connection = new Connection({
    settings: { ...settings, cwd: resolve(directory, settings.cwd ?? '') },
    environment: options.environment,
    version: options.version,
    maxMessageBytes: maxResultBytes * MESSAGE_SHARE + MESSAGE_SLACK_BYTES,
    timing,
    logOutput: createBoundedLog(log, 'info'),
    logFault: createBoundedLog(log, 'warn'),
    onListChanged: () => void list.read(),
    onFault: () => health.check(),
    onUp: async (client) => {
      health.watch(client);
      const reading = await list.read();
      if (typeof reading === 'object') connection.drop(client, `${UNLISTED_REASON}: ${reading.cause}`);
      if (reading !== 'read') return;
      connection.served(client);
      log.info('MCP server up', { tools: catalogue.state().tools });
    },
    onDown: (reason) => {
      health.stop();
      if (catalogue.down(reason)) log.warn('MCP server down', { reason });
    },
  });
  let polling: NodeJS.Timeout | undefined;
  return {
    start: async () => {
      const ignored = listUnknownMembers(settings);
      if (ignored.length > 0) log.warn('unknown settings of an MCP server ignored', { ignored });
      connection.start();
      polling = setInterval(() => void list.read(), timing.pollEveryMs);
      await Promise.race([catalogue.first, afterMs(timing.startMs, undefined, { ref: false })]);
      catalogue.publishAtLeastOnce();
    },
    stop: async () => {
      catalogue.stop();
      health.stop();
      clearInterval(polling);
      await connection.stop();
      log.info('MCP server stopped');
    },
    kill: () => connection.kill(),
    state: () => ({ name: upstream.name, ...catalogue.state(), reconnects: connection.reconnects }),
  };
};

/** `connection`: called once there is one. */
const createLink = (connection: () => Connection, health: Health, stillHas: Link['stillHas']): Link => ({
  state: () => connection().state(),
  callStarted: () => health.callStarted(),
  callEnded: (client, verdict) => {
    health.callEnded(verdict === 'works');
    if (verdict === 'uncertain') health.check();
    if (verdict === 'lost') connection().drop(client, 'MCP connection lost during a call');
  },
  stillHas,
});

/** What the reason begins with where a server is connected to and cannot list its tools; its cause follows. */
const UNLISTED_REASON = 'its tools could not be listed';

/** Owns what is offered now, whether the server is there or not. `connecting` until the first list or failure. */
class Catalogue {
  readonly #publish: Publish;
  readonly #first = Promise.withResolvers<void>();
  #names: ReadonlySet<string> = new Set();
  #offer: ToolOffer = { tools: [], unavailable: [], outdated: new Map() };
  #held = 0;
  #status: 'connecting' | 'up' | 'down' = 'connecting';
  #reason: string | null = null;
  #isStopped = false;

  constructor(publish: Publish) {
    this.#publish = publish;
  }

  /** Resolves once something was published. */
  get first(): Promise<void> {
    return this.#first.promise;
  }

  /** What was listed is offered, marked, where the server is gone by then. */
  register(offer: ToolOffer, listed: readonly ListedTool[], held: number, isUp: boolean): void {
    this.#offer = offer;
    this.#names = new Set(listed.map(({ name }) => name));
    this.#held = held;
    if (isUp) [this.#status, this.#reason] = ['up', null];
    this.#publishNow();
  }

  /** Whether that is news; a server that was stopped makes none. */
  down(reason: string): boolean {
    const wasDown = this.#status === 'down' && kindOf(this.#reason ?? '') === kindOf(reason);
    [this.#status, this.#reason] = ['down', reason];
    if (wasDown || this.#isStopped) return false;
    this.#publishNow();
    return true;
  }

  publishAtLeastOnce(): void {
    if (this.#status === 'connecting') this.#publishNow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#first.resolve();
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  state(): Pick<UpstreamState, 'status' | 'reason' | 'tools'> {
    const tools = this.#offer.tools.length;
    if (this.#status !== 'up' || this.#held === 0) return { status: this.#status, reason: this.#reason, tools };
    return { status: 'held', reason: `${this.#held} of its tools are held`, tools };
  }

  #publishNow(): void {
    const unreachable = new Map(this.#offer.tools.map(({ name }) => [name, this.#reason ?? '']));
    if (!this.#isStopped) this.#publish(this.#status === 'down' ? { ...this.#offer, unreachable } : this.#offer);
    this.#first.resolve();
  }
}

// In a server's last words a time or an id differs with every try; of a list that fails, the cause has log lines of its own.
const kindOf = (reason: string): string => {
  if (reason.startsWith(`${UNLISTED_REASON}: `)) return UNLISTED_REASON;
  const colon = reason.indexOf(': ');
  return colon === -1 ? reason : reason.slice(0, colon) + reason.slice(colon).replace(/\d+/g, '0');
};
