import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { codeOf } from '../http/error-code.ts';
import { showText } from '../http/show-url.ts';
import { watchOrphans } from './orphan-watch.ts';

export type ServerCommand = {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  /** All that it gets. */
  readonly environment: Readonly<Record<string, string>>;
};

export type ServerEvents = {
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
  if (child === null || typeof child === 'string') {
    queueMicrotask(() => events.onEnd(notStarted(child ?? 'UNKNOWN', server), null));
    return {
      write: () => Promise.reject(new Error('There is no process.')),
      end: async () => undefined,
      kill: () => undefined,
      pause: () => undefined,
      resume: () => undefined,
    };
  }
  const ended = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  const toldEnd = once((reason, exitCode) => {
    exited.resolve();
    ended.resolve();
    events.onEnd(reason, exitCode);
  });
  const orphans = child.pid === undefined ? null : watchOrphans(child.pid);
  const kill = (): void => {
    signalGroup(child, 'SIGKILL');
    // Here, too: a service that ends by itself kills, and hears no more of any `exit`.
    orphans?.end();
  };
  child.on('error', (error) => {
    if (child.pid === undefined) toldEnd(notStarted(codeOf(error), server), null);
  });
  child.on('exit', (code, signal) => {
    const reason = `its process ended (${signal ?? `exit code ${code}`})`;
    kill();
    exited.resolve();
    const timer = setTimeout(() => toldEnd(reason, code), LAST_OUTPUT_MS);
    child.on('close', () => {
      clearTimeout(timer);
      toldEnd(reason, code);
    });
  });
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', events.onStdout).on('error', () => undefined);
  readNowAndThen(child.stderr, events.onStderr);
  return {
    write: (text) => write(child, text),
    end: (graceMs) => end(child, { graceMs, exited: exited.promise, ended: ended.promise }),
    kill,
    pause: () => void child.stdout.pause(),
    resume: () => void child.stdout.resume(),
  };
};

// Whoever writes more waits meanwhile: nobody reads three megabytes of a log in a second.
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
  if (cwd !== undefined && !existsSync(cwd)) return `there is no folder '${showText(cwd)}' (cwd)`;
  if (!command.includes('/')) return `the command '${showText(command)}' was not found on PATH`;
  return command.startsWith('/') && !existsSync(command) ? `there is no file '${showText(command)}'` : null;
};

const start = ({ command, args, cwd, environment }: ServerCommand): ChildProcessWithoutNullStreams | string => {
  try {
    return spawn(command, args, { cwd, env: environment, detached: true, stdio: 'pipe', windowsHide: true });
  } catch (error) {
    return codeOf(error);
  }
};

const once = (told: ServerEvents['onEnd']): ServerEvents['onEnd'] => {
  let isTold = false;
  return (reason, exitCode) => {
    if (isTold) return;
    isTold = true;
    told(reason, exitCode);
  };
};

const write = ({ stdin }: ChildProcessWithoutNullStreams, text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    stdin.write(text, (error) => (error === null || error === undefined ? resolve() : reject(error)));
  });

type Ending = { readonly graceMs: number; readonly exited: Promise<void>; readonly ended: Promise<void> };

const end = async (child: ChildProcessWithoutNullStreams, { graceMs, exited, ended }: Ending): Promise<void> => {
  const gone = exited.then(() => 'gone' as const);
  child.stdin.end();
  const afterEnd = await Promise.race([gone, pause(graceMs)]);
  if (afterEnd !== 'gone') {
    signalGroup(child, 'SIGTERM');
    const afterTerm = await Promise.race([gone, pause(graceMs)]);
    if (afterTerm !== 'gone') signalGroup(child, 'SIGKILL');
  }
  await ended;
};

const pause = (ms: number): Promise<'late'> =>
  new Promise((resolve) => {
    setTimeout(() => resolve('late'), ms).unref();
  });

/** To the whole group, which may be gone. */
const signalGroup = ({ pid }: ChildProcessWithoutNullStreams, signal: 'SIGTERM' | 'SIGKILL'): void => {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (_gone) {
    // Nobody is left in it.
  }
};
