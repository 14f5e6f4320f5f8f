import { open, readlink, realpath, stat } from 'node:fs/promises';
import { O_PATH, toLink } from './descriptor.ts';
import { type FileAccess, probeFileAccess } from './file-access.ts';
import { errorCodeOf } from './file-errors.ts';

/** The directory that the file tools never leave. Only `createWorkspace` makes one. */
export type Workspace = {
  /** Absolute and without symbolic links. No message to a model ever holds it. */
  readonly root: string;
  readonly access: FileAccess;
};

export type WorkspaceOptions = {
  readonly root: string;
  /** Left out: what this system offers. */
  readonly access?: FileAccess;
};

/**
 * Takes `root` (absolute, or relative to the working directory) as the workspace. Rejects with one sentence for the
 * deployer where it does not exist, is no directory, is `/`, or where it is kept by descriptors and the system cannot tell
 * where an open file lies.
 */
export const createWorkspace = async ({ root, access = probeFileAccess() }: WorkspaceOptions): Promise<Workspace> => {
  const realRoot = await toRealRoot(root);
  if (realRoot === '/') throw new Error('The workspace must not be the root of the file system.');
  if (!(await stat(realRoot)).isDirectory()) throw new Error(`The workspace '${root}' is not a directory.`);
  if (access === 'descriptors') await checkPlaces(root, realRoot);
  return { root: realRoot, access };
};

const toRealRoot = async (root: string): Promise<string> => {
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
  const told = await readlink(toLink(place)).catch((thrown: unknown) => errorCodeOf(thrown));
  if (told !== realRoot)
    throw new Error(`The workspace '${root}' cannot be guarded: /proc/self/fd does not tell where open files lie.`);
};
