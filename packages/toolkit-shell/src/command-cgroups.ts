import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MIB } from './sandbox-words.ts';

/** Why the kernel ended processes of a group: its own limit, or one further out (of a container, of the machine). */
export type MemoryEnd = 'memory' | 'memory outside';

/** The control group of one command: no more processes and memory than it allows can be in it, whoever the user is. */
export type CommandCgroup = {
  /** A process that writes its number into this file is in the group from then on, with all that it starts. */
  readonly procsFile: string;
  /** Why the kernel ended processes of it; null while it has ended none. */
  readonly findMemoryEnd: () => MemoryEnd | null;
  /** Ends what is in it. Resolves when nothing is, or after some ten seconds; the group goes then, or soon. */
  readonly remove: () => Promise<void>;
};

export type CommandCgroups = {
  /** Whether they limit memory, too. */
  readonly limitsMemory: boolean;
  /** Null where the system gives none any more. */
  readonly create: () => CommandCgroup | null;
};

type CgroupLimits = { readonly maxProcesses: number; readonly memoryBytes: number };

/** Where groups are made, and whether memory is limited there. */
type Place = { readonly directory: string; readonly limitsMemory: boolean };

/** Takes a `procsFile` and what to start in its group: a shell of its own, so that not one process begins outside. */
export const ENTER_CGROUP = 'echo $$ >"$1" || exit; shift; exec "$@"';

// Beside what a command starts there are bubblewrap, the first process of the sandbox, and what leads to them. With this
// much room the watchdog sees that there are too many, and says so.
const ROOM_PROCESSES = 16;
// What makes the sandbox, its namespaces, its filter and the stacks of its processes are the kernel's memory and count in
// the group: some 5 MiB. Above the command's own part, so that a process that is refused more can still say so itself.
const ROOM_BYTES = 32 * MIB;
const LOOK_AGAIN_MS = 10;
const MOST_LOOKS = 1_000;
const REMOVE_AGAIN_MS = [20, 200, 2_000, 20_000];
const PREFIX = 'recourse';

/**
 * Control groups that limit processes, and memory where they are of version 2; null where this service may make none. For a
 * service that is root: no resource limit of the kernel binds it (RLIMIT_NPROC leaves user 0 out, in user namespaces too),
 * and a fork bomb grows faster than it can be seen. Source: cgroups(7).
 */
export const openCommandCgroups = (limits: CgroupLimits): CommandCgroups | null => {
  const place = findPlace(limits);
  if (place === null) return null;
  removeLeftOvers(place.directory);
  return { limitsMemory: place.limitsMemory, create: () => createIn(place, limits) };
};

const findPlace = (limits: CgroupLimits): Place | null => {
  const directory = findDirectories().find((found) => canUse({ directory: found, limitsMemory: false }, limits));
  if (directory === undefined) return null;
  return { directory, limitsMemory: canUse({ directory, limitsMemory: true }, limits) };
};

const canUse = (place: Place, limits: CgroupLimits): boolean => {
  const probe = createIn(place, limits);
  void probe?.remove();
  return probe !== null;
};

/** Makes a group under a name that tells whose it is. Null where the system gives none, or it cannot be limited. */
const createIn = (place: Place, { maxProcesses, memoryBytes }: CgroupLimits): CommandCgroup | null => {
  const directory = attempt(() => mkdtempSync(join(place.directory, `${PREFIX}.${nameOwner(process.pid)}.`)));
  if (directory === null) return null;
  if (limitProcesses(directory, maxProcesses) && (!place.limitsMemory || limitMemory(directory, memoryBytes)))
    return {
      procsFile: join(directory, 'cgroup.procs'),
      findMemoryEnd: () => findMemoryEnd(directory),
      remove: () => endGroup(directory),
    };
  void endGroup(directory);
  return null;
};

/** A group of version 2 may be there and take no processes: `domain invalid`, below one that has processes itself. */
const limitProcesses = (directory: string, maxProcesses: number): boolean =>
  writeGroupFile(directory, 'pids.max', maxProcesses + ROOM_PROCESSES) &&
  (readGroupFile(directory, 'cgroup.type') ?? 'domain').trim() === 'domain';

/**
 * Lets a group have so much memory and a little more, and no swap; false where it cannot be limited: only version 2 has the
 * file. Files in memory, pipes, sockets and page tables count. Source: cgroup-v2.rst.
 */
