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
  /** What it writes is left where it is until this resolves: the server waits. */
  readonly onStdout: (chunk: Buffer) => Promise<void>;
  readonly onStderr: (chunk: Buffer) => Promise<void>;
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
};

// A process that left the group may hold the output of the server open: it is not read longer than this.
const LAST_OUTPUT_MS = 500;

/**
 * Starts a server as the leader of a process group of its own: a Ctrl-C in a terminal must not end calls that are being
 * drained, and what it started itself (npx starts node) ends with it; also where the service is killed and ends nothing.
 */
export const spawnServer = (server: ServerCommand, events: ServerEvents): ServerProcess => {
  const child = start(server);
  if (typeof child === 'string') {
    queueMicrotask(() => events.onEnd(explainNoStart(child, server), null));
    return NO_PROCESS;
  }
  const exited = Promise.withResolvers<void>();
  const orphans = child.pid === undefined ? null : watchOrphans(child.pid);
  const kill = (): void => {
    signalGroup(child, 'SIGKILL');
    // Here, too: a service that ends by itself kills, and gets no `exit` event any more.
    orphans?.end();
  };
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string, exitCode: number | null): void => {
      exited.resolve();
      events.onEnd(reason, exitCode);
      resolve();
    };
    child.on('error', (error) => {
      if (child.pid === undefined) end(explainNoStart(codeOf(error), server), null);
    });
    child.on('exit', async (code, signal) => {
      const lost = code === 0 ? '' : explainLostArgument(server);
      kill();
      exited.resolve();
      await Promise.race([output, afterMs(LAST_OUTPUT_MS, undefined, { ref: false })]);
      end(`its process ended (${signal ?? `exit code ${code}`})${lost}`, code);
    });
  });
  const output = Promise.all([readAll(child.stdout, events.onStdout), readAll(child.stderr, events.onStderr)]);
  child.stdin.on('error', () => undefined);
  return {
    write: (text) =>
      new Promise((resolve, reject) => {
        child.stdin.write(text, (error) => (error === null || error === undefined ? resolve() : reject(error)));
      }),
    end: async (graceMs) => {
      child.stdin.end();
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        const limit = afterMs(graceMs, 'over', { ref: false });
        if ((await Promise.race([exited.promise, limit])) === 'over') signalGroup(child, signal);
      }
      await ended;
    },
    kill,
  };
};

const NO_PROCESS: ServerProcess = {
  write: () => Promise.reject(new Error('There is no process.')),
  end: async () => undefined,
  kill: () => undefined,
};

const readAll = async (stream: Readable, onChunk: (chunk: Buffer) => Promise<void>): Promise<void> => {
  try {
    for await (const chunk of stream) await onChunk(chunk);
  } catch (_broken) {
    // The exit of the process says why.
  }
};

/** The same code stands for a folder, a file, a command, and for what a script names in its first line. */
const explainNoStart = (code: string, { command, cwd }: ServerCommand): string => {
  const reason = `its process could not be started (${code})`;
  if (code !== 'ENOENT') return reason;
  if (!existsSync(cwd)) return `${reason}: the directory '${showText(cwd)}' (cwd) does not exist`;
  if (!command.includes('/')) return `${reason}: the command '${showText(command)}' was not found on PATH`;
  if (existsSync(resolve(cwd, command))) return reason;
  const place = isAbsolute(command) ? '' : ` in '${showText(cwd)}' (cwd)`;
  return `${reason}: the file '${showText(command)}' does not exist${place}`;
};

/** Which of its arguments leads nowhere from its working directory, as one clause for people; '' where none does. */
const explainLostArgument = ({ args, cwd }: ServerCommand): string => {
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

// The parent of the service may have left it files open that every child inherits. sh (dash) cannot name those above
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
 * Without /bin/sh there is no watch. It finds `sleep` on `path`. `end`: the group has ended, or ends now: nothing is left to
 * do, and its number may soon be another's.
 */
export const watchOrphans = (group: number, path = PROGRAMS): { readonly end: () => void } => {
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
