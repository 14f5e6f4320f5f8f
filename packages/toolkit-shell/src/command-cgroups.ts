import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MIB } from './sandbox-words.ts';

const LOOK_AGAIN_MS = 10;
const MOST_LOOKS = 1_000;
const REMOVE_AGAIN_MS = [20, 200, 2_000, 20_000];
const PREFIX = 'recourse';

/** Makes a control group in this one, under a name that tells whose it is. Null where the system gives none. */
const makeControlGroup = (place: string): string | null =>
  attempt(() => mkdtempSync(join(place, `${PREFIX}.${toOwner(process.pid)}.`)));

/** Ends what is in the group. Resolves when nothing is, or after some ten seconds; the group goes then, or soon. */
const endControlGroup = async (directory: string): Promise<void> => {
  for (let looks = 0; looks < MOST_LOOKS && killAll(directory); looks += 1) await wait(LOOK_AGAIN_MS);
  removeSoon(directory, 0);
};

/** Groups of a service that was killed, with what is still in them. Others, in this namespace or another, are left alone. */
const removeLeftOvers = (place: string): void => {
  for (const name of attempt(() => readdirSync(place)) ?? []) {
    const [prefix, namespace, pid, start] = name.split('.');
    if (prefix !== PREFIX || start === undefined || namespace !== toPidNamespace()) continue;
    if (toOwner(Number(pid)) === `${namespace}.${pid}.${start}`) continue;
    killAll(join(place, name));
    removeSoon(join(place, name), 0);
  }
};

/** What a file of a group says; null where the group has no such file. */
const readGroupFile = (directory: string, name: string): string | null =>
  attempt(() => readFileSync(join(directory, name), 'latin1'));

/** Whether the kernel took it. The file must be there: elsewhere than in a control group it would be made, and limit nothing. */
const writeGroupFile = (directory: string, name: string, value: number): boolean =>
  attempt(() => writeFileSync(join(directory, name), String(value), { flag: 'r+' }) ?? true) === true;

const killAll = (directory: string): boolean => {
  const text = readGroupFile(directory, 'cgroup.procs') ?? '';
  // 0 is a process that this service cannot name; to kill that would be to kill our own group.
  const pids = text.split('\n').map(Number);
  for (const pid of pids) if (pid > 1 && pid !== process.pid) attempt(() => process.kill(pid, 'SIGKILL'));
  return text !== '';
};

/** What has just ended is counted for a moment longer. */
const removeSoon = (directory: string, tried: number): void => {
  if (isRemoved(directory) || !existsSync(directory)) return;
  const waitMs = REMOVE_AGAIN_MS[tried];
  if (waitMs !== undefined) setTimeout(() => removeSoon(directory, tried + 1), waitMs).unref();
};

const isRemoved = (directory: string): boolean => attempt(() => rmdirSync(directory) ?? true) === true;

