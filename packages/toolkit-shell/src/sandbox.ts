import { setImmediate } from 'node:timers/promises';
import { type BufferedOutput, type BufferedText, createBufferedOutput } from './buffered-output.ts';
import type { MemoryEnd } from './command-cgroups.ts';
import { type CommandCgroup, type CommandCgroups, ENTER_CGROUPS } from './command-cgroups.ts';
import type { ShellOptions } from './sandbox-words.ts';
import { MIB } from './sandbox-words.ts';
import { type KillSandbox, type SandboxEnd, spawnSandbox } from './spawn-sandbox.ts';
import { createWatchdog, type WatchedLimit } from './watchdog.ts';

/** What a command was killed for. */
export type KilledFor = 'time' | 'output' | WatchedLimit;

export type CommandEnd =
  | SandboxEnd
  | { readonly kind: 'killed'; readonly limit: KilledFor }
  /** By the signal of the call, or because the service ends. */
  | { readonly kind: 'aborted' };

export type CommandRun = {
  readonly end: CommandEnd;
  readonly stdout: BufferedText;
  readonly stderr: BufferedText;
  readonly durationMs: number;
};

export type RunOptions = {
  readonly signal: AbortSignal;
  /** The command is killed after these milliseconds. */
  readonly timeoutMs: number;
  /** Is told of everything that the command writes to stdout. */
  readonly onOutput?: () => void;
};

/** Runs commands, each in a sandbox of its own that is gone with everything in it before `run` resolves. */
export type Sandbox = {
  /** Whether the kernel holds the memory of a command as a whole; else it does for each process, and a watchdog for all. */
  readonly limitsMemory: boolean;
  /** Never rejects. */
  readonly run: (command: string, terms: RunOptions) => Promise<CommandRun>;
  /** Kills all that run; resolves when they are gone. */
  readonly close: () => Promise<void>;
};

export type SandboxOptions = {
  readonly limits: ShellOptions;
  /** Starts a sandbox when it gets the words and one more: the command. */
  readonly program: string;
  readonly words: readonly string[];
  readonly inputs: readonly Buffer[];
  /** Where the kernel limits processes by them: then the program starts in them. Null where it does so itself. */
  readonly cgroups: CommandCgroups | null;
};

/** More output than this, of both streams, and the command is killed: reading it costs the service its time. */
export const FLOOD_BYTES = 16 * MIB;
const KILLED_EXIT_CODE = 137;

export const createSandbox = ({ limits, program, words, inputs, cgroups }: SandboxOptions): Sandbox => {
  const { maxProcesses, memoryMb, outputBytes } = limits;
  const watchdog = createWatchdog({ maxProcesses, memoryBytes: memoryMb * MIB });
  const turns = createTurns();
  const running = new Map<symbol, { readonly abort: () => void; readonly gone: Promise<unknown> }>();

  const begin = async (command: string, stop: StopOnce, terms: RunOptions): Promise<CommandRun> => {
    // To start a program holds up the whole service: one in each turn of its loop.
    await turns.next();
    if (stop.wanted() !== null) return toNothingRun({ kind: 'aborted' });
    const cgroup = cgroups?.create();
    if (cgroup === null)
      return toNothingRun({
        kind: 'not-started',
        said: 'no control groups for its processes and memory could be created',
      });
    const streams = { stdout: createBufferedOutput(outputBytes), stderr: createBufferedOutput(outputBytes) };
    const began = performance.now();
    const ended = await spawnIn(cgroup, [...words, command], { stop, streams, ...terms });
    const durationMs = Math.round(performance.now() - began);
    const memoryEnd = cgroup?.findMemoryEnd() ?? null;
    await cgroup?.remove();
    const end = toCommandEnd(ended, stop.wanted(), memoryEnd);
    return { end, stdout: streams.stdout.toKept(), stderr: streams.stderr.toKept(), durationMs };
  };

  const spawnIn = (cgroup: CommandCgroup | undefined, all: readonly string[], run: Started): Promise<SandboxEnd> => {
    const { stop, streams, timeoutMs, onOutput } = run;
    const { promise, resolve } = Promise.withResolvers<SandboxEnd>();
    let unwatch = (): void => undefined;
    const take = createTake(streams, () => stop({ kind: 'killed', limit: 'output' }));
    const timer = setTimeout(() => stop({ kind: 'killed', limit: 'time' }), timeoutMs);
    const started = cgroup === undefined ? { program, words: all } : startInCgroups(cgroup, program, all);
    const kill = spawnSandbox(
      { ...started, inputs },
      {
        onStdout: (chunk) => {
          take(streams.stdout, chunk);
          onOutput?.();
        },
        onStderr: (chunk) => take(streams.stderr, chunk),
        onFirstProcess: (firstPid) => {
          const findMemoryEnd = (): MemoryEnd | null => cgroup?.findMemoryEnd() ?? null;
          unwatch = watchdog.watch({ firstPid, findMemoryEnd }, (limit) => stop({ kind: 'killed', limit }));
        },
        onEnd: (ended) => {
          clearTimeout(timer);
          unwatch();
          resolve(ended);
        },
      },
    );
    stop.arm(kill);
    return promise;
  };

  return {
    limitsMemory: cgroups?.limitsMemory ?? false,
    run: async (command, terms) => {
      const stop = createStopOnce();
      const abort = (): void => stop({ kind: 'aborted' });
      const id = Symbol('command');
      const { signal } = terms;
      const run = begin(command, stop, terms);
      running.set(id, { abort, gone: run });
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      return run.finally(() => {
        signal.removeEventListener('abort', abort);
        running.delete(id);
      });
    },
    close: async () => {
      const all = [...running.values()];
      for (const { abort } of all) abort();
      await Promise.all(all.map(({ gone }) => gone));
    },
  };
};

