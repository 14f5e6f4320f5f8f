import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

// What the system may refuse: a process that has just ended is no error here, and one that cannot be started is an answer.

/** Starts a process; null where the system gives none. */
export const startProcess = (command: string, words: readonly string[], options: SpawnOptions): ChildProcess | null => {
  const child = attempt(() => spawn(command, words, options));
  // Without a listener a process that cannot be started would end the service.
  child?.on('error', () => undefined);
  return child?.pid === undefined ? null : child;
};

/** SIGKILL, to a process or (with a negative number) to a process group. */
export const endProcess = (pid: number): void => void attempt(() => process.kill(pid, 'SIGKILL'));

/** SIGKILL to a process that leads a group, to the group, and to all its descendants, wherever they have gone. */
export const endFamily = (pid: number, findDescendants: (pid: number) => readonly number[]): void => {
  // It must not start another one while they are counted. Once it has ended, its children have another parent.
  attempt(() => process.kill(pid, 'SIGSTOP'));
  const descendants = findDescendants(pid);
  endProcess(-pid);
  for (const descendant of descendants) endProcess(descendant);
};

// The service must answer while its tools compute.
const NICER = 5;
const NICEST = 19;
// Where Linux groups processes by session it shares the processor among the groups, and a host is a session of its own: its
// nice counts only within that. Measured with busy hosts on one core: p99 of other calls 74 ms without this, 17 ms with it.
const GROUP_NICE = '10';
// When memory is short the kernel should end a host, not the service: the highest score goes first.
const OOM_SCORE = '800';

/** Puts a process behind the service, in the queue for the processor, and before it in the kernel's choice for memory. */
export const stepBehind = (pid: number): void => {
  attempt(() => setPriority(pid, Math.min(NICEST, getPriority() + NICER)));
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, GROUP_NICE));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE));
};

/** What `step` gives; null where the system refuses. */
export const attempt = <Result>(step: () => Result): Result | null => {
  try {
    return step();
  } catch (_refused) {
    return null;
  }
};

type Watchdog = {
  /** The service needs it no more: it ends what is left, and itself. */
  readonly end: () => void;
};

// Waits until its standard input ends, which is when the service is gone; then ends whatever carries the mark, more
// than once, for what is about to end may still start something.
const BY_MARK = `
while read -r line; do :; done
for pass in 1 2 3 4 5; do
  found=$(grep -lsF "$0" /proc/[0-9]*/environ)
  [ -n "$found" ] || exit 0
  for file in $found; do
    pid=\${file#/proc/}
    kill -9 "\${pid%/environ}" 2>/dev/null
  done
  sleep 0.1
done
`;

/**
 * Starts a small process that outlives the service, however that ends, by no more than it takes to end every process
 * whose environment holds `mark`: hosts, spinning ones too, and what tools started, wherever it went. It needs /proc.
 */
export const startMarkWatchdog = (mark: string): Watchdog => {
  const stdin = startScript(BY_MARK, mark);
  return { end: () => void stdin?.end() };
};

// Each line holds all groups that are to be ended, as negative numbers: only the last line counts.
const BY_GROUP = `
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "$group" 2>/dev/null; done
`;

type GroupWatchdog = Watchdog & {
  /** From now on these groups, and no others, end with the service. */
  readonly watch: (leaders: ReadonlySet<number>) => void;
};

/** The same without /proc: it ends the process groups of the last `watch`. */
export const startGroupWatchdog = (): GroupWatchdog => {
  const stdin = startScript(BY_GROUP, 'recourse-watchdog');
  return {
    // Node writes so little at once, also where the service exits right after.
    watch: (leaders) => void stdin?.write(`${[...leaders].map((pid) => -pid).join(' ')}\n`),
    end: () => void stdin?.end(),
  };
};

const startScript = (script: string, name: string) => {
  // In a process group of its own: a Ctrl-C must not end it before the service.
  const watchdog = startProcess('/bin/sh', ['-c', script, name], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog?.stdin?.on('error', () => undefined);
  watchdog?.unref();
  return watchdog?.stdin ?? null;
};
