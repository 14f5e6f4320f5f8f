import { access, constants, realpath, stat } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import type { McpServerSettings } from '@recourse/upstream-mcp/mcp-server-settings';
import type { ExtensionSet } from '../extensions/extension-set.ts';
import { INSTALLATION, PACKAGE_ROOT } from '../files/own-package.ts';
import type { Variables } from './file/expand-variables.ts';
import type { ConfigContent } from './file/load-config-file.ts';
import { toPathText } from './file/mistakes.ts';
import { configFileCandidates } from './file/read-config-file.ts';
import { createFindOverlap } from './path-overlap.ts';
import type { Config } from './settings/config.ts';
import { toStoreChoice } from './settings/store-choice.ts';

const OWN_DIRECTORY = INSTALLATION.replace(/\/$/, '');
const EXAMPLE_WORKSPACE = join(PACKAGE_ROOT, 'examples/workspace');

/** WORKSPACE_DIR, or the example workspace of the package or checkout. */
export const workspaceDirOf = ({ WORKSPACE_DIR }: Pick<Config, 'WORKSPACE_DIR'>): string =>
  WORKSPACE_DIR ?? EXAMPLE_WORKSPACE;

/**
 * Keeps control files (what decides what the service runs, and whom it believes) and the workspace, which models write
 * to, apart: by real paths, at the start and with each new version of a file. Answers are mistakes, one sentence each.
 */
export type WorkspaceGuard = {
  /** Of what the settings name, the files in TOOLS_DIR included, and of the service itself. */
  readonly checkSettings: (toolFiles: Iterable<string>) => Promise<readonly string[]>;
  /** Of a file that a setting names, or of a tools directory and its files, as they are now: at most one mistake. */
  readonly check: (setting: string, paths: Iterable<string>) => Promise<readonly string[]>;
  /** Of what one version of the configuration file names. */
  readonly checkContent: (file: string, content: ConfigContent) => Promise<readonly string[]>;
};