export const limitMemory = (directory: string, memoryBytes: number): boolean => {
  const bytes = memoryBytes + ROOM_BYTES;
  if (!writeGroupFile(directory, 'memory.max', bytes)) return false;
  // What was written need not be what holds: the kernel is asked.
  if (!(Number(readGroupFile(directory, 'memory.max') ?? Number.NaN) <= bytes)) return false;
  // The processes of a command end together: a part of them is of no use. A command that swaps takes longer, and its time
  // from others.
  writeGroupFile(directory, 'memory.oom.group', 1);
  writeGroupFile(directory, 'memory.swap.max', 0);
  return true;
};

/** Null while the kernel has ended nothing in the group. */
export const findMemoryEnd = (directory: string): MemoryEnd | null => {
  const events = readGroupFile(directory, 'memory.events') ?? '';
  if (readCount(events, 'oom_kill') === 0) return null;
  return readCount(events, 'oom') > 0 ? 'memory' : 'memory outside';
};

const readCount = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);

const endGroup = async (directory: string): Promise<void> => {
  for (let looks = 0; looks < MOST_LOOKS && killAll(directory); looks += 1) await wait(LOOK_AGAIN_MS);
  removeSoon(directory, 0);
};

/** Whether there was something to kill. */
const killAll = (directory: string): boolean => {
  const text = readGroupFile(directory, 'cgroup.procs') ?? '';
  // 0 is a process that this service cannot name; to kill that would be to kill our own group.
  const pids = text.split('\n').map(Number);
  for (const pid of pids) if (pid > 1 && pid !== process.pid) attempt(() => process.kill(pid, 'SIGKILL'));
  return text !== '';
};

/** What has just ended is counted for a moment longer. */
const removeSoon = (directory: string, tried: number): void => {
  attempt(() => rmdirSync(directory));
  const waitMs = REMOVE_AGAIN_MS[tried];
  if (waitMs !== undefined && existsSync(directory)) setTimeout(() => removeSoon(directory, tried + 1), waitMs).unref();
};

/** Groups of a service that was killed, with what is still in them. Others, in this namespace or another, are left alone. */
const removeLeftOvers = (place: string): void => {
  for (const name of attempt(() => readdirSync(place)) ?? []) {
    const [prefix, namespace, pid, start] = name.split('.');
    if (prefix !== PREFIX || start === undefined || namespace !== readPidNamespace()) continue;
    if (nameOwner(Number(pid)) !== `${namespace}.${pid}.${start}`) void endGroup(join(place, name));
  }
};

/** A process that no other is, nor will be: its number and when it began, in its namespace. */
const nameOwner = (pid: number): string => {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? '';
  // Behind the name, which may hold anything, comes the third of the fields; the start is the 22nd. Source: proc(5).
  return `${readPidNamespace()}.${pid}.${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
};

const readPidNamespace = (): string => /\d+/.exec(attempt(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '0';

/**
 * Directories in which groups that limit processes could be (version 2, or the controller `pids` of version 1): below the
 * group of this service, so that what binds it binds its commands, then beside it and further out. Source: cgroups(7).
 */
const findDirectories = (): readonly string[] =>
  readLines('/proc/self/mounts').flatMap((line) => {
    const [, point = '', kind, options = ''] = line.split(' ');
    const isFirst = kind === 'cgroup' && options.split(',').includes('pids');
    if (!isFirst && kind !== 'cgroup2') return [];
    const directories = [point];
    for (let path = findOwnPath(isFirst ? 'pids' : ''); path !== '/' && path !== '.'; path = dirname(path))
      directories.splice(-1, 0, join(point, path));
    return directories;
  });

/** Of the lines `8:pids:/some/path` and, in version 2, `0::/some/path`. */
const findOwnPath = (controller: string): string => {
  const lines = readLines('/proc/self/cgroup').map((line) => line.split(':'));
  const own = lines.find(([, names = '']) => names.split(',').includes(controller));
  const path = own?.slice(2).join(':') ?? '/';
  // Of a process that was moved out of what its namespace shows.
  return path.includes('..') ? '/' : path;
};

const readLines = (path: string): readonly string[] => (attempt(() => readFileSync(path, 'latin1')) ?? '').split('\n');

/** What a file of a group says; null where the group has no such file. */
const readGroupFile = (directory: string, name: string): string | null =>
  attempt(() => readFileSync(join(directory, name), 'latin1'));

/** Whether the kernel took it. The file must be there: elsewhere than in a control group it would be made, and limit nothing. */
const writeGroupFile = (directory: string, name: string, value: number): boolean =>
  attempt(() => writeFileSync(join(directory, name), String(value), { flag: 'r+' }) ?? true) === true;

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};
