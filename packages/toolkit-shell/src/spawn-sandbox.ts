import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { codeOf } from '@recourse/toolkit-kit/http';
import * as z from 'zod';
import { FIRST_INPUT_FD, STATUS_FD } from './sandbox-words.ts';

type BwrapStatus = {
  /** Of the command; null until it has ended, and for ever where it never began. */
  readonly exitCode: () => number | null;
  readonly firstPid: () => number | null;
};

// Two short lines of JSON; bwrap(1), --json-status-fd.
const MAX_STATUS_LENGTH = 4096;
const StatusLine = z.looseObject({
  'child-pid': z.int().positive().optional(),
  'exit-code': z.int().min(0).max(255).optional(),
});

/** Reads it to its end. `onFirstProcess` gets the id of the sandbox's first process as the host sees it, once. */
const readStatus = (stream: Readable | null, onFirstProcess: (pid: number) => void): BwrapStatus => {
  let rest = '';
  let exitCode: number | null = null;
  let firstPid: number | null = null;
  const take = (line: string): void => {
    const status = parseLine(line);
    exitCode ??= status['exit-code'] ?? null;
    if (firstPid !== null || status['child-pid'] === undefined) return;
    firstPid = status['child-pid'];
    onFirstProcess(firstPid);
  };
  stream?.on('error', () => undefined);
  stream?.on('data', (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_STATUS_LENGTH);
    for (const line of lines) take(line);
  });
  return { exitCode: () => exitCode, firstPid: () => firstPid };
};

const parseLine = (line: string): z.infer<typeof StatusLine> => {
  try {
    return StatusLine.safeParse(JSON.parse(line)).data ?? {};
  } catch (_noJson) {
    return {};
  }
};

/** A program and what it reads: `inputs` arrive at its file descriptors 4, 5, …. */
type SandboxCommand = {
  readonly program: string;
  readonly words: readonly string[];
  readonly inputs: readonly Buffer[];
};

export type SandboxEnd =
  | { readonly kind: 'exited'; readonly exitCode: number }
  /** The command never began; `said` is what bubblewrap, or the system, says. */
  | { readonly kind: 'not-started'; readonly said: string }
  /** Bubblewrap was killed by somebody else: how far the command came is not known. */
  | { readonly kind: 'lost' };

type SandboxEvents = {
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
  /** The sandbox is there; the id, on the host, of the first process in it. */
  readonly onFirstProcess: (pid: number) => void;
  /** Once, when nothing of the sandbox is left. */
  readonly onEnd: (end: SandboxEnd) => void;
};

