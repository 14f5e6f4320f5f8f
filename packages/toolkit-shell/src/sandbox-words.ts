import { lstatSync, readlinkSync } from 'node:fs';
import type { EpollUse } from './seccomp-filter.ts';

export type ShellOptions = {
  /** What commands see as /workspace. Absolute. */
  readonly workspaceDir: string;
  readonly bwrapPath: string;
  readonly timeoutMs: number;
  readonly cpuSeconds: number;
  readonly memoryMb: number;
  readonly maxProcesses: number;
  readonly outputBytes: number;
  readonly epoll: EpollUse;
};

export const MIB = 1_048_576;
/** Size of /tmp, in bytes; it is memory. */
export const TMP_BYTES = 64 * MIB;
/** Size of /dev/shm, in bytes; it is memory, too. */
export const SHM_BYTES = 16 * MIB;
/** The largest file that a command may write, in bytes. */
export const MAX_FILE_BYTES = 256 * MIB;
const MAX_OPEN_FILES = 512;
// Pending signals and POSIX timers of all processes of a sandbox: the kernel adds them to those of the service's user.
const MAX_PENDING_SIGNALS = 128;
const USER_ID = '1000';

/** File descriptors of bubblewrap: 3 is its status, the rest is what it reads from us, in this order. */
export const STATUS_FD = 3;
export const FIRST_INPUT_FD = 4;

const OWN_FILES: readonly (readonly [path: string, text: string])[] = [
  ['/etc/passwd', `sandbox:x:${USER_ID}:${USER_ID}::/tmp:/bin/sh\n`],
  ['/etc/group', `sandbox:x:${USER_ID}:\n`],
  ['/etc/hosts', '127.0.0.1 localhost sandbox\n::1 localhost\n'],
];

// What programs need to start, and to know the time zone. Nothing here tells of users, keys or hosts.
const SYSTEM_FILES = [
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'alternatives',
  'localtime',
  'protocols',
  'services',
];
const SYSTEM_LINKS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

// Without what is mounted below. / and /dev are memory without a bound of their own. Files of /proc know users, not
// capabilities: where this service is root, a command could write to /proc/sys/kernel/core_pattern.
const READ_ONLY = ['/proc', '/dev/pts', '/dev', '/'];

const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin',
  HOME: '/tmp',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
} as const;

/** Names of the variables that a command may see: ours, and what shells set themselves. */
export const KNOWN_VARIABLES: ReadonlySet<string> = new Set([
  ...Object.keys(ENVIRONMENT),
  'PWD',
  'OLDPWD',
  'SHLVL',
  '_',
]);

/**
 * What is given to bubblewrap for every command, before the command itself, and what it reads from its file descriptors 4, 5, ….
 * `filter` is the seccomp program.
 */
export const buildSandboxArgs = (options: ShellOptions, filter: Buffer) => ({
  words: [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup'],
    ...['--disable-userns', '--die-with-parent', '--new-session', '--as-pid-1', '--cap-drop', 'ALL', '--clearenv'],
    ...['--uid', USER_ID, '--gid', USER_ID, '--hostname', 'sandbox', '--json-status-fd', String(STATUS_FD)],
    ...['--seccomp', String(FIRST_INPUT_FD)],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr'],
    ...SYSTEM_LINKS.flatMap(bindSystemLink),
    ...['--perms', '0755', '--dir', '/etc'],
    ...SYSTEM_FILES.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...OWN_FILES.flatMap(([path], place) => ['--perms', '0444', '--file', String(FIRST_INPUT_FD + 1 + place), path]),
    ...['--proc', '/proc', '--dev', '/dev'],
    // Nothing in place of /dev/pts: no terminals, of which the machine has one number in all, and which no group counts.
    ...['--perms', '0555', '--size', '4096', '--tmpfs', '/dev/pts'],
    ...['--perms', '1777', '--size', String(SHM_BYTES), '--tmpfs', '/dev/shm'],
    ...['--perms', '1777', '--size', String(TMP_BYTES), '--tmpfs', '/tmp'],
    ...['--bind', options.workspaceDir, '/workspace', '--chdir', '/workspace'],
    ...READ_ONLY.flatMap((path) => ['--remount-ro', path]),
  ],
  inputs: [filter, ...OWN_FILES.map(([, text]) => Buffer.from(text))],
});

/** As the host has it: a link into /usr, a directory of its own, or nothing. */
const bindSystemLink = (name: string): readonly string[] => {
  const path = `/${name}`;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
};

// The first process of the sandbox: it waits for the command, takes in orphans, and with its end the kernel ends all
// others. Its own messages ("Terminated") must not get among the command's. As stdin it has the machine's /dev/null, as the
// service opened it: whoever owns that could set its mode through it. The sandbox's own is on a file system that is read-only.
const FIRST_PROCESS = 'exec </dev/null 9>&2 2>/dev/null; (exec "$@" 2>&9 9>&-); exit $?';
// Whoever started this service may have left it files open that every child inherits. sh (dash) has no words for them.
const CLOSE_INHERITED =
  'cd /proc/self/fd; for fd in *; do [ "$fd" -gt 2 ] && eval "exec $fd>&-"; done; cd /workspace; unset OLDPWD; ';

/** The limits of each process, the first one too, then the shell; the command comes as its last word. */
export const buildShellArgs = (options: ShellOptions, shell: string, countsPerSandbox: boolean): readonly string[] => [
  ...['prlimit', '--core=0', `--cpu=${options.cpuSeconds}:${options.cpuSeconds + 1}`],
  ...[`--fsize=${MAX_FILE_BYTES}`, `--nofile=${MAX_OPEN_FILES}`, `--data=${options.memoryMb * MIB}`],
  // Both count for the service's user; memory does where it is pinned for MSG_ZEROCOPY.
  ...[`--sigpending=${MAX_PENDING_SIGNALS}`, '--memlock=0'],
  // Two more for what starts the command. It does not bind root: the watchdog counts for everyone.
  ...(countsPerSandbox ? [`--nproc=${options.maxProcesses + 2}`] : []),
  ...['--', shell, '-c', shell.endsWith('/bash') ? `${CLOSE_INHERITED}${FIRST_PROCESS}` : FIRST_PROCESS],
  ...['sh', shell, '-c'],
];

// A command has the user of this service, if under another number. Root owns the machine's /dev/null and could set its
// mode. In a namespace where /dev is read-only it cannot: what bubblewrap takes from there stays so.
const KEEP_DEVICES = 'mount -o remount,bind,ro,nosuid,noexec /dev && exec "$@"';

/** What starts bubblewrap where this service is root; it takes bubblewrap and its words as its own last words. */
export const WORDS_OF_ROOT: readonly string[] = [
  ...['--user', '--map-root-user', '--mount', '--', '/bin/sh', '-c', KEEP_DEVICES, 'sh'],
];
