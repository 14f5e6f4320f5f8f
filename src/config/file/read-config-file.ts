import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { FileReading } from '../../files/watch-file.ts';
import type { Config } from '../settings/config.ts';
import type { ConfigText, Variables } from './expand-variables.ts';
import type { ConfigContent, LoadedConfig } from './load-config-file.ts';

/** A configuration file as it was when the service started. */
export type FirstConfigFile = {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly content: ConfigContent;
  readonly texts: readonly ConfigText[];
  /** Reads a later text of it. */
  readonly load: (text: string) => LoadedConfig;
};

export type FirstConfigReading = { readonly file: FirstConfigFile | null; readonly mistakes: readonly string[] };

/** The configuration file as it is now, null where there is none, and every mistake in it, one line each. Never rejects. */
export const readFirstConfigFile = async (
  { CONFIG_FILE, extensions }: Pick<Config, 'CONFIG_FILE' | 'extensions'>,
  environment: Variables,
): Promise<FirstConfigReading> => {
  const path = await findConfigFile(CONFIG_FILE, process.cwd());
  if (path === null) return { file: null, mistakes: [] };
  const reading = await readConfigFile(path);
  if (!reading.ok) return { file: null, mistakes: [toUnreadable(path, reading.problem)] };
  const { text } = reading;
  // Only here: a service without such a file need not pay for what reads one.
  const { createLoadConfigFile } = await import('./load-config-file.ts');
  const loadConfigFile = await createLoadConfigFile(extensions);
  const load = (next: string) => loadConfigFile({ file: path, text: next, environment });
  const loaded = load(text);
  return loaded.ok
    ? { file: { path, text, load, ...loaded }, mistakes: [] }
    : { file: null, mistakes: loaded.mistakes };
};

/** The mistake of a file that cannot be read. */
export const toUnreadable = (path: string, problem: string): string => `CONFIG_FILE ${path} cannot be read: ${problem}`;

const STANDARD_NAMES = ['recourse.config.yaml', 'recourse.config.yml', 'recourse.config.json'];

/** Where the file may be: the path that is set, or those in the directory that have a standard name, the first first. */
export const configFileCandidates = (configured: string | undefined, directory: string): readonly string[] =>
  configured === undefined ? STANDARD_NAMES.map((name) => join(directory, name)) : [resolve(directory, configured)];

/** The path of the file that is set, or of the first in the directory that has a standard name; null where none has. */
export const findConfigFile = async (configured: string | undefined, directory: string): Promise<string | null> => {
  const candidates = configFileCandidates(configured, directory);
  if (configured !== undefined) return candidates[0] ?? null;
  for (const path of candidates) if (await isThere(path)) return path;
  return null;
};

// What is there and may not be read is not passed over: then the service would run without it.
const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: unknown) => !(error instanceof Error && 'code' in error && error.code === 'ENOENT'),
  );

const MAX_BYTES = 1024 * 1024;
// A pipe that took the place of the file after it was looked at must not hold the reader up.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Reads the file as it is now. Never rejects. */
export const readConfigFile = (path: string): Promise<FileReading> =>
  readText(path).then(
    (text) => ({ ok: true, text }),
    (error: unknown) => ({ ok: false, problem: toProblem(error) }),
  );

const toProblem = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { code } = Object.assign({ code: '' }, error);
  if (code === 'ENOENT') return 'it does not exist';
  return code === 'EACCES' ? 'this user may not read it' : error.message;
};

const readText = async (path: string): Promise<string> => {
  if (!(await stat(path)).isFile()) throw new Error('it is not a regular file');
  await using handle = await open(path, FLAGS);
  const { size } = await handle.stat();
  const bytes = size > MAX_BYTES ? null : await handle.readFile();
  if (bytes === null || bytes.length > MAX_BYTES) throw new Error('it is larger than 1 MiB');
  return bytes.toString('utf8');
};