/** The guard of the workspace that the settings name. */
export const createWorkspaceGuard = async (config: Config, environment: Variables): Promise<WorkspaceGuard> => {
  const shown = workspaceDirOf(config);
  const find = await createFindOverlap(shown);
  const findInExample = await createFindOverlap(EXAMPLE_WORKSPACE);
  // By its real path: a link in the example may lead to the service's own files.
  const isExample = (await findInExample(await realpath(shown).then(itself, () => '/'))) === 'inside';
  const toMistake = (subject: string, overlap: 'inside' | 'around'): string =>
    overlap === 'inside'
      ? `${subject} is inside WORKSPACE_DIR '${shown}', where tools that write files could change it. Move one of the two.`
      : `${subject} contains WORKSPACE_DIR '${shown}', so tools would write files into it. Move one of the two.`;
  /** The first mistake, for what is wrong with a directory is so with all that is in it. */
  const checkPaths = async (
    paths: Iterable<string>,
    toSubject: (path: string) => string,
    around: 'refuse' | 'allow',
  ) => {
    for (const path of paths) {
      const overlap = await find(path);
      if (overlap === 'inside' || (overlap === 'around' && around === 'refuse'))
        return [toMistake(toSubject(path), overlap)];
    }
    return [];
  };
  const check: WorkspaceGuard['check'] = (setting, paths) =>
    checkPaths(paths, (path) => `${setting} '${path}'`, setting === 'TOOLS_DIR' ? 'refuse' : 'allow');
  const checkConfigFile = (): Promise<readonly string[]> => {
    const subject = config.CONFIG_FILE === undefined ? ', a standard name,' : '';
    const paths = configFileCandidates(config.CONFIG_FILE, process.cwd());
    return checkPaths(paths, (path) => `CONFIG_FILE '${path}'${subject}`, 'allow');
  };
  return {
    check,
    checkSettings: async (toolFiles) => {
      const { TOOLS_DIR, API_KEYS_FILE } = config;
      const store = toStoreChoice(config);
      const checks = await Promise.all([
        checkConfigFile(),
        check('TOOLS_DIR', [...toPaths(TOOLS_DIR), ...toolFiles]),
        check('API_KEYS_FILE', toPaths(API_KEYS_FILE)),
        check('STORE', store.kind === 'sqlite' ? [store.path] : []),
        ...config.extensions.purposes.map(async (purpose) =>
          check(purpose.setting, await toControlPaths(purpose, config, environment)),
        ),
        checkPaths([OWN_DIRECTORY], (path) => `The service's own directory '${path}'`, isExample ? 'allow' : 'refuse'),
        checkPaths([process.execPath], (path) => `The Node.js program '${path}'`, 'allow'),
        check('NODE_COMPILE_CACHE', toPaths(getCompileCacheDir())),
      ]);
      return checks.flat();
    },
    checkContent: async (file, { mcpServers, openapi }) => {
      const directory = dirname(file);
      const checkMember = (place: readonly string[], member: string, path: string): Promise<readonly string[]> =>
        checkPaths([path], () => `CONFIG_FILE ${file}: ${toPathText(place)}.${member}`, 'allow');
      const servers = mcpServers
        .filter(({ settings }) => settings.disabled !== true)
        .map(async ({ name, settings }) => {
          for (const { member, path } of await findServerCode(settings, { directory, environment })) {
            const mistakes = await checkMember(['mcpServers', name], member, path);
            // What lies in a wrong directory is wrong, too.
            if (mistakes.length > 0) return mistakes;
          }
          return [];
        });
      const documents = openapi
        .filter(({ settings }) => !/^https?:\/\//i.test(settings.document))
        .map(({ name, settings }) => checkMember(['openapi', name], 'document', resolve(directory, settings.document)));
      return (await Promise.all([...servers, ...documents])).flat();
    },
  };
};

type Purpose = ExtensionSet['purposes'][number];

/** Credentials decide whom the service believes, and programs of the groups that are offered what it runs. */
const toControlPaths = async ({ setting, groups, path }: Purpose, config: Config, environment: Variables) => {
  const value: unknown = Reflect.get(config, setting);
  if (typeof value !== 'string') return [];
  if (path === 'credentials') return [value];
  if (path !== 'program' || !groups.some((group) => config.TOOL_GROUPS.includes(group))) return [];
  return programPaths(value, environment['PATH'] ?? '', process.cwd());
};

const itself = (text: string): string => text;

const toPaths = (path: string | undefined): readonly string[] => (path === undefined ? [] : [path]);

/** A path that an MCP server takes its program from: the member that names it, as `args[1]`. */
type CodePath = { readonly member: string; readonly path: string };

// Programs that run a directory which they are given: their first argument that is no option.
const RUNS_DIRECTORIES =
  /^(?:node|nodejs|bun|bunx|deno|tsx|ts-node|npx|npm|pnpm|yarn|uv|uvx|python[\d.]*|pypy[\d.]*|php|ruby)$/;
// Options that say in which directory a program, or its project, is.
const DIRECTORY_OPTION = /^(?:--directory|--project|--prefix|--cwd|--dir|--package|--from|-C|-p)$/;

/**
 * The paths by which a server's process finds what it runs: its working directory, its program (where it lies, and where
 * PATH would find it first), and arguments that are files, or directories that a known launcher runs. Other directories
 * are data: a server of files is given those it serves. `directory`: what `cwd` is relative to, and where it is left out.
 */
const findServerCode = async (
  { command, args = [], cwd, env = {} }: McpServerSettings,
  { directory, environment }: { readonly directory: string; readonly environment: Variables },
): Promise<readonly CodePath[]> => {
  if (command === undefined) return [];
  const home = resolve(directory, cwd ?? '');
  const programs = await programPaths(command, env['PATH'] ?? environment['PATH'] ?? '', home);
  const words = await Promise.all(args.map((_argument, place) => argumentPaths({ command, args, place }, home)));
  return [
    { member: 'cwd', path: home },
    ...programs.map((path) => ({ member: 'command', path })),
    ...words.flatMap((paths, place) => paths.map((path) => ({ member: `args[${place}]`, path }))),
  ];
};

/** Where a program is looked for, to the first place that has it. */
const programPaths = async (program: string, searchPath: string, cwd: string): Promise<readonly string[]> => {
  if (program.includes('/')) return [resolve(cwd, program)];
  const paths: string[] = [];
  for (const folder of searchPath.split(':')) {
    const path = resolve(cwd, folder, program);
    paths.push(path);
    if (await canRun(path)) break;
  }
  return paths;
};

const canRun = (path: string): Promise<boolean> => access(path, constants.X_OK).then(yes, no);

type Argument = { readonly command: string; readonly args: readonly string[]; readonly place: number };

/** The argument as a path, and the absolute paths in it: `--import=file:///x.mjs`, or a command line for a shell. */
const argumentPaths = async (argument: Argument, home: string): Promise<readonly string[]> => {
  const text = argument.args[argument.place] ?? '';
  const inside = text.split(/[\s"'`;&|<>()=:,]+/).filter((word) => word.startsWith('/'));
  const paths = [...new Set([text, ...inside].map((word) => resolve(home, word)))];
  const runs = runsDirectory(argument);
  const isCode = await Promise.all(paths.map(async (path) => runs || !(await isDirectory(path))));
  return paths.filter((_path, place) => isCode[place]);
};

const runsDirectory = ({ command, args, place }: Argument): boolean => {
  const [name = ''] = (args[place] ?? '').split('=');
  if (DIRECTORY_OPTION.test(name) || DIRECTORY_OPTION.test(args[place - 1] ?? '')) return true;
  return RUNS_DIRECTORIES.test(basename(command)) && place === args.findIndex((word) => !word.startsWith('-'));
};

const isDirectory = (path: string): Promise<boolean> => stat(path).then((stats) => stats.isDirectory(), no);
const yes = (): boolean => true;
const no = (): boolean => false;
