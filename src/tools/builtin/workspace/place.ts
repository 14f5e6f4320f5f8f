import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { FileAccess } from './file-access.ts';
import { withPlaceByDescriptor } from './place-by-descriptor.ts';
import { withPlaceByPath } from './place-by-path.ts';
import type { Workspace } from './workspace.ts';

/** Something that exists in the workspace: looked at, and proved to lie inside. Valid only while it is held. */
export type Place = {
  /** A path that leads here; append `/name` to name an entry of a directory. */
  readonly link: string;
  /** Where it really lies, without links, below the workspace; '' for the workspace itself. */
  readonly realPath: string;
  readonly stats: Stats;
  /** Opens it to read, a regular file, and this very one. */
  readonly openFile: () => Promise<FileHandle>;
  /** Makes a file of this name in it, a directory, and opens it to write. Rejects with EEXIST where the name is taken. */
  readonly createFile: (name: string) => Promise<FileHandle>;
};

export type UsePlace<T> = (place: Place) => Promise<T>;

/**
 * Finds what lies under `path` (from `toWorkspacePath`), proves that it lies inside, and lends it to `use`. Symbolic
 * links are followed as long as they end inside.
 * Throws RetryableToolError outside, and Node's own error where nothing can be opened (see `tellFileErrors`).
 */
export const withPlace = <T>(workspace: Workspace, path: string, use: UsePlace<T>): Promise<T> =>
  WITH_PLACE[workspace.access](workspace, path, use);

const WITH_PLACE = {
  descriptors: withPlaceByDescriptor,
  paths: withPlaceByPath,
} satisfies Record<FileAccess, unknown>;
