import { closeSync, constants, openSync, readlinkSync } from 'node:fs';
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import { errorCodeOf, unlessRefused } from './file-errors.ts';

// From Linux's asm-generic/fcntl.h; Node has no name for it. Opening a place touches nothing: no device wakes up, no
// FIFO waits for its other end.
export const O_PATH = 0o10000000;

/** Leads to the very object that is open, whatever has since been put under its name. */
export const linkOf = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`;

/**
 * How the file tools keep to their directory.
 * `descriptors`: the kernel opens first, and /proc/self/fd tells where the open file lies (Linux).
 * `paths`: the real path is found first, and compared with what was opened (every platform; see by-path.ts).
 */
export type FileAccess = 'descriptors' | 'paths';

/** What this system offers: `paths` where there is no /proc/self/fd. */
export const probeFileAccess = (): FileAccess =>
  unlessRefused(readOwnDescriptor) === undefined ? 'paths' : 'descriptors';

const readOwnDescriptor = (): string => {
  const descriptor = openSync('/', O_PATH | constants.O_DIRECTORY);
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
};

/** The directory that the file tools never leave. Only `createWorkspace` makes one. */
export type Workspace = {
  /** Absolute and without symbolic links. No message to a model ever holds it. */
  readonly root: string;
  readonly access: FileAccess;
};

/**
 * Takes `root` (absolute, or relative to the working directory) as the workspace. Rejects with one sentence for the
 * deployer where it does not exist, is no directory, is `/`, or where it is kept by descriptors and the system cannot tell
 * where an open file lies.
 */
export const createWorkspace = async ({
  root,
  access = probeFileAccess(),
}: {
  readonly root: string;
  /** Default: what this system offers. */
  readonly access?: FileAccess | undefined;
}): Promise<Workspace> => {
  const realRoot = await findRealRoot(root);
  if (realRoot === '/') throw new Error('The workspace must not be the root of the file system.');
  if (!(await stat(realRoot)).isDirectory()) throw new Error(`The workspace '${root}' is not a directory.`);
  if (access === 'descriptors') await checkPlaces(root, realRoot);
  return { root: realRoot, access };
};

const findRealRoot = async (root: string): Promise<string> => {
  try {
    return await realpath(root);
  } catch (thrown) {
    const why = errorCodeOf(thrown) === 'ENOENT' ? 'does not exist' : `cannot be opened (${errorCodeOf(thrown)})`;
    throw new Error(`The workspace '${root}' ${why}.`, { cause: thrown });
  }
};

// Every guard by descriptors rests on this one answer, so it is tried before the first call and not believed.
const checkPlaces = async (root: string, realRoot: string): Promise<void> => {
  await using place = await open(realRoot, O_PATH);
  const told = await readlink(linkOf(place)).catch((thrown: unknown) => errorCodeOf(thrown));
  if (told !== realRoot)
    throw new Error(`The workspace '${root}' cannot be confined: /proc/self/fd does not show the paths of open files.`);
};
