import type { HostLimits } from 'recourse-server/config/host-limits';
import type { Config } from 'recourse-server/config/settings/config';
import { PUBLIC_API } from 'recourse-server/files/own-package';
import type { Tool } from 'recourse-server/tools/tool';
import { createIsolation, type Isolation, type IsolationSettings } from './create-isolation.ts';
import { type CheckedDirectory, checkDirectory } from './directory/check-directory.ts';
import { createInlineLoader } from './directory/file-versions.ts';
import { readDirectory } from './directory/read-directory.ts';
import { ToolDirectory, type ToolDirectoryOptions } from './directory/tool-directory.ts';
import { isAllowedName } from './host-environment.ts';
import { createIsolationObserver, type HostObserverParts, type IsolationObserver } from './host-observer.ts';
import type { FileGroup } from './hosted-files.ts';
import { findProcessTable, type ProcessTable } from './process-table.ts';

type HostParts = Pick<IsolationSettings, 'environment'> & { readonly hostLimits: HostLimits };
type DirectoryParts = HostParts &
  HostObserverParts &
  Required<Pick<ToolDirectoryOptions, 'check' | 'taken' | 'register'>>;

/** The files of a tools directory, as absolute paths. Rejects with one sentence for people where it cannot be read. */
export const listToolFiles = async (directory: string): Promise<readonly string[]> => [
  ...(await readDirectory(directory)).sources.keys(),
];

/** Offers the tools of a directory, and starts their hosts. Rejects with one sentence for people where it cannot be read. */
export const openToolDirectory = async (root: string, config: Config, parts: DirectoryParts) => {
  const { log, metrics, check, taken, register } = parts;
  const { min, max, memoryMb, reason } = parts.hostLimits;
  log.info({ max, kept_warm: min, memory_mb: memoryMb, reckoned: reason }, 'tool hosts');
  const processes = findProcessTable();
  if (processes.source === 'groups') for (const line of WITHOUT_PROC) log.warn({}, line);
  const isolation = startIsolation(config, parts, processes, createIsolationObserver(parts));
  metrics.countToolProcessesBy(isolation.count);
  const loading = createLoading(config, isolation);
  const onFiles = metrics.countToolFiles;
  const directory = new ToolDirectory({ ...loading, log, check, taken, register, onFiles, root });
  const close = async (): Promise<void> => {
    directory.stop();
    await Promise.all([directory.closeInline(), isolation.close()]);
  };
  await directory.start().catch(async (error: unknown) => {
    await close();
    throw error;
  });
  for (const { files, variables } of isolation.listGroups())
    if (files.length > 1)
      log.info(
        { files: files.slice(0, MAX_FILES_LOGGED), count: files.length, variables },
        'tool files that share processes',
      );
  return {
    runHosted: isolation.runHosted,
    /** Ends all processes of tools without waiting for it: for a process that exits. */
    killHosts: isolation.killAll,
    placingOf: (tool: Tool) => (tool.runsIn === 'host' ? isolation.placingOf(tool) : null),
    problems: () => directory.problems(),
    hosts: isolation.listHosts,
    close,
  };
};

// A directory may have a thousand.
const MAX_FILES_LOGGED = 100;

// What a system without /proc cannot do.
const WITHOUT_PROC = [
  'no /proc: tool processes cannot be listed; TOOL_HOST_MEMORY_MB limits only the JavaScript heap, and a process that a tool moves out of its process group survives its host',
  'control group limits cannot be read: the number of tool hosts is computed from the memory of the machine',
];

const startIsolation = (
  config: Config,
  { environment, hostLimits }: HostParts,
  processes: ProcessTable,
  observer: IsolationObserver,
): Isolation =>
  createIsolation({
    minHosts: hostLimits.min,
    maxHosts: hostLimits.max,
    maxCalls: config.TOOL_HOST_MAX_CALLS,
    memoryMb: hostLimits.memoryMb,
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

/** How files of the directory are loaded. */
const createLoading = (config: Config, { hosts }: Isolation) => ({
  hosts,
  inline: { allowed: new Set(config.TOOLS_INLINE), load: createInlineLoader({ api: PUBLIC_API }) },
  isAllowed: (name: string) => isAllowedName(name, config.TOOLS_ENV_ALLOW),
});

// Tools of a directory that is checked are not called: what its files do beside loading is not reported.
const SILENT: IsolationObserver = {
  hostEnded: () => undefined,
  messageDropped: () => undefined,
  strayThrown: () => undefined,
  hostUnusable: () => undefined,
  fileOffended: () => undefined,
  lineWritten: () => undefined,
  hostObtained: () => undefined,
};

/** Loads a tools directory as a service of these settings does, without serving. Rejects with one sentence for people. */
export const checkToolDirectory = async (
  root: string,
  config: Config,
  { environment, hostLimits, taken }: HostParts & Pick<ToolDirectoryOptions, 'taken'>,
): Promise<CheckedDirectory & { readonly processes: readonly FileGroup[] }> => {
  const parts = { environment, hostLimits: { ...hostLimits, min: 0 } };
  const isolation = startIsolation(config, parts, findProcessTable(), SILENT);
  try {
    const checked = await checkDirectory(root, { ...createLoading(config, isolation), taken });
    return { ...checked, processes: isolation.listGroups() };
  } finally {
    await isolation.close();
  }
};
