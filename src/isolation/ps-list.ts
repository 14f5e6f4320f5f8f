import { readProgram, readProgramSync } from './process-control.ts';

export type ListedProcess = {
  readonly parent: number;
  readonly group: number;
  readonly residentBytes: number;
  /** When it started, to the second: tells it from a later process with its number. */
  readonly started: string;
};

/** Every process that the user may see, by its number; empty where there is no list. */
export type ProcessList = ReadonlyMap<number, ListedProcess>;

/** Lists processes at once or without waiting. */
export type ListProcesses = { readonly now: () => ProcessList; readonly soon: () => Promise<ProcessList> };

// Of all systems alike, with a line of headings, which is no process. Source: POSIX ps; `lstart` of BSD and procps.
const WORDS = ['-axo', 'pid,ppid,pgid,rss,lstart'];

/** Asks the program `ps`, which takes 10 to 20 ms. */
export const PS_LIST: ListProcesses = {
  now: () => parseList(readProgramSync('ps', WORDS)),
  soon: async () => parseList(await readProgram('ps', WORDS)),
};

const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(.+?)\s*$/gm;

/** What `ps -axo pid,ppid,pgid,rss,lstart` wrote; `rss` counts KiB. */
export const parseList = (text: string): ProcessList =>
  new Map(
    Array.from(text.matchAll(LINE), ([, pid, parent, group, rss, started = '']) => [
      Number(pid),
      { parent: Number(parent), group: Number(group), residentBytes: Number(rss) * 1024, started },
    ]),
  );
