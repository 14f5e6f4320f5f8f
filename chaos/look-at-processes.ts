import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process that has to do with the run. */
export type FoundProcess = { readonly pid: number; readonly command: string };

/** Every living process whose environment or command line holds one of the marks. Source: proc(5). */
export const findProcesses = (marks: readonly string[]): readonly FoundProcess[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`);
      const told = `${command}\0${read(`/proc/${pid}/environ`)}`;
      return marks.some((mark) => told.includes(mark)) ? [{ pid, command: command.replaceAll('\0', ' ').trim() }] : [];
    });

/** How many file descriptors a process has open; null where it has ended. */
export const countDescriptors = (pid: number): number | null =>
  unlessGone(() => readdirSync(`/proc/${pid}/fd`).length, null);

/** What they are: `pipe` 4, `socket` 12, … For the evidence. */
export const describeDescriptors = (pid: number): string => {
  const counts = new Map<string, number>();
  for (const name of unlessGone(() => readdirSync(`/proc/${pid}/fd`), [])) {
    const kind = unlessGone(() => readlinkSync(`/proc/${pid}/fd/${name}`), 'gone').replace(/:?\[.*$/, '');
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
};

const KIB_PER_MB = 1000 / 1.024;

/** Memory in RAM, in MB (10^6 bytes); null where it has ended. */
export const readResidentMb = (pid: number): number | null => {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`))?.[1];
  return kib === undefined ? null : Number(kib) / KIB_PER_MB;
};

// Processes end while they are looked at, and those of others cannot be looked into.
const GONE = ['ENOENT', 'ESRCH', 'EACCES', 'EPERM'];

const unlessGone = <Value>(look: () => Value, otherwise: Value): Value => {
  try {
    return look();
  } catch (error) {
    if (error instanceof Error && 'code' in error && GONE.includes(String(error.code))) return otherwise;
    throw error;
  }
};

const read = (path: string): string => unlessGone(() => readFileSync(path, 'utf8'), '');
