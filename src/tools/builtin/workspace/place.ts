import type { Stats } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { posix } from 'node:path';
import { RetryableToolError } from '../../tool-errors.ts';
import { O_PATH, toLink } from './descriptor.ts';
import type { Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

/** Something that exists in the workspace: pinned, looked at, and proved to lie inside. Valid only while it is held. */
export type Place = {
  /** A path that leads here and nowhere else: open it to read, or append `/name` to name an entry of a directory. */
  readonly link: string;
  /** Where it really lies, without links, below the workspace; '' for the workspace itself. */
  readonly realPath: string;
  readonly stats: Stats;
};

/**
 * Pins what lies under `path` (from `toWorkspacePath`), proves that it lies inside, and lends it to `use`. Symbolic
 * links are followed as long as they end inside. Looking first and opening by name afterwards loses against somebody
 * who swaps a link in between; here the kernel opens first, and we ask what it opened.
 * Throws RetryableToolError outside, and Node's own error where nothing can be opened (see `tellFileErrors`).
 */
export const withPlace = async <T>(
  workspace: Workspace,
  path: string,
  use: (place: Place) => Promise<T>,
): Promise<T> => {
  await using handle = await openPlace(workspace, path);
  const link = toLink(handle);
  const realPath = await readlink(link);
  if (!isInside(workspace, realPath))
    throw new RetryableToolError(
      `${quotePath(path)} is a symbolic link that leads out of the workspace. Choose a path inside the workspace.`,
    );
  return await use({ link, realPath: realPath.slice(workspace.root.length + 1), stats: await handle.stat() });
};

const openPlace = async (workspace: Workspace, path: string): Promise<FileHandle> => {
  try {
    return await open(posix.join(workspace.root, path), O_PATH);
  } catch (thrown) {
    // Where a link on the way leads out, that is the answer: "not found" and "no permission" from beyond it would let a
    // model feel its way around out there.
    const way = path.split('/').slice(0, -1);
    for (const depth of way.keys()) await withPlace(workspace, way.slice(0, depth + 1).join('/'), async () => {});
    throw thrown;
  }
};

// With the slash: `ws-evil` lies beside `ws`, not in it.
const isInside = ({ root }: Workspace, realPath: string): boolean =>
  realPath === root || realPath.startsWith(`${root}/`);
