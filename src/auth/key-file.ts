import { closeSync, constants, fstatSync, openSync, promises, readFileSync, type Stats, statSync } from 'node:fs';

/** A file of keys, and what it said when the service started. */
export type KeyFile = { readonly path: string; readonly text: string };

/** What a file says, or why it cannot be read. */
export type KeyFileReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

// Some seven thousand keys. What is larger is another file.
const MAX_BYTES = 1024 * 1024;
// A pipe that took the place of the file after it was looked at must not hold the reader up.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** The file of keys as it is now. Throws as the system does, or one sentence where this is no file of keys. */
export const loadKeyFile = (path: string): KeyFile => {
  refuse(path, statSync(path, { throwIfNoEntry: false }));
  const descriptor = openSync(path, FLAGS);
  try {
    refuse(path, fstatSync(descriptor));
    return { path, text: toText(path, readFileSync(descriptor)) };
  } finally {
    closeSync(descriptor);
  }
};

/** The same without waiting for the file, and without throwing. */
export const readKeyFile = (path: string): Promise<KeyFileReading> =>
  readText(path).then(
    (text) => ({ ok: true, text }),
    (error: unknown) => ({ ok: false, problem: error instanceof Error ? error.message : String(error) }),
  );

const readText = async (path: string): Promise<string> => {
  // What cannot be looked at cannot be opened either, and then that says why.
  refuse(path, await promises.stat(path).then(itself, nothing));
  const handle = await promises.open(path, FLAGS);
  try {
    refuse(path, await handle.stat());
    return toText(path, await handle.readFile());
  } finally {
    await handle.close();
  }
};

const itself = (stats: Stats): Stats => stats;
const nothing = (): undefined => undefined;

const refuse = (path: string, stats: Stats | undefined): void => {
  if (stats === undefined) return;
  // A pipe says what it says once, and a reading of it may never end.
  if (!stats.isFile()) throw new Error(`${path} is not a regular file; keys are read again and again.`);
  if (stats.size > MAX_BYTES) throw tooLarge(path);
};

const toText = (path: string, bytes: Buffer): string => {
  if (bytes.length > MAX_BYTES) throw tooLarge(path);
  return bytes.toString('utf8');
};

const tooLarge = (path: string): Error => new Error(`${path} is larger than 1 MiB; a file of keys has one key a line.`);
