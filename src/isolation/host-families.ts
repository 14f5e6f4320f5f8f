import type { ProcessList } from './ps-list.ts';

/** Processes by number, and when each started. */
type Family = ReadonlyMap<number, string>;

/**
 * What each host started, as the lists of processes told it one after the other. Whoever was seen once is remembered when
 * its parent has ended, and known by the time of its start: numbers are given again.
 */
export type HostFamilies = {
  readonly add: (host: number) => void;
  /** Forgets a host that has ended; gives those it left, as they were seen last. */
  readonly remove: (host: number) => Family;
  readonly update: (list: ProcessList) => void;
  /** All below a host, without itself. */
  readonly of: (host: number) => readonly number[];
  readonly isEmpty: () => boolean;
  /** Every host as a group (a negative number), and what has left its host's group as a process. */
  readonly toTargets: (list: ProcessList) => readonly number[];
};

export const createHostFamilies = (): HostFamilies => {
  const families = new Map<number, Family>();
  return {
    add: (host) => void families.set(host, new Map()),
    remove: (host) => {
      const family = families.get(host) ?? new Map();
      families.delete(host);
      return family;
    },
    update: (list) => {
      const childrenOf = toChildren(list);
      for (const [host, family] of families) {
        const roots = [host, ...membersOf(list, host), ...stillThere(family, list)];
        families.set(host, toFamily(list, findBelow(roots, childrenOf), host));
      }
    },
    of: (host) => [...(families.get(host)?.keys() ?? [])],
    isEmpty: () => families.size === 0,
    toTargets: (list) =>
      [...families].flatMap(([host, family]) => [
        -host,
        ...[...family.keys()].filter((pid) => list.get(pid)?.group !== host),
      ]),
  };
};

/** Those of a family that still run: a number with another start is another process. */
export const stillThere = (family: Family, list: ProcessList): readonly number[] =>
  [...family].filter(([pid, started]) => list.get(pid)?.started === started).map(([pid]) => pid);

/** These processes and all below them. */
export const findBelow = (
  roots: readonly number[],
  childrenOf: ReadonlyMap<number, readonly number[]>,
): ReadonlySet<number> => {
  const found = new Set(roots);
  for (const pid of found) for (const child of childrenOf.get(pid) ?? []) found.add(child);
  return found;
};

export const toChildren = (list: ProcessList): ReadonlyMap<number, readonly number[]> => {
  const children = new Map<number, number[]>();
  for (const [pid, { parent }] of list) {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [pid]);
    else known.push(pid);
  }
  return children;
};

const membersOf = (list: ProcessList, group: number): readonly number[] =>
  [...list].filter(([, process]) => process.group === group).map(([pid]) => pid);

const toFamily = (list: ProcessList, pids: ReadonlySet<number>, host: number): Family =>
  new Map(
    [...pids].flatMap((pid) => {
      const started = list.get(pid)?.started;
      return started === undefined || pid === host ? [] : [[pid, started] as const];
    }),
  );
