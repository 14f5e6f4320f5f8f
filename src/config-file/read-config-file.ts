import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** What a file says, or why it cannot be read. */
export type ConfigReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

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
export const readConfigFile = (path: string): Promise<ConfigReading> =>
  readText(path).then(
    (text) => ({ ok: true, text }),
    (error: unknown) => ({ ok: false, problem: toProblem(error) }),
  );

const toProblem = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { code } = Object.assign({ code: '' }, error);
  if (code === 'ENOENT') return 'it is not there';
  return code === 'EACCES' ? 'this user may not read it' : error.message;
};

const readText = async (path: string): Promise<string> => {
  if (!(await stat(path)).isFile()) throw new Error('it is not a regular file');
  const handle = await open(path, FLAGS);
  try {
    const { size } = await handle.stat();
    if (size > MAX_BYTES) throw tooLarge();
    const bytes = await handle.readFile();
    if (bytes.length > MAX_BYTES) throw tooLarge();
    return bytes.toString('utf8');
  } finally {
    await handle.close();
  }
};

const tooLarge = (): Error => new Error('it is larger than 1 MiB');
