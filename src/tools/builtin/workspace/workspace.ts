import { open, readlink, realpath } from 'node:fs/promises';
import { O_PATH, toLink } from './descriptor.ts';
import { errorCodeOf } from './file-errors.ts';

/** The directory that the file tools never leave. Only `createWorkspace` makes one. */
export type Workspace = {
  /** Absolute and without symbolic links. No message to a model ever holds it. */
  readonly root: string;
};

/**
 * Takes `root` (absolute, or relative to the working directory) as the workspace. Rejects with one sentence for the
 * deployer where it does not exist, is no directory, is `/`, or where the system cannot tell where an open file lies:
 * without Linux's /proc nothing here could be kept inside.
 */
export const createWorkspace = async ({ root }: { readonly root: string }): Promise<Workspace> => {
  const realRoot = await toRealRoot(root);
  if (realRoot === '/') throw new Error('The workspace must not be the root of the file system.');
  await checkPlaces(root, realRoot);
  return { root: realRoot };
};

const toRealRoot = async (root: string): Promise<string> => {
  try {
    return await realpath(root);
  } catch (thrown) {
    const why = errorCodeOf(thrown) === 'ENOENT' ? 'does not exist' : `cannot be opened (${errorCodeOf(thrown)})`;
    throw new Error(`The workspace '${root}' ${why}.`, { cause: thrown });
  }
};

// Every guard of the file tools rests on this one answer, so it is tried before the first call and not believed.
const checkPlaces = async (root: string, realRoot: string): Promise<void> => {
  if (process.platform !== 'linux') throw new Error('The file tools need Linux: they keep to the workspace by /proc.');
  await using place = await open(realRoot, O_PATH);
  const stats = await place.stat();
  if (!stats.isDirectory()) throw new Error(`The workspace '${root}' is not a directory.`);
  const told = await readlink(toLink(place)).catch((thrown: unknown) => errorCodeOf(thrown));
  if (told !== realRoot)
    throw new Error(`The workspace '${root}' cannot be guarded: /proc/self/fd does not tell where open files lie.`);
};
