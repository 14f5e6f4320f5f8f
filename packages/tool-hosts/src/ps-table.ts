import { endProcess, readProgram, readProgramSync, startGroupWatchdog } from './process-control.ts';
import { PROC_TABLE, type ProcessTable } from './process-table.ts';

/** /proc where it tells of this very process, else `ps` where that does, else process groups alone. */
export const findProcessTable = (): ProcessTable => {
  if (PROC_TABLE.residentBytes(process.pid) > 0) return PROC_TABLE;
  if (PS_LIST.now().has(process.pid)) return createPsTable();
  // Of a system that lists no processes at all: hosts end as groups.
  return { ...createPsTable({ list: NO_LIST }), source: 'none' };
};

type ListedProcess = {
  readonly parent: number;
  readonly group: number;
  readonly residentBytes: number;
  /** When it started, to the second: tells it from a later process with its number. */
  readonly started: string;
};

/** Every process that the user may see, by its number; empty where there is no list. */
type ProcessList = ReadonlyMap<number, ListedProcess>;

/** Lists processes at once or without waiting. */
type ListProcesses = { readonly now: () => ProcessList; readonly soon: () => Promise<ProcessList> };

const NOTHING: ProcessList = new Map();
const NO_LIST: ListProcesses = { now: () => NOTHING, soon: async () => NOTHING };

// Of all systems alike, with a line of headings, which is no process. Source: POSIX ps; `lstart` of BSD and procps.
const PS_ARGUMENTS = ['-axo', 'pid,ppid,pgid,rss,lstart'];

/** Asks the program `ps`, which takes 10 to 20 ms. */
const PS_LIST: ListProcesses = {
  now: () => parseList(readProgramSync('ps', PS_ARGUMENTS)),
  soon: async () => parseList(await readProgram('ps', PS_ARGUMENTS)),
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

// A look costs 10 to 20 ms of a processor.
const LOOK_EVERY_MS = 1000;

/**
 * The table of a system without /proc. Looks at all processes once a second, and whenever a host is ended: memory is as
 * it was at the last look, and a process that left its host's group is known if a look found it below its host.
 */
export const createPsTable = ({
  list = PS_LIST,
  lookEveryMs = LOOK_EVERY_MS,
}: {
  readonly list?: ListProcesses;
  readonly lookEveryMs?: number;
} = {}): ProcessTable => {
  const families = new HostFamilies();
  return {
    source: 'ps',
    findDescendants: (pid) => {
      families.update(list.now());
      return families.of(pid);
    },
    residentBytes: (pid) => families.list.get(pid)?.residentBytes ?? 0,
    waitedMs: () => null,
    guardHosts: () => {
      const watchdog = startGroupWatchdog();
      const tell = (): void => watchdog.watch(families.toTargets());
      let isLooking = false;
      const look = async (): Promise<void> => {
        // One look after the other, never two at once.
        if (isLooking || families.isEmpty()) return;
        isLooking = true;
        families.update(await list.soon());
        isLooking = false;
        tell();
      };
      const timer = setInterval(() => void look(), lookEveryMs).unref();
      const sweeps = new Set<Promise<void>>();
      return {
        add: ({ pid }) => {
          families.add(pid);
          tell();
        },
        remove: ({ pid }) => {
          const swept = endLeft(families.remove(pid), list).then(() => void sweeps.delete(swept));
          sweeps.add(swept);
          tell();
        },
        whenSwept: () => Promise.all(sweeps).then(() => undefined),
        end: () => {
          clearInterval(timer);
          watchdog.end();
        },
      };
    },
  };
};

/** Processes by number, and when each started. */
type Family = ReadonlyMap<number, string>;

const endLeft = async (left: Family, list: ListProcesses): Promise<void> => {
  if (left.size === 0) return;
  const found = await list.soon();
  for (const pid of findBelow(stillThere(left, found), found)) endProcess(pid);
};

/**
 * What each host started, as the lists of processes told it one after the other. Whoever was seen once is remembered when
 * its parent has ended, and known by the time of its start: numbers are given again.
 */
export class HostFamilies {
  /** As it was seen last. */
  list = NOTHING;
  readonly #families = new Map<number, Family>();

  add(host: number): void {
    this.#families.set(host, new Map());
  }

  /** Forgets a host that has ended; gives those it left, as they were seen last. */
  remove(host: number): Family {
    const family = this.#families.get(host) ?? new Map();
    this.#families.delete(host);
    return family;
  }

  update(list: ProcessList): void {
    this.list = list;
    for (const [host, family] of this.#families) {
      const group = [...list].filter(([, process]) => process.group === host).map(([pid]) => pid);
      const members = [...findBelow([host, ...group, ...stillThere(family, list)], list)];
      const known = members.flatMap((pid) => {
        const started = list.get(pid)?.started;
        return started === undefined || pid === host ? [] : [[pid, started] as const];
      });
      this.#families.set(host, new Map(known));
    }
  }

  /** All below a host, without itself. */
  of(host: number): readonly number[] {
    return [...(this.#families.get(host)?.keys() ?? [])];
  }

  isEmpty(): boolean {
    return this.#families.size === 0;
  }

  /** Every host as a group (a negative number), and what has left its host's group as a process. */
  toTargets(): readonly number[] {
    return [...this.#families].flatMap(([host, family]) => [
      -host,
      ...[...family.keys()].filter((pid) => this.list.get(pid)?.group !== host),
    ]);
  }
}

/** Those of a family that still run: a number with another start is another process. */
export const stillThere = (family: Family, list: ProcessList): readonly number[] =>
  [...family].filter(([pid, started]) => list.get(pid)?.started === started).map(([pid]) => pid);

/** These processes and all below them. */
const findBelow = (roots: readonly number[], list: ProcessList): ReadonlySet<number> => {
  const childrenOf = Map.groupBy(list, ([, { parent }]) => parent);
  const found = new Set(roots);
  for (const pid of found) for (const [child] of childrenOf.get(pid) ?? []) found.add(child);
  return found;
};
