import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as afterMs } from 'node:timers/promises';
import { codeOf } from '@recourse/toolkit-kit/egress/error-code';
import { showText } from '@recourse/toolkit-kit/egress/show-url';

export type ServerCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All that it gets. */
  readonly environment: Readonly<Record<string, string>>;
};

type ServerEvents = {
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
  /** Once, when it has ended or could not be started: one clause for people, and how it exited itself. */
  readonly onEnd: (reason: string, exitCode: number | null) => void;
};

export type ServerProcess = {
  /** Rejects where it takes no more input. */
  readonly write: (text: string) => Promise<void>;
  /** Ends it and its whole group: end of input, SIGTERM, SIGKILL, `graceMs` between each. Never rejects. */
  readonly end: (graceMs: number) => Promise<void>;
  /** SIGKILL to its whole group, at once. */
  readonly kill: () => void;
  /** Its output is left where it is, until `resume`: the server waits. */
  readonly pause: () => void;
  readonly resume: () => void;
};

// Whoever left the group may hold its output open; nobody waits for that longer.
const LAST_OUTPUT_MS = 500;

/**
 * Starts a server as the leader of a process group of its own: a Ctrl-C in a terminal must not end calls that are being
 * drained, and what it started itself (npx starts node) ends with it; also where the service is killed and ends nothing.
 */
export const spawnServer = (server: ServerCommand, events: ServerEvents): ServerProcess => {
  const child = start(server);
  if (typeof child === 'string') {
    queueMicrotask(() => events.onEnd(notStarted(child, server), null));
    return NO_PROCESS;
  }
  const ended = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  let isEnded = false;
  const end = (reason: string, exitCode: number | null): void => {
    if (isEnded) return;
    isEnded = true;
    exited.resolve();
    ended.resolve();
    events.onEnd(reason, exitCode);
  };
  const orphans = child.pid === undefined ? null : watchOrphans(child.pid);
  const kill = (): void => {
    signalGroup(child, 'SIGKILL');
    // Here, too: a service that ends by itself kills, and gets no `exit` event any more.
    orphans?.end();
  };
  child.on('error', (error) => {
    if (child.pid === undefined) end(notStarted(codeOf(error), server), null);
  });
  child.on('exit', (code, signal) => {
    const reason = `its process ended (${signal ?? `exit code ${code}`})${code === 0 ? '' : toLostArgument(server)}`;
    kill();
    exited.resolve();
    const timer = setTimeout(() => end(reason, code), LAST_OUTPUT_MS);
    child.on('close', () => {
      clearTimeout(timer);
      end(reason, code);
    });
  });
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', events.onStdout).on('error', () => undefined);
  readNowAndThen(child.stderr, events.onStderr);
  return {
    write: (text) =>
      new Promise((resolve, reject) => {
        child.stdin.write(text, (error) => (error === null || error === undefined ? resolve() : reject(error)));
      }),
    end: async (graceMs) => {
      const isGoneWithin = (ms: number): Promise<boolean> =>
        Promise.race([exited.promise.then(() => true), afterMs(ms, false, { ref: false })]);
      child.stdin.end();
      if (!(await isGoneWithin(graceMs))) {
        signalGroup(child, 'SIGTERM');
        if (!(await isGoneWithin(graceMs))) signalGroup(child, 'SIGKILL');
      }
      await ended.promise;
    },
    kill,
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
  };
};

const NO_PROCESS: ServerProcess = {
  write: () => Promise.reject(new Error('There is no process.')),
  end: async () => undefined,
  kill: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

// A process that writes more waits meanwhile: three megabytes of a log in a second help no reader.
const STDERR_PAUSE_MS = 20;

const readNowAndThen = (stream: Readable, onChunk: (chunk: Buffer) => void): void => {
  stream.on('data', (chunk: Buffer) => {
    stream.pause();
    setTimeout(() => stream.resume(), STDERR_PAUSE_MS);
    onChunk(chunk);
  });
  stream.on('error', () => undefined);
};

const notStarted = (code: string, server: ServerCommand): string => {
  const missing = code === 'ENOENT' ? toMissing(server) : null;
  return `its process could not be started (${code})${missing === null ? '' : `: ${missing}`}`;
};

/** The same code stands for a folder, a file, a command, and for what a script names in its first line. */
const toMissing = ({ command, cwd }: ServerCommand): string | null => {
  if (!existsSync(cwd)) return `the directory '${showText(cwd)}' (cwd) does not exist`;
  if (!command.includes('/')) return `the command '${showText(command)}' was not found on PATH`;
  return existsSync(resolve(cwd, command))
    ? null
    : `the file '${showText(command)}' does not exist${toPlace(command, cwd)}`;
};

const toPlace = (path: string, cwd: string): string => (isAbsolute(path) ? '' : ` in '${showText(cwd)}' (cwd)`);

/** Which of its arguments leads nowhere from its working directory, as one clause for people; '' where none does. */
const toLostArgument = ({ args, cwd }: ServerCommand): string => {
  const lost = args.find((argument) => /^\.{1,2}\//.test(argument) && !existsSync(resolve(cwd, argument)));
  return lost === undefined ? '' : `, and '${showText(lost)}' does not exist in '${showText(cwd)}' (cwd)`;
};

const start = ({ command, args, cwd, environment }: ServerCommand): ChildProcessWithoutNullStreams | string => {
  try {
    return spawn(command, args, { cwd, env: environment, detached: true, stdio: 'pipe', windowsHide: true });
  } catch (error) {
    return codeOf(error);
  }
};

/** To the whole group, which may be gone. */
const signalGroup = ({ pid }: ChildProcessWithoutNullStreams, signal: 'SIGTERM' | 'SIGKILL'): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (_gone) {
    // The group is empty.
  }
};

type OrphanWatch = {
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
 * Without /bin/sh there is no watch. It finds `sleep` on `path`.
 */
export const watchOrphans = (group: number, path = PROGRAMS): OrphanWatch => {
  const watch = startWatch(group, path);
  // Whatever becomes of it, the server serves.
  watch?.on('error', () => undefined);
  watch?.stdin?.on('error', () => undefined);
  watch?.unref();
  // Node writes so little at once, also where the service exits right after.
  return { end: () => void watch?.stdin?.end('ended\n') };
};

const startWatch = (group: number, path: string): ChildProcess | null => {
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
