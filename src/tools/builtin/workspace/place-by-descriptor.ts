import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { isInside } from './by-path.ts';
import { O_PATH, toLink } from './descriptor.ts';
import { refuseOutwardWay, toOutward } from './outward-way.ts';
import type { UsePlace } from './place.ts';
import type { Workspace } from './workspace.ts';

/**
 * The place is pinned. Looking first and opening by name afterwards loses against somebody who swaps a link in between;
 * here the kernel opens first, and we ask what it opened. The link of the place leads there and nowhere else.
 */
export const withPlaceByDescriptor = async <T>(workspace: Workspace, path: string, use: UsePlace<T>): Promise<T> => {
  await using handle = await openPlace(workspace, path);
  const link = toLink(handle);
  const realPath = await readlink(link);
  if (!isInside(workspace.root, realPath)) throw toOutward(path);
  return await use({
    link,
    realPath: realPath.slice(workspace.root.length + 1),
    stats: await handle.stat(),
    // Not blocking, in case a file system gives the reopened file a life of its own.
    openFile: () => open(link, constants.O_RDONLY | constants.O_NONBLOCK),
    createFile: (name) => open(`${link}/${name}`, CREATE),
  });
};

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

const openPlace = async (workspace: Workspace, path: string): Promise<FileHandle> => {
  try {
    return await open(posix.join(workspace.root, path), O_PATH);
  } catch (thrown) {
    await refuseOutwardWay(path, (parent) => withPlaceByDescriptor(workspace, parent, async () => {}));
    throw thrown;
  }
};
