import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { HOST_MARK } from './host-environment.ts';
import { attempt, endProcess, startGroupWatchdog, startMarkWatchdog } from './process-control.ts';

/**
 * What the service can learn of the processes of its tool hosts, and of what those started. Chosen once, by what the
 * system offers (`findProcessTable`): /proc, else nothing but process groups.
 */
export type ProcessTable = {
  readonly source: 'proc' | 'groups';
  /** Everything below this process, wherever it has gone, as far as the system tells. */
  readonly findDescendants: (pid: number) => readonly number[];
  /** Memory of a process that is in RAM, what it maps included, in bytes; 0 where that is not known. */
  readonly residentBytes: (pid: number) => number;
  /** How long a process has waited for a processor since it started, in milliseconds; null where the system does not tell. */
  readonly waitedMs: (pid: number) => number | null;
  /** Begins to guard the hosts of one service, whose marks all begin with `service`. */
  readonly guardHosts: (service: string) => HostGuard;
};

/** What a host is known by: its process, and its mark, which all that it starts has in its environment. */
type GuardedHost = { readonly pid: number; readonly mark: string };

/** Sees to it that hosts leave no process behind: neither when they end nor when the service does, however it ends. */
type HostGuard = {
  readonly add: (host: GuardedHost) => void;
  /** This host has ended: what it left behind must end, too. */
  readonly remove: (host: GuardedHost) => void;
  /** Resolves when everything that hosts left so far has been ended. */
  readonly whenSwept: () => Promise<void>;
  /** The service needs it no more. */
  readonly end: () => void;
};

/** Linux's /proc: asked anew each time. What hosts left behind is known by their mark. */
export const PROC_TABLE: ProcessTable = {
  source: 'proc',
  findDescendants: (pid) => {
    const found: number[] = [];
    for (let next: number | undefined = pid; next !== undefined; next = found[found.indexOf(next) + 1]) {
      if (found.length >= MAX_DESCENDANTS) break;
      const threads = attempt(() => readdirSync(`/proc/${next}/task`)) ?? [];
      for (const thread of threads) {
        const children = attempt(() => readFileSync(`/proc/${next}/task/${thread}/children`, 'latin1')) ?? '';
        found.push(...(children.match(/\d+/g) ?? []).map(Number));
      }
    }
    return found;
  },
  residentBytes: (pid) => readSecond(`/proc/${pid}/statm`) * PAGE_BYTES,
  waitedMs: (pid) => readSecond(`/proc/${pid}/schedstat`) / 1_000_000,
  guardHosts: (service) => {
    const sweep = new DescendantsSweep();
    const watchdog = startMarkWatchdog(`${HOST_MARK}=${service}`);
    return {
      add: () => undefined,
      remove: ({ mark }) => sweep.add(mark),
      whenSwept: () => sweep.whenSwept(),
      end: watchdog.end,
    };
  },
};

/**
 * A system that lists no processes: each host ends as a process group. A process that a tool moves out of its group
 * survives, and the limit of memory is that of the JavaScript heap.
 */
export const GROUP_TABLE: ProcessTable = {
  source: 'groups',
  findDescendants: () => [],
  residentBytes: () => 0,
  waitedMs: () => null,
  guardHosts: () => {
    const watchdog = startGroupWatchdog();
    const leaders = new Set<number>();
    return {
      add: ({ pid }) => watchdog.watch(leaders.add(pid)),
      remove: ({ pid }) => {
        leaders.delete(pid);
        watchdog.watch(leaders);
      },
      whenSwept: () => Promise.resolve(),
      end: watchdog.end,
    };
  },
};

/** /proc where it answers for this very process, else process groups. */
export const findProcessTable = (): ProcessTable =>
  PROC_TABLE.residentBytes(process.pid) > 0 ? PROC_TABLE : GROUP_TABLE;

// More than any tool needs. The look is synchronous, and what lies beyond is found by the host's mark.
const MAX_DESCENDANTS = 500;
// The kernel's page size on both architectures that Node is pinned for.
const PAGE_BYTES = 4096;

/** The second number of a file of /proc; 0 where the process is gone. */
const readSecond = (path: string): number => Number(attempt(() => readFileSync(path, 'latin1'))?.split(' ')[1] ?? 0);

/**
 * Ends what a host left behind outside of its process group (a child started with `detached`, or by `setsid`): such a
 * process still carries the host's mark in its environment. One walk through /proc serves all hosts that ended
 * meanwhile. What a tool started with an environment of its own making escapes.
 */
class DescendantsSweep {
  #marks = new Set<string>();
  #sweeping: Promise<void> | null = null;

  /** This host has ended: whatever still carries its mark must end, too. */
  add(mark: string): void {
    this.#marks.add(mark);
    this.#sweeping ??= this.#sweepAll();
  }

  /** Resolves when everything added so far has been swept. */
  whenSwept(): Promise<void> {
    return this.#sweeping ?? Promise.resolve();
  }

  async #sweepAll(): Promise<void> {
    while (this.#marks.size > 0) {
      const marks = this.#marks;
      this.#marks = new Set();
      await endMarked(marks);
    }
    this.#sweeping = null;
  }
}

const endMarked = async (marks: ReadonlySet<string>): Promise<void> => {
  const entries = await readdir('/proc').catch(() => []);
  for (const entry of entries) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const environment = await readFile(`/proc/${entry}/environ`, 'latin1').catch(() => '');
    const at = environment.indexOf(`${HOST_MARK}=`);
    if (at === -1 || !marks.has(environment.slice(at + HOST_MARK.length + 1).split('\0', 1)[0] ?? '')) continue;
    endProcess(Number(entry));
  }
};
