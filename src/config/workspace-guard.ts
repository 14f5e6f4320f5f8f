import { realpath } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { dirname, join } from 'node:path';
import type { ExtensionSet } from '../extensions/extension-set.ts';
import { INSTALLATION, PACKAGE_ROOT } from '../files/own-package.ts';
import { programPaths } from '../files/program-paths.ts';
import type { Variables } from './file/expand-variables.ts';
import type { ConfigContent } from './file/load-config-file.ts';
import { toPathText } from './file/mistakes.ts';
import { configFileCandidates } from './file/read-config-file.ts';
import { createFindOverlap } from './path-overlap.ts';
import { type AuditChoice, readAuditChoice } from './settings/audit-choice.ts';
import type { Config } from './settings/config.ts';
import { readStoreChoice } from './settings/store-choice.ts';

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
      const store = readStoreChoice(config);
      const audit = readAuditChoice(config);
      const checks = await Promise.all([
        checkConfigFile(),
        check('TOOLS_DIR', [...toPaths(TOOLS_DIR), ...toolFiles]),
        check('API_KEYS_FILE', toPaths(API_KEYS_FILE)),
        check('STORE', store.kind === 'sqlite' ? [store.path] : []),
        check('AUDIT', audit.kind === 'file' ? [audit.path] : []),
        checkApart(audit, TOOLS_DIR),
        ...config.extensions.purposes.map(async (purpose) =>
          check(purpose.setting, await toControlPaths(purpose, config, environment)),
        ),
        checkPaths([OWN_DIRECTORY], (path) => `The service's own directory '${path}'`, isExample ? 'allow' : 'refuse'),
        checkPaths([process.execPath], (path) => `The Node.js program '${path}'`, 'allow'),
        check('NODE_COMPILE_CACHE', toPaths(getCompileCacheDir())),
      ]);
      return checks.flat();
    },
    checkContent: async (file, { upstreams }) => {
      const place = { directory: dirname(file), environment };
      const checks = upstreams.map(async ({ section, name, codePaths }) => {
        for (const { member, path } of await codePaths(place)) {
          const toSubject = () => `CONFIG_FILE ${file}: ${toPathText([section, name])}.${member}`;
          const mistakes = await checkPaths([path], toSubject, 'allow');
          // What lies in a wrong directory is wrong, too.
          if (mistakes.length > 0) return mistakes;
        }
        return [];
      });
      return (await Promise.all(checks)).flat();
    },
  };
};

/** Also who writes tools must not write what is said of them. */
const checkApart = async (audit: AuditChoice, toolsDir: string | undefined): Promise<readonly string[]> => {
  if (audit.kind !== 'file' || toolsDir === undefined) return [];
  const overlap = await (await createFindOverlap(toolsDir))(audit.path);
  return overlap === 'inside'
    ? [
        `AUDIT '${audit.path}' is inside TOOLS_DIR '${toolsDir}', where who writes tools could change it. Move one of the two.`,
      ]
    : [];
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
