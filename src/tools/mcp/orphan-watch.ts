import { type ChildProcess, spawn } from 'node:child_process';

export type OrphanWatch = {
  /** The group has ended, or ends now: nothing is left to do, and its number may soon be another's. */
  readonly end: () => void;
};

// Its input ends without a line only where the service is gone. By then the server has seen the end of its own, and gets
// the time that it gets where it is stopped: 2 s until SIGTERM, 2 s until SIGKILL. Most are gone at once: with 2 s between
// two looks the number of the group could be another's. Where sleep takes whole seconds alone it takes longer.
const WATCH = `
read -r line && exit 0
for signal in TERM KILL; do
  for look in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -s 0 -- "-$0" 2>/dev/null || exit 0
    sleep 0.1 2>/dev/null || sleep 1
  done
  kill -s "$signal" -- "-$0" 2>/dev/null || exit 0
done
`;

// Whoever started the service may have left it files open that every child inherits. sh (dash) has no words for those above
// 9, which Node leaves open from 16 on: where there are any, bash closes them, if there is one.
// Without /proc (macOS) they stand in /dev/fd.
const START = `
files=/proc/$$/fd
[ -d "$files" ] || files=/dev/fd
for file in "$files/"*; do
  [ "\${file##*/}" -gt 9 ] 2>/dev/null && [ -x /bin/bash ] || continue
  exec /bin/bash -c 'cd /proc/self/fd 2>/dev/null || cd /dev/fd; for fd in *; do [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done; cd /
    exec /bin/sh -c "$WATCH" "$0"' "$0"
done
eval "$WATCH"
`;

const PROGRAMS = '/usr/bin:/bin';

/**
 * Starts a small process that outlives the service, and ends a process group which that has left behind. Not the parent
 * death signal of Linux (`setpriv --pdeathsig`): npx would get it, and not the server that npx has started.
 * Where there is no /bin/sh nobody watches. It finds `sleep` on `path`.
 */
export const watchOrphans = (group: number, path = PROGRAMS): OrphanWatch => {
  const watch = start(group, path);
  // Whatever becomes of it, the server serves.
  watch?.on('error', () => undefined);
  watch?.stdin?.on('error', () => undefined);
  watch?.unref();
  // Node writes so little at once, also where the service exits right after.
  return { end: () => void watch?.stdin?.end('ended\n') };
};

const start = (group: number, path: string): ChildProcess | null => {
  try {
    // In a group of its own: a Ctrl-C must not end it before the service.
    return spawn('/bin/sh', ['-c', START, String(group)], {
      env: { PATH: path, LC_ALL: 'C', WATCH },
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
  } catch (_noProcess) {
    return null;
  }
};
