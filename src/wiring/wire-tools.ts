import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { CallObserver } from '../executor/call-observer.ts';
import type { RunHosted } from '../executor/run-hosted.ts';
import { createIsolationObserver } from '../telemetry/create-isolation-observer.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { UpstreamState } from '../tools/offers/tool-source.ts';
import type { ToolRegistry } from '../tools/registry.ts';

export type WiredTools = {
  readonly runHosted: RunHosted;
  /** Ends all tool hosts without waiting for it: for a process that exits. */
  readonly killHosts: () => void;
  /** How the places stand that tools come from elsewhere. */
  readonly upstreams: () => readonly UpstreamState[];
  readonly close: () => Promise<void>;
};

export type ToolsOptions = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  readonly registry: ToolRegistry;
  readonly now: () => number;
  /** Of which tool hosts get what the settings name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
};

const NO_HOSTS: WiredTools = {
  runHosted: () => Promise.reject(new Error('There is no tools directory, and so no tool host.')),
  killHosts: () => undefined,
  upstreams: () => [],
  close: async () => undefined,
};

/** The tools directory, where the settings name one: its tool hosts, and its tools in the registry. */
export const wireTools = async (config: Config, options: ToolsOptions): Promise<WiredTools> => {
  const { TOOLS_DIR } = config;
  if (TOOLS_DIR === undefined) return NO_HOSTS;
  // Only here: a service without a tools directory need not pay for what runs one.
  const { createIsolation } = await import('../executor/isolation/create-isolation.ts');
  const { createToolDirectory } = await import('../tools/directory/tool-directory.ts');
  const { createInlineLoader } = await import('../tools/directory/load-inline-tools.ts');
  const { log, metrics, observer, registry, now, environment } = options;
  const isolation = createIsolation({
    minHosts: config.TOOL_HOSTS_MIN,
    maxHosts: config.TOOL_HOSTS_MAX,
    maxCalls: config.TOOL_HOST_MAX_CALLS,
    memoryMb: config.TOOL_HOST_MEMORY_MB,
    maxResultBytes: config.MAX_RESULT_BYTES,
    permissions: config.TOOLS_PERMISSIONS,
    sharedVariables: config.TOOLS_ENV,
    allowedVariables: config.TOOLS_ENV_ALLOW,
    environment,
    now,
    observer: createIsolationObserver({ metrics, log, now, lateResult: observer.lateResult }),
  });
  metrics.countToolProcessesBy(isolation.count);
  const directory = createToolDirectory({
    root: TOOLS_DIR,
    hosts: isolation.hosts,
    taken: [...registry.list(), ...registry.reducers()],
    inline: { allowed: new Set(config.TOOLS_INLINE), load: createInlineLoader({ api: PUBLIC_API }) },
    log,
    onFiles: metrics.countToolFiles,
    publish: (offer) => {
      registry.offer(offer);
      observer.toolsOffered(registry.list());
    },
  });
  const close = (): Promise<void> => {
    directory.stop();
    return isolation.close();
  };
  await directory.start().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  return { runHosted: isolation.runHosted, killHosts: isolation.killAll, upstreams: () => [], close };
};

const PUBLIC_API = new URL(`../recourse${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url).href;
