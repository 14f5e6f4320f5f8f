import type { FileAccess } from './file-access.ts';
import { unlessRefused } from './file-errors.ts';
import { pinByDescriptor } from './pin-by-descriptor.ts';
import { pinByPath } from './pin-by-path.ts';
import type { Pinned } from './pinned.ts';
import type { Workspace } from './workspace.ts';

// Synchronous, unlike `withPlace`: a thread of its own may wait, and ten thousand files a scan would keep the thread
// pool busy that the whole service shares.
/**
 * What lies under `path`; undefined where nothing can be opened, or where it lies outside the root. A `directory` is
 * never reached by a symbolic link: a walk cannot go in circles then.
 */
export const pin = ({ root, access }: Workspace, path: string, wanted: 'directory' | 'any'): Pinned | undefined =>
  unlessRefused(() => PIN[access](root, path, wanted));

const PIN = { descriptors: pinByDescriptor, paths: pinByPath } satisfies Record<FileAccess, unknown>;
