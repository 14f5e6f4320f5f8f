import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const LOOK_AGAIN_MS = 10;
const MOST_LOOKS = 1_000;
const REMOVE_AGAIN_MS = [20, 200, 2_000, 20_000];
const PREFIX = 'recourse';

/** Makes a control group in this one, under a name that tells whose it is. Null where the system gives none. */
export const makeControlGroup = (place: string): string | null =>
  attempt(() => mkdtempSync(join(place, `${PREFIX}.${toOwner(process.pid)}.`)));

/** Ends what is in the group. Resolves when nothing is, or after some ten seconds; the group goes then, or soon. */
export const endControlGroup = async (directory: string): Promise<void> => {
  for (let looks = 0; looks < MOST_LOOKS && killAll(directory); looks += 1) await wait(LOOK_AGAIN_MS);
  removeSoon(directory, 0);
};

/** Groups of a service that was killed, with what is still in them. Others, in this namespace or another, are left alone. */
export const removeLeftOvers = (place: string): void => {
  for (const name of attempt(() => readdirSync(place)) ?? []) {
    const [prefix, namespace, pid, start] = name.split('.');
    if (prefix !== PREFIX || start === undefined || namespace !== toPidNamespace()) continue;
    if (toOwner(Number(pid)) === `${namespace}.${pid}.${start}`) continue;
    killAll(join(place, name));
    removeSoon(join(place, name), 0);
  }
};

/** What a file of a group says; null where the group has no such file. */
export const readGroupFile = (directory: string, name: string): string | null =>
  attempt(() => readFileSync(join(directory, name), 'latin1'));

/** Whether the kernel took it. The file must be there: elsewhere than in a control group it would be made, and limit nothing. */
export const writeGroupFile = (directory: string, name: string, value: number): boolean =>
  attempt(() => writeFileSync(join(directory, name), String(value), { flag: 'r+' }) ?? true) === true;

/** Whether anything was there to be killed. */
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
