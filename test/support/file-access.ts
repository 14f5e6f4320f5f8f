import type { FileAccess } from '@recourse/toolkit-kit/workspace/workspace';

let used: FileAccess = 'descriptors';

/** How the file tools of this test file keep to their directories: `descriptors` unless it said otherwise. */
export const fileAccess = (): FileAccess => used;

/** For a test file that repeats the cases of others with the portable implementation. */
export const useFileAccess = (access: FileAccess): void => {
  used = access;
};

/** How long a race goes on once both sides of it were met: repeated cases are shorter. */
export const toRaceMs = (ms: number): number => (used === 'descriptors' ? ms : ms / 4);
