import { constants, fstatSync, lstatSync, type Stats } from 'node:fs';

// What the portable implementation of the file tools knows of a place: it has no way to ask where an open file lies, so it
// looks at each step of the real path before and after, and compares device and inode. Synchronous: a few microseconds a step,
// and little time for another process between two looks.

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

/** Looks at each step of a real path in `root`. Throws the system's error where one is missing. */
export const lookAlong = (root: string, realPath: string): Trail => {
  const names = realPath === root ? [] : realPath.slice(root.length + 1).split('/');
  const steps = [root, ...names.map((_name, depth) => `${root}/${names.slice(0, depth + 1).join('/')}`)];
  return { root, realPath, steps: steps.map((step) => lstatSync(step)) };
};

/** What lies at the end of a trail; undefined where a step is a symbolic link: a real path has none, so it was changed. */
export const endOf = ({ steps }: Trail): Stats | undefined =>
  steps.some((step) => step.isSymbolicLink()) ? undefined : steps.at(-1);

/** The trail to the directory that holds its end. */
export const wayTo = ({ root, realPath, steps }: Trail): Trail => ({
  root,
  realPath: realPath.slice(0, realPath.lastIndexOf('/')),
  steps: steps.slice(0, -1),
});

/** Whether the same files and directories still stand at each step. */
export const isUnchanged = (trail: Trail): boolean => {
  const now = lookAlong(trail.root, trail.realPath);
  return trail.steps.every((step, depth) => isSameFile(step, now.steps[depth]));
};

type Proof = {
  /** Where the file must lie now. */
  readonly at: string;
  /** The directories on the way there, as they were looked at before. */
  readonly way: Trail;
  /** The file, as it was looked at before; left out: it was not. */
  readonly expected?: Stats;
};

/** Throws ESTALE where the open file is another than the one that was looked at, or lies elsewhere. */
export const proveOpened = (descriptor: number, { at, way, expected }: Proof): void => {
  const opened = fstatSync(descriptor);
  if (isSameFile(opened, lstatSync(at)) && isSameFile(expected ?? opened, opened) && isUnchanged(way)) return;
  throw Object.assign(new Error('The file was replaced.'), { code: 'ESTALE' });
};

/** Whether both are one file or directory: device and inode, and no link in the place of a directory. */
export const isSameFile = (one: Stats, other: Stats | undefined): boolean =>
  one.dev === other?.dev && one.ino === other.ino && one.isSymbolicLink() === other.isSymbolicLink();
