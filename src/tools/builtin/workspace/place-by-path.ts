import type { Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { posix } from 'node:path';
import { RetryableToolError } from '../../tool-errors.ts';
import {
  CREATE_NO_LINKS,
  endOf,
  isInside,
  isSameFile,
  isSameTrail,
  lookAlong,
  READ_NO_LINKS,
  type Trail,
  toWay,
} from './by-path.ts';
import { unlessCode } from './file-errors.ts';
import { refuseOutwardWay, toOutward } from './outward-way.ts';
import type { UsePlace } from './place.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

/**
 * The real path, and every directory on it, are looked at before and after: what a call gives lay inside at both times.
 * A file is read through a descriptor whose device and inode are those that stood there. Where the system has no flag
 * against links on the way (O_NOFOLLOW_ANY of macOS), a local process that swaps a directory for a link and back several
 * times, each at the right moment, can still mislead a call.
 */
export const withPlaceByPath = async <T>(workspace: Workspace, path: string, use: UsePlace<T>): Promise<T> => {
  const realPath = await findRealPath(workspace, path);
  if (!isInside(workspace.root, realPath)) throw toOutward(path);
  const trail = await lookAlong(workspace.root, realPath);
  const stats = endOf(trail);
  if (stats === undefined) throw toChanged(path);
  // Without a file itself: another call may replace it while this one reads it.
  const way = stats.isDirectory() ? trail : toWay(trail);
  const check = (): Promise<void> => checkTrail(way, path);
  const result = await use({
    link: realPath,
    realPath: realPath.slice(workspace.root.length + 1),
    stats,
    openFile: async () => {
      const file = await unlessCode('ELOOP', open(realPath, READ_NO_LINKS));
      return proveFile(file, path, { at: realPath, expected: stats, check });
    },
    createFile: async (name) => {
      const created = `${realPath}/${name}`;
      const file = await unlessCode('ELOOP', open(created, CREATE_NO_LINKS));
      return proveFile(file, path, { at: created, check });
    },
  });
  await check();
  return result;
};

const findRealPath = async (workspace: Workspace, path: string): Promise<string> => {
  try {
    return await realpath(posix.join(workspace.root, path));
  } catch (thrown) {
    await refuseOutwardWay(path, (parent) => withPlaceByPath(workspace, parent, async () => {}));
    throw thrown;
  }
};

type Proof = {
  /** Where it must lie now. */
  readonly at: string;
  /** What was looked at before; left out: nothing was. */
  readonly expected?: Stats;
  readonly check: () => Promise<void>;
};

const proveFile = async (
  file: FileHandle | undefined,
  path: string,
  { at, expected, check }: Proof,
): Promise<FileHandle> => {
  if (file === undefined) throw toChanged(path);
  try {
    const opened = await file.stat();
    if (!isSameFile(opened, await lstat(at)) || !isSameFile(expected ?? opened, opened)) throw toChanged(path);
    await check();
    return file;
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
};

/** Throws where something else stands at a step of the trail than before. */
const checkTrail = async (trail: Trail, path: string): Promise<void> => {
  const now = await lookAlong(trail.root, trail.realPath);
  if (!isSameTrail(trail, now)) throw toChanged(path);
};

const toChanged = (path: string): RetryableToolError =>
  new RetryableToolError(`${quotePath(path)} was moved or replaced during the call. Call again.`);
