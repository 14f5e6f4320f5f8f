import type { Logger } from 'pino';
import type { CallObserver } from '../executor/call-observer.ts';
import type { RunHosted } from '../executor/run-hosted.ts';
import type { ProcessTable } from '../isolation/process-table.ts';
import type { Config } from '../settings/config.ts';
import { createIsolationObserver } from '../telemetry/create-isolation-observer.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Publish, UpstreamState } from '../tools/offers/tool-source.ts';
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import type { ConcurrencyOf, PlacingOf } from '../tools/tool-offer.ts';
import type { ConfigFileState } from './follow-config-file.ts';
import type { HostLimits } from './host-limits.ts';
import { warnOfUnusedNames } from './warn-of-unused-names.ts';
import { type UpstreamsOptions, wireUpstreams } from './wire-upstreams.ts';

export type WiredTools = {
  readonly registry: ToolRegistry;
  readonly runHosted: RunHosted;
  /** Ends all processes of tools without waiting for it: for a process that exits. */
  readonly killHosts: () => void;
  /** How the places stand that tools come from elsewhere. */
  readonly upstreams: () => readonly UpstreamState[];
  readonly configFile: () => ConfigFileState;
  readonly close: () => Promise<void>;
};

export type ToolsOptions = {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  /** The service's own tools and reducers. */
  readonly own: readonly Tool[];
  /** How many calls of a tool the service lets run at once. */
  readonly limitOf: ConcurrencyOf;
  readonly now: () => number;
  readonly hostLimits: HostLimits;
  /** How the service learns of the processes of tools; left out: by what this system offers. */
  readonly processes?: ProcessTable | undefined;
  /** Of which tool hosts get what the settings name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
} & Pick<UpstreamsOptions, 'ownUnavailable' | 'redaction' | 'version' | 'configFile' | 'guard'>;

/** Everything that offers tools, in the registry; and the tool hosts, where there is a tools directory. */
export const wireTools = async (config: Config, options: ToolsOptions): Promise<WiredTools> => {
  const { metrics, observer } = options;
  // Without tools of its own: overrides change those of the service, too.
  // Known once the directory is wired, which offers its tools to the registry.
  let placingOf: PlacingOf = () => null;
  const registry = createToolRegistry([], options.limitOf, (tool) => placingOf(tool));
  const offer: Publish = (next) => {
    registry.offer(next);
    observer.toolsOffered(registry.list());
  };
  const { publishDirectory, start, close, kill, ...upstreams } = await wireUpstreams(config, { ...options, offer });
  const { placingOf: placingInHosts, ...hosts } = await wireDirectory(config, {
    ...options,
    publish: publishDirectory,
  });
  placingOf = placingInHosts;
  metrics.showUpstreamsBy(upstreams.upstreams);
  metrics.showConfigFileBy(() => upstreams.configFile().status === 'stale');
  // Last: nothing that fails here leaves their processes behind.
  await start();
  warnOfUnusedNames(config, registry.list(), options.log);
  const killHosts = (): void => {
    hosts.killHosts();
    kill();
  };
  return {
    registry,
    ...hosts,
    ...upstreams,
    killHosts,
    close: () => Promise.all([close(), hosts.close()]).then(() => undefined),
  };
};

type WiredDirectory = Pick<WiredTools, 'runHosted' | 'killHosts' | 'close'> & { readonly placingOf: PlacingOf };

const NO_HOSTS: WiredDirectory = {
  runHosted: () => Promise.reject(new Error('There is no tools directory, and so no tool host.')),
  killHosts: () => undefined,
  close: async () => undefined,
  placingOf: () => null,
};

/** The tools directory, where the settings name one, and its tool hosts. */
const wireDirectory = async (
  config: Config,
  options: ToolsOptions & { readonly publish: Publish },
): Promise<WiredDirectory> => {
  const { TOOLS_DIR } = config;
  if (TOOLS_DIR === undefined) return NO_HOSTS;
  // Only here: a service without a tools directory need not pay for what runs one.
  const { createIsolation } = await import('../isolation/create-isolation.ts');
  const { createToolDirectory } = await import('../tools/directory/tool-directory.ts');
  const { isAllowedName } = await import('../isolation/host-environment.ts');
  const { chooseProcesses } = await import('./choose-processes.ts');
  const { createInlineLoader } = await import('../tools/directory/load-inline-tools.ts');
  const { log, metrics, observer, own, now, environment, guard, publish, hostLimits } = options;
  const { min, max, memoryMb, reason } = hostLimits;
  log.info({ max, kept_warm: min, memory_mb: memoryMb, reckoned: reason }, 'tool hosts');
  const isolation = createIsolation({
    minHosts: min,
    maxHosts: max,
    maxCalls: config.TOOL_HOST_MAX_CALLS,
    memoryMb,
    maxResultBytes: config.MAX_RESULT_BYTES,
    permissions: config.TOOLS_PERMISSIONS,
    sharedVariables: config.TOOLS_ENV,
    allowedVariables: config.TOOLS_ENV_ALLOW,
    ownTools: config.TOOL_HOSTS_OWN,
    environment,
    processes: chooseProcesses(log, options.processes),
    now,
    observer: createIsolationObserver({ metrics, log, now, lateResult: observer.lateResult }),
  });
  metrics.countToolProcessesBy(isolation.count);
  const directory = createToolDirectory({
    root: TOOLS_DIR,
    check: (paths) => guard.check('TOOLS_DIR', paths),
    hosts: isolation.hosts,
    taken: own,
    isAllowed: (name) => isAllowedName(name, config.TOOLS_ENV_ALLOW),
    inline: { allowed: new Set(config.TOOLS_INLINE), load: createInlineLoader({ api: PUBLIC_API }) },
    log,
    onFiles: metrics.countToolFiles,
    publish,
  });
  const close = async (): Promise<void> => {
    directory.stop();
    await Promise.all([directory.closeInline(), isolation.close()]);
  };
  await directory.start().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const placingOf: PlacingOf = (tool) => (tool.runsIn === 'host' ? isolation.placingOf(tool) : null);
  return { runHosted: isolation.runHosted, killHosts: isolation.killAll, close, placingOf };
};

export const PUBLIC_API = new URL(`../recourse${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url)
  .href;
