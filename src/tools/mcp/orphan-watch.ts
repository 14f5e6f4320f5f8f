import { type ChildProcess, spawn } from 'node:child_process';

export type OrphanWatch = {
  /** The group has ended: nothing is left to do, and its number may soon be another's. */
  readonly end: () => void;
};

// Its input ends without a line only where the service is gone. By then the server has seen the end of its own, and gets
// the time that it gets where it is stopped: 2 s until SIGTERM, 2 s until SIGKILL.
const SCRIPT = `
read -r line && exit 0
for signal in TERM KILL; do
  sleep 2
  kill -s "$signal" -- "-$0" 2>/dev/null || exit 0
done
`;

/**
 * Starts a small process that outlives the service, and ends a process group which that has left behind. Not the parent
 * death signal of Linux (`setpriv --pdeathsig`): npx would get it, and not the server that npx has started.
 * Where there is no /bin/sh nobody watches.
 */
export const watchOrphans = (group: number): OrphanWatch => {
  const watch = start(group);
  // Whatever becomes of it, the server serves.
  watch?.on('error', () => undefined);
  watch?.stdin?.on('error', () => undefined);
  watch?.unref();
  return { end: () => void watch?.stdin?.end('ended\n') };
};

const start = (group: number): ChildProcess | null => {
  try {
    // In a group of its own: a Ctrl-C must not end it before the service.
    return spawn('/bin/sh', ['-c', SCRIPT, String(group)], {
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
  } catch (_noProcess) {
    return null;
  }
};
