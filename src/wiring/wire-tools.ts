import type { CheckedDirectory } from '@recourse/tool-hosts/directory/check-directory';
import type { DirectoryProblems } from '@recourse/tool-hosts/directory/tool-directory';
import type { FileGroup } from '@recourse/tool-hosts/hosted-files';
import type { IsolationObserver } from '@recourse/tool-hosts/isolation-observer';
import type { ProcessTable } from '@recourse/tool-hosts/process-table';
import type { Publish, UpstreamState } from '@recourse/upstreams/upstream';
import { type Logger, pino } from 'pino';
import type { Variables } from '../config/file/expand-variables.ts';
import { type HostLimits, readMachine, toHostLimits } from '../config/host-limits.ts';
import { warnOfUnusedNames } from '../config/misspelled-names.ts';
import { toRequiredTools } from '../config/required-tools.ts';
import type { Config } from '../config/settings/config.ts';
import type { CallObserver } from '../executor/call-observer.ts';
import type { RunHosted } from '../executor/deadline.ts';
import { PUBLIC_API } from '../files/own-package.ts';
import { createIsolationObserver } from '../telemetry/host-observer.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createBuiltinReducers } from '../tools/builtin-reducers.ts';
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts';
import type { ConcurrencyOf, PlacingOf, UnavailableTool } from '../tools/tool-offer.ts';
import { addRequired, createToolReadiness, findUnloaded, type ToolsReadiness } from './tool-readiness.ts';
import { wireBuiltin } from './wire-builtin.ts';
import { wireRedaction } from './wire-redaction.ts';
import { type UpstreamsOptions, wireUpstreams } from './wire-upstreams.ts';

export type WiredTools = {
  readonly registry: ToolRegistry;
  readonly runHosted: RunHosted;
  /** Ends all processes of tools without waiting for it: for a process that exits. */
  readonly killHosts: () => void;
  /** How the places stand that tools come from elsewhere. */
  readonly upstreams: () => readonly UpstreamState[];
  /** Whether what TOOLS_REQUIRED names serves, and what is wrong with the tools directory. */
  readonly readiness: () => ToolsReadiness;
  readonly close: () => Promise<void>;
};

export type ToolsOptions = Omit<UpstreamsOptions, 'offer'> & {
  readonly metrics: Metrics;
  readonly observer: CallObserver;
  /** How many calls of a tool the service lets run at once. */
  readonly limitOf: ConcurrencyOf;
  readonly now: () => number;
  readonly hostLimits: HostLimits;
  /** How the service learns of the processes of tools; left out: by what this system offers. */
  readonly processes?: ProcessTable | undefined;
};

/** Everything that offers tools, in the registry; and the tool hosts, where there is a tools directory. */
export const wireTools = async (config: Config, options: ToolsOptions): Promise<WiredTools> => {
  const { metrics, observer, log } = options;
  // Known once the directory is wired, which offers its tools to the registry.
  let placingOf: PlacingOf = () => null;
  // Without tools of its own: overrides change those of the service, too.
  const offered = createToolRegistry([], options.limitOf, (tool) => placingOf(tool));
  const required = toRequiredTools(config);
  // Nothing is judged before all that has tools has started.
  let look: () => void = () => undefined;
  const offer: Publish = (next) => {
    offered.offer(addRequired(next, required));
    observer.toolsOffered([...offered.list(), ...offered.listMissing().map(toMissingSeries)]);
    look();
  };
  const { upstreams, ...sources } = await wireUpstreams(config, { ...options, offer });
  const registry: ToolRegistry = {
    ...offered,
    findUnavailable: (name) => offered.findUnavailable(name) ?? findUnloaded(name, upstreams()),
  };
  const hosts = await wireDirectory(config, options, sources.publishDirectory);
  ({ placingOf } = hosts);
  const readiness = createToolReadiness({ required, registry, upstreams, directory: hosts.problems, log });
  metrics.showUpstreamsBy(upstreams);
  metrics.showConfigFileBy(() => sources.configFile().status === 'stale');
  // Last: nothing that fails here leaves their processes behind.
  await sources.start();
  look = readiness;
  look();
  warnOfUnusedNames(config, registry.list(), log);
  return {
    registry,
    runHosted: hosts.runHosted,
    upstreams,
    readiness,
    killHosts: () => {
      hosts.killHosts();
      sources.kill();
    },
    close: async () => {
      await Promise.all([sources.close(), hosts.close()]);
    },
  };
};

const toMissingSeries = ({ facts }: UnavailableTool) => ({ name: facts.name, effects: 'missing' }) as const;

type WiredDirectory = Pick<WiredTools, 'runHosted' | 'killHosts' | 'close'> & {
  readonly placingOf: PlacingOf;
  readonly problems: () => DirectoryProblems;
};

const NO_HOSTS: WiredDirectory = {
  runHosted: () => Promise.reject(new Error('There is no tools directory, so there are no tool hosts.')),
  killHosts: () => undefined,
  close: async () => undefined,
  placingOf: () => null,
  problems: () => ({ found: [], hasUnnamed: false }),
};

