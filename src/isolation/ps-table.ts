import { createHostFamilies, findBelow, type HostFamilies, stillThere, toChildren } from './host-families.ts';
import { endProcess } from './process-control.ts';
import type { HostGuard, ProcessTable } from './process-table.ts';
import { type ListProcesses, type ProcessList, PS_LIST } from './ps-list.ts';
import { startGroupWatchdog } from './start-watchdog.ts';

// A look costs 10 to 20 ms of a processor.
const LOOK_EVERY_MS = 1000;

export type PsTableOptions = { readonly list?: ListProcesses; readonly lookEveryMs?: number };

const NOTHING: ProcessList = new Map();

/**
 * The table of a system without /proc. Looks at all processes once a second, and whenever a host is ended: memory is as
 * it was at the last look, and a process that left its host's group is known if a look found it below its host.
 */
export const createPsTable = ({ list = PS_LIST, lookEveryMs = LOOK_EVERY_MS }: PsTableOptions = {}): ProcessTable => {
  const families = createHostFamilies();
  const state = { last: NOTHING };
  const take = (found: ProcessList): void => {
    state.last = found;
    families.update(found);
  };
  return {
    source: 'ps',
    findDescendants: (pid) => {
      take(list.now());
      return families.of(pid);
    },
    residentBytes: (pid) => state.last.get(pid)?.residentBytes ?? 0,
    waitedMs: () => null,
    guardHosts: () => guardFamilies({ families, list, lookEveryMs, take, last: () => state.last }),
  };
};

/** The table of a system that lists no processes at all: hosts end as groups. */
export const GROUP_TABLE: ProcessTable = {
  source: 'none',
  findDescendants: () => [],
  residentBytes: () => 0,
  waitedMs: () => null,
  guardHosts: () => {
    const families = createHostFamilies();
    const watchdog = startGroupWatchdog();
    const tell = (): void => watchdog.watch(families.toTargets(NOTHING));
    return {
      add: ({ pid }) => {
        families.add(pid);
        tell();
      },
      remove: ({ pid }) => {
        families.remove(pid);
        tell();
      },
      whenSwept: () => Promise.resolve(),
      end: watchdog.end,
    };
  },
};

type Guarding = {
  readonly families: HostFamilies;
  readonly list: ListProcesses;
  readonly lookEveryMs: number;
  readonly take: (found: ProcessList) => void;
  readonly last: () => ProcessList;
};

const guardFamilies = ({ families, list, lookEveryMs, take, last }: Guarding): HostGuard => {
  const watchdog = startGroupWatchdog();
  const tell = (): void => watchdog.watch(families.toTargets(last()));
  const stop = lookAgainAndAgain(lookEveryMs, async () => {
    if (families.isEmpty()) return;
    take(await list.soon());
    tell();
  });
  const sweeps = new Set<Promise<void>>();
  const sweep = async (left: ReturnType<HostFamilies['remove']>): Promise<void> => {
    if (left.size === 0) return;
    const found = await list.soon();
    for (const pid of findBelow(stillThere(left, found), toChildren(found))) endProcess(pid);
  };
  return {
    add: ({ pid }) => {
      families.add(pid);
      tell();
    },
    remove: ({ pid }) => {
      const swept = sweep(families.remove(pid)).then(() => void sweeps.delete(swept));
      sweeps.add(swept);
      tell();
    },
    whenSwept: () => Promise.all(sweeps).then(() => undefined),
    end: () => {
      stop();
      watchdog.end();
    },
  };
};

/** One look after the other, never two at once. */
const lookAgainAndAgain = (everyMs: number, look: () => Promise<void>): (() => void) => {
  let isLooking = false;
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look().then(() => {
      isLooking = false;
    });
  }, everyMs).unref();
  return () => clearInterval(timer);
};
