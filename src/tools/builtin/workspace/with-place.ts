import type { FileAccess } from './file-access.ts';
import type { UsePlace } from './place.ts';
import { withPlaceByDescriptor } from './place-by-descriptor.ts';
import { withPlaceByPath } from './place-by-path.ts';
import type { Workspace } from './workspace.ts';

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
