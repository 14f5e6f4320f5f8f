import { readdirSync, readFileSync } from 'node:fs';
import { createDescendantsSweep } from './descendants-sweep.ts';
import { HOST_MARK } from './host-environment.ts';
import { attempt } from './process-control.ts';
import type { ProcessTable } from './process-table.ts';
import { startMarkWatchdog } from './start-watchdog.ts';

// More than any tool needs. The look is synchronous, and what lies beyond is found by the host's mark.
const MAX_DESCENDANTS = 500;

const findDescendants = (pid: number): readonly number[] => {
  const found: number[] = [];
  for (let next: number | undefined = pid; next !== undefined; next = found[found.indexOf(next) + 1]) {
    if (found.length >= MAX_DESCENDANTS) break;
    found.push(...readAllChildren(next));
  }
  return found;
};

const readAllChildren = (pid: number): readonly number[] =>
  (attempt(() => readdirSync(`/proc/${pid}/task`)) ?? []).flatMap((thread) => readChildren(pid, thread));

const readChildren = (pid: number, thread: string): readonly number[] =>
  (attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')) ?? '')
    .split(' ')
    .filter((text) => /^\d+$/.test(text))
    .map(Number);

// The kernel's page size on both architectures that Node is pinned for.
const PAGE_BYTES = 4096;

const residentBytes = (pid: number): number => {
  const fields = attempt(() => readFileSync(`/proc/${pid}/statm`, 'latin1'))?.split(' ') ?? [];
  return Number(fields[1] ?? 0) * PAGE_BYTES;
};

const waitedMs = (pid: number): number => {
  const fields = attempt(() => readFileSync(`/proc/${pid}/schedstat`, 'latin1'))?.split(' ') ?? [];
  return Number(fields[1] ?? 0) / 1_000_000;
};

/** Linux's /proc: asked anew each time. What hosts left behind is known by their mark. */
export const PROC_TABLE: ProcessTable = {
  source: 'proc',
  findDescendants,
  residentBytes,
  waitedMs,
  guardHosts: (service) => {
    const sweep = createDescendantsSweep();
    const watchdog = startMarkWatchdog(`${HOST_MARK}=${service}`);
    return {
      add: () => undefined,
      remove: ({ mark }) => sweep.add(mark),
      whenSwept: sweep.whenSwept,
      end: watchdog.end,
    };
  },
};
