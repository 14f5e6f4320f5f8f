import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { codeOf } from '@recourse/toolkit-kit/http';
import * as z from 'zod';
import { FIRST_INPUT_FD, STATUS_FD } from './sandbox-words.ts';

// Two short lines of JSON; bwrap(1), --json-status-fd.
const MAX_STATUS_LENGTH = 4096;
const StatusLine = z.looseObject({
  'child-pid': z.int().positive().optional(),
  'exit-code': z.int().min(0).max(255).optional(),
});

/** What bubblewrap reports: the sandbox's first process, as the host sees it, and the exit code of the command. */
type BwrapStatus = { firstPid: number | null; exitCode: number | null };

/** Keeps `status` up to date; `onFirstProcess` is called once. */
const readStatus = (stream: unknown, status: BwrapStatus, onFirstProcess: (pid: number) => void): void => {
  if (!(stream instanceof Readable)) return;
  let rest = '';
  stream.on('error', () => undefined);
  stream.on('data', (chunk: Buffer) => {
    const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
    rest = (lines.pop() ?? '').slice(0, MAX_STATUS_LENGTH);
    for (const line of lines) {
      const { 'child-pid': pid, 'exit-code': exitCode } = parseLine(line);
      status.exitCode ??= exitCode ?? null;
      if (status.firstPid !== null || pid === undefined) continue;
      status.firstPid = pid;
      onFirstProcess(pid);
    }
  });
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
};

type SpawnedSandbox = {
  /** Kills the sandbox with all that runs in it; `ended` follows. */
  readonly kill: () => void;
  /** Resolves when nothing of the sandbox is left; never rejects. */
  readonly ended: Promise<SandboxEnd>;
};

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
export const spawnSandbox = ({ program, words, inputs }: SandboxCommand, events: SandboxEvents): SpawnedSandbox => {
  const child = start(program, words, inputs.length);
  if (typeof child === 'string')
    return { kill: () => undefined, ended: Promise.resolve({ kind: 'not-started', said: child }) };
  stepBehind(child.pid);
  const status: BwrapStatus = { firstPid: null, exitCode: null };
  let isUnwanted = false;
  let failure: string | null = null;
  readStatus(child.stdio[STATUS_FD], status, (pid) => {
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
  const ended = Promise.withResolvers<SandboxEnd>();
  child.once('exit', () => {
    const leave = setTimeout(() => destroyPipes(child), LAST_OUTPUT_MS);
    child.once('close', () => clearTimeout(leave));
  });
  child.once('close', () =>
    ended.resolve(decideEnd(child, status.exitCode, failure ?? Buffer.concat(said).toString())),
  );
  const kill = (): void => {
    if (isUnwanted || !isRunning(child)) return;
    isUnwanted = true;
    // Before it has said what it started it must not be killed itself: what it has begun would be left.
    if (status.firstPid !== null) endFirst(child, status.firstPid);
    killLater(child);
  };
  return { kill, ended: ended.promise };
};

/**
 * Looks a program up as a shell would, in the PATH of this service. Null where there is none; rejects with the system's error
 * where it started nothing that could have looked.
 */
export const findProgram = async (name: string): Promise<string | null> => {
  const found = await promisify(execFile)('/bin/sh', ['-c', 'command -v -- "$1"', 'sh', name]).catch(
    (thrown: { readonly code?: unknown }) => {
      // The exit code of the shell.
      if (typeof thrown.code === 'number') return null;
      throw thrown;
    },
  );
  const path = found?.stdout.trim() ?? '';
  return path.startsWith('/') ? path : null;
};

const start = (program: string, words: readonly string[], inputs: number): ChildProcess | string => {
  try {
    const pipes = Array.from({ length: inputs + 1 }, () => 'pipe' as const);
    return spawn(program, words, { cwd: '/', env: {}, detached: true, stdio: ['ignore', 'pipe', 'pipe', ...pipes] });
  } catch (error) {
    return codeOf(error);
  }
};

const decideEnd = (child: ChildProcess, exitCode: number | null, said: string): SandboxEnd => {
  if (exitCode !== null) return { kind: 'exited', exitCode };
  if (child.signalCode !== null) return { kind: 'lost' };
  return { kind: 'not-started', said: said.trim() === '' ? `it ended with exit code ${child.exitCode}` : said.trim() };
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