/** `unknown`: the system started nothing that could have looked; `said` is its error. */
export type FoundProgram =
  | { readonly kind: 'found'; readonly path: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unknown'; readonly said: string };

/** Kills the sandbox with all that runs in it; `onEnd` follows. */
export type KillSandbox = () => void;

// The kernel ends a sandbox at once; where it does not, bubblewrap itself is killed, then its pipes are left.
const KILL_AGAIN_MS = 2_000;
const LAST_OUTPUT_MS = 1_000;
// The service must answer while commands compute, and outlive them where memory is short.
const NICER = 10;
const FOREMOST = -20;
const OOM_SCORE = '800';

/**
 * Starts bubblewrap with nothing of this service: an empty environment, /dev/null as stdin, no file descriptor but its
 * own, a process group of its own (a Ctrl-C in a terminal must not end commands of calls that are being drained).
 */
export const spawnSandbox = ({ program, words, inputs }: SandboxCommand, events: SandboxEvents): KillSandbox => {
  const child = start(program, words, inputs.length);
  if (typeof child === 'string') {
    queueMicrotask(() => events.onEnd({ kind: 'not-started', said: child }));
    return () => undefined;
  }
  stepBehind(child.pid);
  let isUnwanted = false;
  let failure: string | null = null;
  const status = readStatus(readable(child, STATUS_FD), (pid) => {
    stepBehind(pid);
    if (isUnwanted) endFirst(child, pid);
    else events.onFirstProcess(pid);
  });
  child.on('error', (error) => {
    failure = codeOf(error);
  });
  writeInputs(child, inputs);
  const said: Buffer[] = [];
  child.stdout?.on('data', events.onStdout);
  child.stderr?.on('data', (chunk: Buffer) => {
    // It speaks before the command does: its first words are enough.
    if (said.length < 8) said.push(chunk.subarray(0, 2048));
    events.onStderr(chunk);
  });
  child.once('exit', () => {
    const leave = setTimeout(() => destroyPipes(child), LAST_OUTPUT_MS);
    child.once('close', () => clearTimeout(leave));
  });
  child.once('close', () => events.onEnd(toEnd(child, status.exitCode(), failure ?? Buffer.concat(said).toString())));
  return () => {
    if (isUnwanted || !isRunning(child)) return;
    isUnwanted = true;
    const firstPid = status.firstPid();
    // Before it has said what it started it must not be killed itself: what it has begun would be left.
    if (firstPid !== null) endFirst(child, firstPid);
    killLater(child);
  };
};

/** Looks a program up as a shell would, in the PATH of this service. Never rejects. */
export const findProgram = (name: string): Promise<FoundProgram> => {
  const { promise, resolve } = Promise.withResolvers<FoundProgram>();
  const found: Buffer[] = [];
  const words = ['-c', 'command -v -- "$1"', 'sh', name];
  const child: ChildProcess = spawn('/bin/sh', words, { stdio: ['ignore', 'pipe', 'ignore'] });
  // Without file descriptors there is no stdout.
  child.stdout?.on('data', (chunk: Buffer) => void found.push(chunk));
  child.on('error', (error) => resolve({ kind: 'unknown', said: codeOf(error) }));
  child.once('close', (code, signal) => {
    const path = Buffer.concat(found).toString().trim();
    if (signal !== null) resolve({ kind: 'unknown', said: signal });
    else resolve(code === 0 && path.startsWith('/') ? { kind: 'found', path } : { kind: 'missing' });
  });
  return promise;
};

const start = (program: string, words: readonly string[], inputs: number): ChildProcess | string => {
  try {
    const pipes = Array.from({ length: inputs + 1 }, () => 'pipe' as const);
    return spawn(program, words, { cwd: '/', env: {}, detached: true, stdio: ['ignore', 'pipe', 'pipe', ...pipes] });
  } catch (error) {
    return codeOf(error);
  }
};

const toEnd = (child: ChildProcess, exitCode: number | null, said: string): SandboxEnd => {
  if (exitCode !== null) return { kind: 'exited', exitCode };
  if (child.signalCode !== null) return { kind: 'lost' };
  return { kind: 'not-started', said: said.trim() === '' ? `it ended with exit code ${child.exitCode}` : said.trim() };
};

const readable = (child: ChildProcess, fd: number): Readable | null => {
  const stream = child.stdio[fd];
  return stream instanceof Readable ? stream : null;
};

const writeInputs = (child: ChildProcess, inputs: readonly Buffer[]): void => {
  for (const [place, input] of inputs.entries()) {
    const stream = child.stdio[FIRST_INPUT_FD + place];
    if (!(stream instanceof Writable)) continue;
    // It may end, or never start, before it has read them.
    stream.on('error', () => undefined);
    stream.end(input);
  }
};

const destroyPipes = (child: ChildProcess): void => {
  for (const stream of child.stdio) stream?.destroy();
};

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null;

/** With the first process of a namespace the kernel kills all others, and bubblewrap ends when they are gone. */
const endFirst = (child: ChildProcess, firstPid: number): void => {
  // Only while bubblewrap runs is this number its child's.
  if (!isRunning(child)) return;
  // It has to run once more to end the others: among the thousands of a fork bomb that would take its time.
  attempt(() => setPriority(firstPid, FOREMOST));
  attempt(() => process.kill(firstPid, 'SIGKILL'));
};

const killLater = (child: ChildProcess): void => {
  const { pid } = child;
  const again = setTimeout(() => {
    if (pid !== undefined) attempt(() => process.kill(-pid, 'SIGKILL'));
  }, KILL_AGAIN_MS);
  child.once('exit', () => clearTimeout(again));
};

const stepBehind = (pid: number | undefined): void => {
  if (pid === undefined) return;
  attempt(() => setPriority(pid, NICER));
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE));
};

const attempt = (step: () => unknown): void => {
  try {
    step();
  } catch (_refused) {
    // It has just ended, or the system does not let us: neither is a reason not to run the command.
  }
};
