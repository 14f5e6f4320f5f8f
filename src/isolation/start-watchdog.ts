import { startProcess } from './process-control.ts';

export type Watchdog = {
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

// Each line holds all that is to be ended, groups as negative numbers: only the last one counts. What is below those is
// asked of ps while they stand still; where there is no ps, they alone are ended.
const BY_NUMBER = `
targets=
while read -r line; do targets=$line; done
[ -n "$targets" ] || exit 0
for target in $targets; do kill -s STOP -- "$target" 2>/dev/null; done
below=$(ps -axo pid,ppid 2>/dev/null | awk -v roots="$targets" '
  BEGIN { count = split(roots, root, " "); for (at = 1; at <= count; at++) { sub(/^-/, "", root[at]); found[root[at]] = 1 } }
  { parent[$1] = $2 }
  END {
    do {
      grown = 0
      for (pid in parent) if (!(pid in found) && (parent[pid] in found)) { found[pid] = 1; grown = 1; print pid }
    } while (grown)
  }')
for target in $targets $below; do kill -s KILL -- "$target" 2>/dev/null; done
`;

export type TargetWatchdog = Watchdog & {
  /** From now on these, and no others, end with the service: processes, and groups as negative numbers. */
  readonly watch: (targets: readonly number[]) => void;
};

/** The same without /proc: it ends what it was told of, and what is below that. */
export const startGroupWatchdog = (): TargetWatchdog => {
  const stdin = startScript(BY_NUMBER, 'recourse-watchdog');
  let told = '';
  return {
    watch: (targets) => {
      const line = targets.join(' ');
      // Node writes so little at once, also where the service exits right after.
      if (line !== told) stdin?.write(`${line}\n`);
      told = line;
    },
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
