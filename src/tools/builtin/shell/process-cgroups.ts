import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A control group for one command: no more processes than it allows can be in it, whoever their user is. */
export type ProcessCgroup = {
  /** Whatever process writes its number into this file is in it from then on, with all that it starts. */
  readonly procsFile: string;
  /** After the last of its processes has ended. */
  readonly remove: () => void;
};

export type ProcessCgroups = {
  /** Null where the system gives none any more. */
  readonly create: () => ProcessCgroup | null;
};

// Beside what a command starts there are bubblewrap, the first process of the sandbox, and what leads to them. With this
// much room the watchdog sees that there are too many, and says so.
const ROOM_PROCESSES = 16;
const REMOVE_AGAIN_MS = [20, 200, 2_000];
const OURS = /^recourse\.(\d+)\./;

/**
 * Control groups that limit processes, from the controller `pids` of version 1 or 2; null where this service may make
 * none. For a service that is root: no resource limit of the kernel binds it (RLIMIT_NPROC leaves user 0 out, in user
 * namespaces too), and a fork bomb grows faster than it can be seen. Source: cgroups(7).
 */
export const openProcessCgroups = (maxProcesses: number): ProcessCgroups | null => {
  const place = findPlaces().find((candidate) => canCreate(candidate, maxProcesses));
  if (place === undefined) return null;
  removeLeftOvers(place);
  return { create: () => createIn(place, maxProcesses) };
};

/** Directories in which such a group may be made, the nearest first. */
const findPlaces = (): readonly string[] => {
  const mounts = (attempt(() => readFileSync('/proc/self/mounts', 'latin1')) ?? '')
    .split('\n')
    .map((line) => line.split(' '));
  return mounts.flatMap(([, point = '', kind = '', options = '']) => {
    const isFirst = kind === 'cgroup' && options.split(',').includes('pids');
    if (!isFirst && kind !== 'cgroup2') return [];
    const own = join(point, toOwnPath(isFirst ? 'pids' : ''));
    return own === point ? [point] : [own, point];
  });
};

/** Of the lines `8:pids:/some/path` and, in version 2, `0::/some/path`. */
const toOwnPath = (controller: string): string => {
  const lines = (attempt(() => readFileSync('/proc/self/cgroup', 'latin1')) ?? '').split('\n');
  const own = lines.map((line) => line.split(':')).find(([, names = '']) => names.split(',').includes(controller));
  return own?.slice(2).join(':') ?? '/';
};

let made = 0;

const createIn = (place: string, maxProcesses: number): ProcessCgroup | null => {
  made += 1;
  const directory = join(place, `recourse.${process.pid}.${made}`);
  const limited = attempt(() => {
    mkdirSync(directory);
    writeFileSync(join(directory, 'pids.max'), String(maxProcesses + ROOM_PROCESSES));
    return true;
  });
  const remove = (): void => removeSoon(directory, 0);
  if (limited === true) return { procsFile: join(directory, 'cgroup.procs'), remove };
  remove();
  return null;
};

const canCreate = (place: string, maxProcesses: number): boolean => {
  const probe = existsSync(place) ? createIn(place, maxProcesses) : null;
  probe?.remove();
  return probe !== null;
};

/** What has just ended is counted for a moment longer. */
const removeSoon = (directory: string, tried: number): void => {
  if (isRemoved(directory) || !existsSync(directory)) return;
  const waitMs = REMOVE_AGAIN_MS[tried];
  if (waitMs !== undefined) setTimeout(() => removeSoon(directory, tried + 1), waitMs).unref();
};

const isRemoved = (directory: string): boolean =>
  attempt(() => {
    rmdirSync(directory);
    return true;
  }) === true;

/** Of a service that was killed; of one that runs they cannot be removed while anything is in them. */
const removeLeftOvers = (place: string): void => {
  for (const name of attempt(() => readdirSync(place)) ?? []) {
    const pid = OURS.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) attempt(() => rmdirSync(join(place, name)));
  }
};

const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};
