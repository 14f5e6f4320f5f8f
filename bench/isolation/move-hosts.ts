import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/** Keeps the tool hosts of a service on one core, away from the service. */
export type HostMover = { readonly stop: () => void };

const run = promisify(execFile);
// A host that has just been started is on the service's core until somebody looks.
const LOOK_EVERY_MS = 50;

/** Moves all hosts there are, and from then on those that are started. */
export const keepHostsOn = async (core: number, servicePid: number): Promise<HostMover> => {
  const seen = new Set<number>();
  const look = async (): Promise<void> => {
    const fresh = childrenOf(servicePid).filter((pid) => !seen.has(pid));
    for (const pid of fresh) seen.add(pid);
    await Promise.all(fresh.map((pid) => moveTo(core, pid)));
  };
  await look();
  const timer = setInterval(() => void look(), LOOK_EVERY_MS);
  return { stop: () => clearInterval(timer) };
};

/** Processes that a process has started and that live. Source: proc_pid_task(5); empty where the process has ended. */
const childrenOf = (pid: number): readonly number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .flatMap((word) => Number(word) || []);
  } catch (_gone) {
    return [];
  }
};

const moveTo = async (core: number, pid: number): Promise<void> => {
  // A host may end before it is moved.
  await run('taskset', ['-a', '-cp', String(core), String(pid)]).catch(() => undefined);
};
