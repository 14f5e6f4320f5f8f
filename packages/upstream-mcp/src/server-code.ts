import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { CodePath, SourcePlace } from 'recourse-server/extension';
import { programPaths } from 'recourse-server/files/program-paths';
import type { McpServerSettings } from './mcp-server-settings.ts';

// Programs that run a directory which they are given: their first argument that is no option.
const RUNS_DIRECTORIES =
  /^(?:node|nodejs|bun|bunx|deno|tsx|ts-node|npx|npm|pnpm|yarn|uv|uvx|python[\d.]*|pypy[\d.]*|php|ruby)$/;
// Options that say in which directory a program, or its project, is.
const DIRECTORY_OPTION = /^(?:--directory|--project|--prefix|--cwd|--dir|--package|--from|-C|-p)$/;

/**
 * The paths by which a server's process finds what it runs: its working directory, its program (where it lies, and where
 * PATH would find it first), and arguments that are files, or directories that a known launcher runs. Other directories
 * are data: a server of files is given those it serves.
 */
export const findServerCode = async (
  { command, args = [], cwd, env = {} }: McpServerSettings,
  { directory, environment }: SourcePlace,
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

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
