import { startProcess } from './process-control.ts';

export type Watchdog = {
  /** The service needs it no more: it ends what is left, and itself. */
  readonly end: () => void;
};

// Waits until its standard input ends, which is when the service is gone; then ends whatever carries the mark, more
// than once, for what is about to end may still start something.
const SCRIPT = `
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
 * whose environment holds `mark`: hosts, spinning ones too, and what tools started, wherever it went.
 */
export const startWatchdog = (mark: string): Watchdog => {
  // In a process group of its own: a Ctrl-C must not end it before the service.
  const watchdog = startProcess('/bin/sh', ['-c', SCRIPT, mark], {
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watchdog?.stdin?.on('error', () => undefined);
  watchdog?.unref();
  return { end: () => void watchdog?.stdin?.end() };
};
