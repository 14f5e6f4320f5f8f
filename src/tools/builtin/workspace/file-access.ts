import { closeSync, constants, openSync, readlinkSync } from 'node:fs';
import { O_PATH } from './descriptor.ts';
import { unlessRefused } from './file-errors.ts';

/**
 * How the file tools keep to their directory.
 * `descriptors`: the kernel opens first, and /proc/self/fd tells where the open file lies (Linux).
 * `paths`: the real path is found first, and compared with what was opened (every platform; see by-path.ts).
 */
export type FileAccess = 'descriptors' | 'paths';

/** What this system offers: `paths` where there is no /proc/self/fd. */
export const probeFileAccess = (): FileAccess =>
  unlessRefused(readOwnDescriptor) === undefined ? 'paths' : 'descriptors';

const readOwnDescriptor = (): string => {
  const descriptor = openSync('/', O_PATH | constants.O_DIRECTORY);
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
};
