import { existsSync } from 'node:fs';
import { type KeyFile, loadFirstKeys, loadKeyFile } from '../auth/api-keys.ts';
import { type LoadedExtensions, loadExtensions } from '../extensions/load-extensions.ts';
import { OWN_EXTENSIONS, PACKAGES } from '../packages.ts';
import { OWN_SECTIONS } from './file/config-file.ts';
import type { Variables } from './file/expand-variables.ts';
import { type FirstConfigFile, readFirstConfigFile } from './file/read-config-file.ts';
import { findMissingPackages } from './missing-packages.ts';
import { type Config, loadConfig } from './settings/config.ts';
import { DEFAULT_LANE, findUnknownLanes } from './settings/lanes.ts';
import { SETTINGS } from './settings/settings.ts';
import { createWorkspaceGuard } from './workspace-guard.ts';

/** Variables of the environment, and of a file beside them. */
export type LoadedEnvironment = {
  /** What the process was started with, and what the file adds: a variable that was there before keeps its value. */
  readonly variables: Variables;
  /** What the process was started with. */
  readonly before: Variables;
  /** The file that was read, as an absolute path; null where there is none. */
  readonly file: string | null;
  /** Why the file cannot be read, in one sentence; null where it can, or where there is none. */
  readonly mistake: string | null;
};

/** The settings, and the files that they name, as they were when the service started. */
export type Configuration = {
  readonly config: Config;
  readonly keyFile: KeyFile | null;
  readonly configFile: FirstConfigFile | null;
  /** Every mistake in all of them, one line each: none, or the service must not start. */
  readonly mistakes: readonly string[];
};

/**
 * Reads and checks all that decides what a service does: settings, installed packages, the files that settings name, and
 * that tools cannot write to any of them. `environment`: the variables, with what the command line overrides. Never rejects.
 */
export const readConfiguration = async (loaded: LoadedEnvironment, environment: Variables): Promise<Configuration> => {
  const { extensions, mistakes: inExtensions } = await readExtensions(environment);
  const settings = loadConfig(environment, extensions);
  const { config } = settings;
  const { WORKSPACE_DIR, TOOLS_DIR } = config;
  const [keyFile, workspace, toolFiles] = await Promise.all([
    read('API_KEYS_FILE', () => readFirstKeyFile(config)),
    read('WORKSPACE_DIR', async () =>
      WORKSPACE_DIR === undefined ? null : (await PACKAGES.workspace()).createWorkspace({ root: WORKSPACE_DIR }),
    ),
    read('TOOLS_DIR', async () =>
      TOOLS_DIR === undefined ? [] : (await PACKAGES.toolHosts()).listToolFiles(TOOLS_DIR),
    ),
  ]);
  const { file: configFile, mistakes: inFile } = await readFirstConfigFile(config, environment);
  const guard = await createWorkspaceGuard(config, environment);
  const mistakes = [
    ...(loaded.mistake === null ? [] : [loaded.mistake]),
    ...('mistakes' in settings ? settings.mistakes : []),
    ...inExtensions,
    ...findMissingPackages(config, environment),
    ...[keyFile, workspace, toolFiles].flatMap(({ mistake }) => mistake ?? []),
    // One of its sections may be that of an extension which cannot be loaded.
    ...(inExtensions.length > 0 ? [] : inFile),
    // A file with mistakes may define them.
    ...(inFile.length > 0 ? [] : findUnknownLanes(config, configFile?.content.lanes ?? [DEFAULT_LANE])),
    ...(await checkVariablesFile(loaded, environment)),
    ...(await guard.checkSettings(toolFiles.value ?? [])),
    ...(configFile === null ? [] : await guard.checkContent(configFile.path, configFile.content)),
    ...(configFile === null ? [] : (await PACKAGES.upstreams()).findDisabledRequired(config, configFile.content)),
  ];
  return { config, keyFile: keyFile.value ?? null, configFile, mistakes };
};

/** The extensions of the product, and those that EXTENSIONS names, of which none may lie where tools write. */
export const readExtensions = async (environment: Variables): Promise<LoadedExtensions> => {
  const { config } = loadConfig(environment);
  const guard = await createWorkspaceGuard(config, environment);
  return loadExtensions({
    names: config.EXTENSIONS,
    directory: process.cwd(),
    own: OWN_EXTENSIONS,
    settings: Object.keys(SETTINGS),
    sections: OWN_SECTIONS,
    check: (file) => guard.check('EXTENSIONS', [file]),
  });
};

type Read<Value> = { readonly value?: Value; readonly mistake?: string };

/** Reads what a setting names, so that a mistake in it stands in one list with all others. */
const read = async <Value>(setting: string, act: () => Value | Promise<Value>): Promise<Read<Value>> => {
  try {
    return { value: await act() };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { mistake: problem.startsWith(setting) ? problem : `${setting}: ${problem}` };
  }
};

/**
 * API_KEYS_FILE as it is now, null where it is not set. Throws one sentence where it cannot be read, has a mistake in it,
 * or would leave nobody who may call.
 */
export const readFirstKeyFile = ({ API_KEYS, API_KEYS_FILE: path, JWT_JWKS_URL }: Config): KeyFile | null => {
  if (path === undefined) return null;
  if (!existsSync(path))
    throw new Error(`API_KEYS_FILE ${path} does not exist: create it with recourse key --tenant NAME --file ${path}`);
  const file = loadKeyFile(path);
  const isOnlyWayIn = API_KEYS.length === 0 && JWT_JWKS_URL === undefined;
  if (loadFirstKeys({ entries: [], file }).length === 0 && isOnlyWayIn)
    throw new Error(`API_KEYS_FILE ${path} contains no key.`);
  return file;
};

/** Tools must not write the settings of the next start: not in this workspace, nor in the one without that file. */
const checkVariablesFile = async ({ file, before }: LoadedEnvironment, environment: Variables) => {
  if (file === null) return [];
  const checks = [environment, before].map(async (variables) => {
    const guard = await createWorkspaceGuard(loadConfig(variables).config, variables);
    return guard.check('The environment file', [file]);
  });
  return (await Promise.all(checks)).flat().slice(0, 1);
};

/** Why the service cannot serve on this platform, in one sentence; null where it can. Named as `process.platform` does. */
export const toPlatformProblem = (platform: string): string | null =>
  platform === 'win32' ? 'Windows is not supported: start the service in WSL, or run its container.' : null;
