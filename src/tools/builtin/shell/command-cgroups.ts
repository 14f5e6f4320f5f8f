import { join } from 'node:path';
import { findCgroupPlaces, findOwnMemoryGroups } from './cgroup-places.ts';
import { endControlGroup, makeControlGroup, readGroupFile, removeLeftOvers, writeGroupFile } from './control-group.ts';
import { findMemoryEnd, limitMemory, type MemoryEnd } from './memory-limit.ts';

/** Control groups for one command: no more processes and memory than they allow can be in them, whoever the user is. */
export type CommandCgroup = {
  /** Whatever process writes its number into each of these files is in them from then on, with all that it starts. */
  readonly procsFiles: readonly string[];
  /** Why the kernel ended processes of it; null while it has ended none. */
  readonly findMemoryEnd: () => MemoryEnd | null;
  /** Ends what is in them. Resolves when nothing is, or after some ten seconds; the groups go then, or soon. */
  readonly remove: () => Promise<void>;
};

export type CommandCgroups = {
  /** Whether they limit memory, too. */
  readonly limitsMemory: boolean;
  /** Null where the system gives none any more. */
  readonly create: () => CommandCgroup | null;
};

export type CgroupLimits = { readonly maxProcesses: number; readonly memoryBytes: number };

/** `memory` is the same directory where one group limits both; null where nothing limits memory. */
type Places = { readonly pids: string; readonly memory: string | null };

// Beside what a command starts there are bubblewrap, the first process of the sandbox, and what leads to them. With this
// much room the watchdog sees that there are too many, and says so.
const ROOM_PROCESSES = 16;

/** Takes files, `--` and what to start in these groups: a shell of its own, so that not one process begins outside. */
export const ENTER_CGROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1" && shift || exit; done; shift; exec "$@"';

/**
 * Control groups that limit processes, and memory where that can be had, by the controllers `pids` and `memory` of
 * version 1 or 2; null where this service may make none for processes. For a service that is root: no resource limit of
 * the kernel binds it (RLIMIT_NPROC leaves user 0 out, in user namespaces too), and a fork bomb grows faster than it can be
 * seen. Source: cgroups(7).
 */
export const openCommandCgroups = (limits: CgroupLimits): CommandCgroups | null => {
  let places = findPlaces(limits);
  if (places === null) return null;
  const limitsMemory = places.memory !== null;
  for (const place of new Set([places.pids, places.memory ?? places.pids])) removeLeftOvers(place);

  // A service may be moved to another group while it runs, and the first one removed.
  const createElsewhere = (): CommandCgroup | null => {
    const found = findPlaces(limits);
    if (found === null || (limitsMemory && found.memory === null)) return null;
    places = limitsMemory ? found : { pids: found.pids, memory: null };
    return createIn(places, limits);
  };

  return { limitsMemory, create: () => (places && createIn(places, limits)) ?? createElsewhere() };
};

const findPlaces = (limits: CgroupLimits): Places | null => {
  const pids = findCgroupPlaces().find((place) => canUse({ pids: place, memory: null }, limits));
  if (pids === undefined) return null;
  const memory = [pids, ...findOwnMemoryGroups()].find((place) => canUse({ pids, memory: place }, limits)) ?? null;
  return { pids, memory };
};

const canUse = (places: Places, limits: CgroupLimits): boolean => {
  const probe = createIn(places, limits);
  void probe?.remove();
  return probe !== null;
};

const createIn = ({ pids, memory }: Places, { maxProcesses, memoryBytes }: CgroupLimits): CommandCgroup | null => {
  const first = makeLimited(pids, (directory) => limitProcesses(directory, maxProcesses));
  if (first === null) return null;
  if (memory === null) return toCgroup([first], null);
  if (memory === pids && limitMemory(first, memoryBytes)) return toCgroup([first], first);
  const second = memory === pids ? null : makeLimited(memory, (directory) => limitMemory(directory, memoryBytes));
  if (second !== null) return toCgroup([first, second], second);
  void endControlGroup(first);
  return null;
};

const makeLimited = (place: string, limit: (directory: string) => boolean): string | null => {
  const directory = makeControlGroup(place);
  if (directory === null || limit(directory)) return directory;
  void endControlGroup(directory);
  return null;
};

const toCgroup = (directories: readonly string[], memory: string | null): CommandCgroup => ({
  procsFiles: directories.map((directory) => join(directory, 'cgroup.procs')),
  findMemoryEnd: () => (memory === null ? null : findMemoryEnd(memory)),
  remove: async () => {
    await Promise.all(directories.map(endControlGroup));
  },
});

const limitProcesses = (directory: string, maxProcesses: number): boolean =>
  writeGroupFile(directory, 'pids.max', maxProcesses + ROOM_PROCESSES) && takesProcesses(directory);

/** A group of version 2 may be there and take none: `domain invalid`, below one that has processes itself. */
const takesProcesses = (directory: string): boolean => {
  const type = readGroupFile(directory, 'cgroup.type');
  return type === null || type.trim() === 'domain';
};