type Started = RunOptions & {
  readonly stop: StopOnce;
  readonly streams: { readonly stdout: BufferedOutput; readonly stderr: BufferedOutput };
};

/** `onFlood` is told when both streams together are longer than a command may write. */
const createTake =
  ({ stdout, stderr }: Started['streams'], onFlood: () => void) =>
  (stream: BufferedOutput, chunk: Buffer): void => {
    stream.add(chunk);
    if (stdout.totalBytes() + stderr.totalBytes() > FLOOD_BYTES) onFlood();
  };

const toNothingRun = (end: CommandEnd): CommandRun => ({
  end,
  stdout: createBufferedOutput(0).toKept(),
  stderr: createBufferedOutput(0).toKept(),
  durationMs: 0,
});

/** Gives one of those who wait its turn, in each turn of the event loop. */
const createTurns = (): { readonly next: () => Promise<void> } => {
  let last = Promise.resolve();
  return {
    next: () => {
      last = last.then(() => setImmediate());
      return last;
    },
  };
};

const startInCgroups = ({ procsFiles }: CommandCgroup, program: string, words: readonly string[]) => ({
  program: '/bin/sh',
  words: ['-c', ENTER_CGROUPS, 'sh', ...procsFiles, '--', program, ...words],
});

type Stop = { readonly kind: 'killed'; readonly limit: KilledFor } | { readonly kind: 'aborted' };

type StopOnce = ((stop: Stop) => void) & {
  readonly arm: (kill: KillSandbox) => void;
  readonly wanted: () => Stop | null;
};

const createStopOnce = (): StopOnce => {
  let wanted: Stop | null = null;
  let kill: KillSandbox | null = null;
  const stop = (reason: Stop): void => {
    wanted ??= reason;
    kill?.();
  };
  return Object.assign(stop, {
    arm: (given: KillSandbox): void => {
      kill = given;
      if (wanted !== null) kill();
    },
    wanted: () => wanted,
  });
};

// A command that ended by itself while it was to be killed has ended by itself. One of which the kernel took a process has
// not, whatever the others made of that.
const toCommandEnd = (ended: SandboxEnd, stop: Stop | null, memoryEnd: MemoryEnd | null): CommandEnd => {
  if (memoryEnd !== null) return stop ?? { kind: 'killed', limit: memoryEnd };
  if (stop === null) return ended;
  return ended.kind === 'exited' && ended.exitCode !== KILLED_EXIT_CODE ? ended : stop;
};