/** The tools directory, where the settings name one, and its tool hosts. */
const wireDirectory = async (config: Config, options: ToolsOptions, publish: Publish): Promise<WiredDirectory> => {
  const { TOOLS_DIR } = config;
  if (TOOLS_DIR === undefined) return NO_HOSTS;
  const { log, metrics, observer, own, now, environment, guard, hostLimits, processes } = options;
  const { min, max, memoryMb, reason } = hostLimits;
  log.info({ max, kept_warm: min, memory_mb: memoryMb, reckoned: reason }, 'tool hosts');
  const isolationObserver = createIsolationObserver({ metrics, log, now, lateResult: observer.lateResult });
  const hosts = { environment, limits: hostLimits, observer: isolationObserver, log, processes };
  const { isolation, ...loading } = await loadIsolation(config, hosts);
  metrics.countToolProcessesBy(isolation.count);
  const { ToolDirectory } = await import('@recourse/tool-hosts/directory/tool-directory');
  const directory = new ToolDirectory({
    ...loading,
    root: TOOLS_DIR,
    check: (paths) => guard.check('TOOLS_DIR', paths),
    taken: own,
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
  for (const { files, variables } of isolation.listGroups().filter(isShared))
    log.info(
      { files: files.slice(0, MAX_FILES_LOGGED), count: files.length, variables },
      'tool files that share processes',
    );
  const placingOf: PlacingOf = (tool) => (tool.runsIn === 'host' ? isolation.placingOf(tool) : null);
  const problems = () => directory.problems();
  return { runHosted: isolation.runHosted, killHosts: isolation.killAll, close, placingOf, problems };
};

// A directory may have a thousand.
const MAX_FILES_LOGGED = 100;

const isShared = ({ files }: FileGroup): boolean => files.length > 1;

type IsolationParts = {
  readonly environment: Variables;
  readonly limits: Pick<HostLimits, 'min' | 'max' | 'memoryMb'>;
  readonly observer: IsolationObserver;
  readonly log: Logger;
  readonly processes?: ProcessTable | undefined;
};

/** Tool hosts, and how files of a tools directory are loaded into them: a service without one does not load this. */
const loadIsolation = async (config: Config, parts: IsolationParts) => {
  const { environment, limits, observer, log } = parts;
  const { createIsolation } = await import('@recourse/tool-hosts/create-isolation');
  const { findProcessTable } = await import('@recourse/tool-hosts/ps-table');
  const { isAllowedName } = await import('@recourse/tool-hosts/host-environment');
  const { createInlineLoader } = await import('@recourse/tool-hosts/directory/file-versions');
  const { processes = findProcessTable() } = parts;
  for (const line of MISSING[processes.source]) log.warn(line);
  const isolation = createIsolation({
    minHosts: limits.min,
    maxHosts: limits.max,
    maxCalls: config.TOOL_HOST_MAX_CALLS,
    memoryMb: limits.memoryMb,
    maxResultBytes: config.MAX_RESULT_BYTES,
    permissions: config.TOOLS_PERMISSIONS,
    sharedVariables: config.TOOLS_ENV,
    allowedVariables: config.TOOLS_ENV_ALLOW,
    ownTools: config.TOOLS_ISOLATION === 'own' ? ['*'] : config.TOOL_HOSTS_OWN,
    environment,
    processes,
    now: () => performance.now(),
    observer,
  });
  return {
    isolation,
    hosts: isolation.hosts,
    inline: { allowed: new Set(config.TOOLS_INLINE), load: createInlineLoader({ api: PUBLIC_API }) },
    isAllowed: (name: string) => isAllowedName(name, config.TOOLS_ENV_ALLOW),
  };
};

const NO_CGROUPS =
  'control group limits cannot be read: the number of tool hosts is computed from the memory of the machine';

// What this system cannot do, by how processes are listed.
const MISSING = {
  proc: [],
  ps: [
    'no /proc: tool processes are listed by ps once a second; a process that a tool moves out of its process group within a second may survive its host',
    NO_CGROUPS,
  ],
  none: [
    'no /proc and no working ps: tool processes cannot be listed; TOOL_HOST_MEMORY_MB limits only the JavaScript heap, and a process that a tool moves out of its process group survives its host',
    NO_CGROUPS,
  ],
} as const satisfies Record<ProcessTable['source'], readonly string[]>;

// Nobody calls a tool of a directory that is checked: a file is loaded, and what it does beside that is not told.
const SILENT: IsolationObserver = {
  hostEnded: () => undefined,
  messageDropped: () => undefined,
  strayThrown: () => undefined,
  hostUnfit: () => undefined,
  fileOffended: () => undefined,
  lineWritten: () => undefined,
  hostObtained: () => undefined,
};

/** Loads a tools directory as a service of these settings does, without serving. Rejects with one sentence for people. */
export const checkTools = async (
  directory: string,
  config: Config,
  environment: Variables,
): Promise<CheckedDirectory & { readonly processes: readonly FileGroup[] }> => {
  const { checkDirectory } = await import('@recourse/tool-hosts/directory/check-directory');
  const log = pino({ level: 'silent' });
  const builtin = await wireBuiltin(config, {
    version: 'check',
    log,
    redaction: wireRedaction(config, environment),
    pageTokens: { find: async () => null, keep: async () => undefined },
  });
  const limits = { ...toHostLimits(config, readMachine()), min: 0 };
  const { isolation, ...loading } = await loadIsolation(config, { environment, limits, observer: SILENT, log });
  try {
    const taken = [...builtin.tools, ...createBuiltinReducers()];
    return { ...(await checkDirectory(directory, { ...loading, taken })), processes: isolation.listGroups() };
  } finally {
    await Promise.all([isolation.close(), builtin.close()]);
  }
};
