import { readFileSync } from 'node:fs';

// The kernel's page size on both architectures that Node is pinned for.
const PAGE_BYTES = 4096;

/** Memory of a process that is its own or mapped, in bytes; null where there is no such process (or no /proc). */
export const readResidentBytes = (pid: number): number | null => {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return Number.isFinite(pages) ? pages * PAGE_BYTES : null;
  } catch (_gone) {
    return null;
  }
};
