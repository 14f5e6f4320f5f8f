import { realpath } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Variables } from '../config-file/expand-variables.ts';
import type { ConfigContent } from '../config-file/load-config-file.ts';
import { toPathText } from '../config-file/mistake.ts';
import { configFileCandidates } from '../config-file/read-config-file.ts';
import type { Config } from '../settings/config.ts';
import { toInstallation } from '../tools/directory/installation.ts';
import { createFindOverlap } from './path-overlap.ts';
import { findServerCode, programPaths } from './server-code.ts';

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const INSTALLATION = toInstallation(PACKAGE).replace(/\/$/, '');
const EXAMPLE_WORKSPACE = resolve(PACKAGE, 'examples/workspace');

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

type GuardOptions = { readonly config: Config; readonly environment: Variables };

/** The guard of the workspace that the settings name. */
export const createWorkspaceGuard = async ({ config, environment }: GuardOptions): Promise<WorkspaceGuard> => {
  const shown = workspaceDirOf(config);
  const find = await createFindOverlap(shown);
  const findInExample = await createFindOverlap(EXAMPLE_WORKSPACE);
  // By its real path: a link in the example may lead to the service's own files.
  const isExample = (await findInExample(await realpath(shown).then(itself, () => '/'))) === 'inside';
  const toMistake = (subject: string, overlap: 'inside' | 'around'): string =>
    overlap === 'inside'
      ? `${subject} lies in WORKSPACE_DIR '${shown}', so tools that write files there could change it. Move one of the two.`
      : `${subject} holds WORKSPACE_DIR '${shown}', so files that tools write would lie there. Move one of the two.`;
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
  const checkBwrap = async (): Promise<readonly string[]> => {
    if (!config.TOOL_GROUPS.includes('shell')) return [];
    return check(
      'SHELL_BWRAP_PATH',
      await programPaths(config.SHELL_BWRAP_PATH, environment['PATH'] ?? '', process.cwd()),
    );
  };
  return {
    check,
    checkSettings: async (toolFiles) => {
      const { TOOLS_DIR, API_KEYS_FILE, GOOGLE_CREDENTIALS_PATH } = config;
      const checks = await Promise.all([
        checkConfigFile(),
        check('TOOLS_DIR', [...toPaths(TOOLS_DIR), ...toolFiles]),
        check('API_KEYS_FILE', toPaths(API_KEYS_FILE)),
        check('GOOGLE_CREDENTIALS_PATH', toPaths(GOOGLE_CREDENTIALS_PATH)),
        checkBwrap(),
        checkPaths([INSTALLATION], (path) => `The service's own directory '${path}'`, isExample ? 'allow' : 'refuse'),
        checkPaths([process.execPath], (path) => `The program Node '${path}'`, 'allow'),
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

const itself = (text: string): string => text;

const toPaths = (path: string | undefined): readonly string[] => (path === undefined ? [] : [path]);
