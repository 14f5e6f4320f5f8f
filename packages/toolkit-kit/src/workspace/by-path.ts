import { constants, lstatSync, type Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';

// What the portable implementation of the file tools knows of a place: it has no way to ask where an open file lies, so it
// looks at each step of the real path before and after, and compares device and inode.

// O_NOFOLLOW_ANY of macOS (sys/fcntl.h): the kernel refuses a symbolic link in any step of the path, not only in the last.
// Node has no name for it, and macOS refuses it together with O_NOFOLLOW (EINVAL).
const NO_LINKS = process.platform === 'darwin' ? 0x2000_0000 : constants.O_NOFOLLOW;

// A FIFO or a terminal that has just been put there neither holds the service nor becomes its own.
/** Opens to read, and no symbolic link. */
export const READ_NO_LINKS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | NO_LINKS;

/** Opens a new file to write, where there is none of that name. */
export const CREATE_NO_LINKS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_LINKS;

/** What stood at each step from the root to a place, both included. */
export type Trail = { readonly root: string; readonly realPath: string; readonly steps: readonly Stats[] };

// With the slash: `ws-evil` lies beside `ws`, not in it.
export const isInside = (root: string, realPath: string): boolean =>
  realPath === root || realPath.startsWith(`${root}/`);

/** Looks at each step of a real path in `root`. Rejects with the system's error where one is missing. */
export const lookAlong = async (root: string, realPath: string): Promise<Trail> => {
  const steps = await Promise.all(toSteps(root, realPath).map((step) => lstat(step)));
  return { root, realPath, steps };
};

export const lookAlongSync = (root: string, realPath: string): Trail => {
  const steps = toSteps(root, realPath).map((step) => lstatSync(step));
  return { root, realPath, steps };
};

const toSteps = (root: string, realPath: string): readonly string[] => {
  const names = realPath === root ? [] : realPath.slice(root.length + 1).split('/');
  return [root, ...names.map((_name, depth) => `${root}/${names.slice(0, depth + 1).join('/')}`)];
};

/** What lies at the end of a trail; undefined where a step is a symbolic link: a real path has none, so it was changed. */
export const endOf = ({ steps }: Trail): Stats | undefined =>
  steps.some((step) => step.isSymbolicLink()) ? undefined : steps.at(-1);

/** The trail to the directory that holds its end. */
export const toWay = ({ root, realPath, steps }: Trail): Trail => ({
  root,
  realPath: realPath.slice(0, realPath.lastIndexOf('/')),
  steps: steps.slice(0, -1),
});

/** Whether the same files and directories stand at each step. */
export const isSameTrail = (one: Trail, other: Trail): boolean =>
  one.steps.every((step, depth) => isSameFile(step, other.steps[depth]));

/** Whether both are one file or directory: device and inode, and no link in the place of a directory. */
export const isSameFile = (one: Stats, other: Stats | undefined): boolean =>
  one.dev === other?.dev && one.ino === other.ino && one.isSymbolicLink() === other.isSymbolicLink();
