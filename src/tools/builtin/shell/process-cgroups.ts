import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { findCgroupPlaces } from './cgroup-places.ts';

/** A control group for one command: no more processes than it allows can be in it, whoever their user is. */
export type ProcessCgroup = {
  /** Whatever process writes its number into this file is in it from then on, with all that it starts. */
  readonly procsFile: string;
  /** Ends what is in it. Resolves when nothing is, or after some ten seconds; the group goes then, or soon. */
  readonly remove: () => Promise<void>;
};

export type ProcessCgroups = {
  /** Null where the system gives none any more. */
  readonly create: () => ProcessCgroup | null;
};

// Beside what a command starts there are bubblewrap, the first process of the sandbox, and what leads to them. With this
// much room the watchdog sees that there are too many, and says so.
const ROOM_PROCESSES = 16;
const LOOK_AGAIN_MS = 10;
const MOST_LOOKS = 1_000;
const REMOVE_AGAIN_MS = [20, 200, 2_000, 20_000];
const PREFIX = 'recourse';

/** Takes the file and what to start in the group: a shell of its own, so that not one process begins outside. */
export const ENTER_CGROUP = 'echo $$ >"$1" && shift && exec "$@"';

/**
 * Control groups that limit processes, from the controller `pids` of version 1 or 2; null where this service may make
 * none. For a service that is root: no resource limit of the kernel binds it (RLIMIT_NPROC leaves user 0 out, in user
 * namespaces too), and a fork bomb grows faster than it can be seen. Source: cgroups(7).
 */
export const openProcessCgroups = (maxProcesses: number): ProcessCgroups | null => {
  const place = findCgroupPlaces().find((candidate) => canUse(candidate, maxProcesses));
  if (place === undefined) return null;
  removeLeftOvers(place);
  return { create: () => createIn(place, maxProcesses) };
};

const canUse = (place: string, maxProcesses: number): boolean => {
  const probe = existsSync(place) ? createIn(place, maxProcesses) : null;
  void probe?.remove();
  return probe !== null;
};

const createIn = (place: string, maxProcesses: number): ProcessCgroup | null => {
  const directory = attempt(() => mkdtempSync(join(place, `${PREFIX}.${toOwner(process.pid)}.`)));
  if (directory === null) return null;
  // The file must be there: in a directory that is no control group it would be made, and limit nothing.
  const limit = (): void =>
    writeFileSync(join(directory, 'pids.max'), String(maxProcesses + ROOM_PROCESSES), { flag: 'r+' });
  const isLimited = attempt(() => limit() ?? true) === true;
  if (!isLimited || !takesProcesses(directory)) {
    removeSoon(directory, 0);
    return null;
  }
  return {
    procsFile: join(directory, 'cgroup.procs'),
    remove: async () => {
      for (let looks = 0; looks < MOST_LOOKS && killAll(directory); looks += 1) await wait(LOOK_AGAIN_MS);
      removeSoon(directory, 0);
    },
  };
};

/** A group of version 2 may be there and take none: `domain invalid`, below one that has processes itself. */
const takesProcesses = (directory: string): boolean => {
  const type = attempt(() => readFileSync(join(directory, 'cgroup.type'), 'latin1'));
  return type === null || type.trim() === 'domain';
};

/** Whether anything was there to be killed. */
const killAll = (directory: string): boolean => {
  const text = attempt(() => readFileSync(join(directory, 'cgroup.procs'), 'latin1')) ?? '';
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