/** A process that no other is, nor will be: its number and when it began, in its namespace. */
const toOwner = (pid: number): string => {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? '';
  // Behind the name, which may hold anything, comes the third of the fields; the start is the 22nd. Source: proc(5).
  return `${toPidNamespace()}.${pid}.${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
};

const toPidNamespace = (): string => /\d+/.exec(attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};

/**
 * Directories in which control groups that limit processes could be, of version 1 and 2: below the group of this service,
 * so that what binds it binds its commands, then beside it and further out. Source: cgroups(7).
 */
const findCgroupPlaces = (): readonly string[] =>
  readMounts().flatMap(({ point, kind, options }) => {
    const isFirst = kind === 'cgroup' && options.includes('pids');
    return isFirst || kind === 'cgroup2' ? toDirectories(point, toOwnPath(isFirst ? 'pids' : '')) : [];
  });

/**
 * The group of version 1 that limits the memory of this service, and no other: a command outside of it would escape the
 * limit of the container. None where what is below a group does not count in it, as old kernels have it.
 */
const findOwnMemoryGroups = (): readonly string[] =>
  readMounts()
    .filter(({ kind, options }) => kind === 'cgroup' && options.includes('memory'))
    .flatMap(({ point }) => toDirectories(point, toOwnPath('memory')))
    .filter((directory) => isOwn(directory) && readGroupFile(directory, 'memory.use_hierarchy')?.trim() !== '0');

const isOwn = (directory: string): boolean =>
  (readGroupFile(directory, 'cgroup.procs') ?? '').split('\n').includes(String(process.pid));

const readMounts = () =>
  readLines('/proc/self/mounts').map((line) => {
    const [, point = '', kind, options = ''] = line.split(' ');
    return { point, kind, options: options.split(',') };
  });

/** Of the lines `8:pids:/some/path` and, in version 2, `0::/some/path`. */
const toOwnPath = (controller: string): string => {
  const lines = readLines('/proc/self/cgroup').map((line) => line.split(':'));
  const own = lines.find(([, names = '']) => names.split(',').includes(controller));
  const path = own?.slice(2).join(':') ?? '/';
  // Of a process that was moved out of what its namespace shows.
  return path.includes('..') ? '/' : path;
};

const toDirectories = (point: string, own: string): readonly string[] => {
  const directories = [point];
  for (let path = own; path !== '/' && path !== '.'; path = dirname(path)) directories.splice(-1, 0, join(point, path));
  return directories;
};

const readLines = (path: string): readonly string[] => {
  try {
    return readFileSync(path, 'latin1').split('\n');
  } catch (_noSuchFile) {
    return [];
  }
};

/** Why the kernel ended processes of a group: its own limit, or one further out (of a container, of the machine). */
export type MemoryEnd = 'memory' | 'memory outside';

// What makes the sandbox, its namespaces, its filter and the stacks of its processes are the kernel's memory and count in
// the group: some 5 MiB. Above the command's own part, so that a process that is refused more can still say so itself.
const ROOM_BYTES = 32 * MIB;
// Version 1 counts what waits in TCP and UDP sockets apart from all other memory. A command has nobody but itself to talk to.
const SOCKET_BYTES = 32 * MIB;

/**
 * Lets a group have so much memory and a little more, swap included; false where it cannot be limited. Version 2 counts
 * files in memory, pipes, sockets and page tables with it; version 1 does so since Linux 4.5, but for TCP and UDP sockets,
 * which get a limit of their own. Sources: cgroup-v2.rst, cgroup-v1/memory.rst.
 */
export const limitMemory = (directory: string, memoryBytes: number): boolean => {
  const bytes = memoryBytes + ROOM_BYTES;
  const isSecond = readGroupFile(directory, 'memory.max') !== null;
  if (!isLimited(directory, isSecond ? 'memory.max' : 'memory.limit_in_bytes', bytes)) return false;
  for (const [name, value] of isSecond ? VERSION_2 : toVersion1(bytes)) writeGroupFile(directory, name, value);
  return true;
};

/** Null while the kernel has ended nothing in the group. */
export const findMemoryEnd = (directory: string): MemoryEnd | null => {
  const events = readGroupFile(directory, 'memory.events');
  if (events !== null) return readCount(events, 'oom_kill') > 0 ? toEnd(readCount(events, 'oom') > 0) : null;
  const control = readGroupFile(directory, 'memory.oom_control') ?? '';
  return readCount(control, 'oom_kill') > 0 ? toEnd(wasFull(directory)) : null;
};

// One process of a command without the others is nothing that anyone asked for: they end together. No swap: a command
// that swaps takes longer, and its time from others.
const VERSION_2 = [
  ['memory.oom.group', 1],
  ['memory.swap.max', 0],
] as const;

/** Where swap is not counted there is no file for it; then none of the group is swapped out on its own account. */
const toVersion1 = (bytes: number): readonly (readonly [name: string, value: number])[] => [
  ['memory.memsw.limit_in_bytes', bytes],
  ['memory.swappiness', 0],
  // A group starts as the one above it is: there it may be so that who wants too much waits, and nobody is ended.
  ['memory.oom_control', 0],
  ['memory.kmem.tcp.limit_in_bytes', SOCKET_BYTES],
];

/** What was written need not be what holds: the kernel is asked. */
const isLimited = (directory: string, name: string, bytes: number): boolean =>
  writeGroupFile(directory, name, bytes) && Number(readGroupFile(directory, name) ?? Number.NaN) <= bytes;

const readCount = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);

const toEnd = (isOwn: boolean): MemoryEnd => (isOwn ? 'memory' : 'memory outside');

// Some kernels count no failures (memory.failcnt stays 0). Memory is asked for in pieces, the last of which does not fit.
const wasFull = (directory: string): boolean =>
  Number(readGroupFile(directory, 'memory.max_usage_in_bytes')) + MIB >
  Number(readGroupFile(directory, 'memory.limit_in_bytes'));

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

type CgroupLimits = { readonly maxProcesses: number; readonly memoryBytes: number };

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
