import { setImmediate } from 'node:timers/promises';
import { type BufferedOutput, type BufferedText, createBufferedOutput } from './buffered-output.ts';
import { type CommandCgroup, type CommandCgroups, ENTER_CGROUP, type MemoryEnd } from './command-cgroups.ts';
import { MIB, type ShellOptions } from './sandbox-words.ts';
import { type SandboxEnd, spawnSandbox } from './spawn-sandbox.ts';
import { createWatchdog, type WatchedLimit } from './watchdog.ts';

/** What a command was killed for. */
export type KilledFor = 'time' | 'output' | WatchedLimit;

/** Why the service ends a command; `aborted`: by the signal of the call, or because the service ends. */
type Stop = { readonly kind: 'killed'; readonly limit: KilledFor } | { readonly kind: 'aborted' };

export type CommandEnd = SandboxEnd | Stop;

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
  readonly run: (command: string, options: RunOptions) => Promise<CommandRun>;
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

export const createSandbox = (sandbox: SandboxOptions): Sandbox => {
  const { maxProcesses, memoryMb } = sandbox.limits;
  const watchdog = createWatchdog({ maxProcesses, memoryBytes: memoryMb * MIB });
  /** The end of each command that runs, by what stops it: its abort reason is a Stop, and the first one counts. */
  const running = new Map<AbortController, Promise<CommandRun>>();
  let lastStart = Promise.resolve();

  const start = async (command: string, stop: AbortController, options: RunOptions): Promise<CommandRun> => {
    // To start a program holds up the whole service: one in each iteration of its event loop.
    lastStart = lastStart.then(() => setImmediate());
    await lastStart;
    if (stop.signal.aborted) return createEmptyRun({ kind: 'aborted' });
    const cgroup = sandbox.cgroups?.create();
    if (cgroup !== null) return runInSandbox(sandbox, { ...options, command, stop, cgroup, watchdog });
    const said = 'no control groups for its processes and memory could be created';
    return createEmptyRun({ kind: 'not-started', said });
  };

  return {
    limitsMemory: sandbox.cgroups?.limitsMemory ?? false,
    run: async (command, options) => {
      const { signal } = options;
      const stop = new AbortController();
      const abort = (): void => stop.abort({ kind: 'aborted' } satisfies Stop);
      signal.addEventListener('abort', abort, { once: true });
      if (signal.aborted) abort();
      const run = start(command, stop, options);
      running.set(stop, run);
      return run.finally(() => {
        signal.removeEventListener('abort', abort);
        running.delete(stop);
      });
    },
    close: async () => {
      const ends = [...running.values()];
      for (const stop of running.keys()) stop.abort({ kind: 'aborted' } satisfies Stop);
      await Promise.all(ends);
    },
  };
};

type StartedRun = RunOptions & {
  readonly command: string;
  readonly stop: AbortController;
  readonly cgroup: CommandCgroup | undefined;
  readonly watchdog: ReturnType<typeof createWatchdog>;
};

const runInSandbox = async (
  { limits, program, words, inputs }: SandboxOptions,
  { command, stop, cgroup, watchdog, timeoutMs, onOutput }: StartedRun,
): Promise<CommandRun> => {
  const stdout = createBufferedOutput(limits.outputBytes);
  const stderr = createBufferedOutput(limits.outputBytes);
  const findMemoryEnd = (): MemoryEnd | null => cgroup?.findMemoryEnd() ?? null;
  const kill = (limit: KilledFor): void => stop.abort({ kind: 'killed', limit } satisfies Stop);
  const take = (stream: BufferedOutput, chunk: Buffer): void => {
    stream.add(chunk);
    if (stdout.totalBytes() + stderr.totalBytes() > FLOOD_BYTES) kill('output');
  };
  const began = performance.now();
  const timer = setTimeout(kill, timeoutMs, 'time');
  let unwatch = (): void => undefined;
  const started = spawnSandbox(
    { ...enterGroup(cgroup, program, [...words, command]), inputs },
    {
      onStdout: (chunk) => {
        take(stdout, chunk);
        onOutput?.();
      },
      onStderr: (chunk) => take(stderr, chunk),
      onFirstProcess: (firstPid) => {
        unwatch = watchdog.watch({ firstPid, findMemoryEnd }, kill);
      },
    },
  );
  stop.signal.addEventListener('abort', started.kill, { once: true });
  const ended = await started.ended;
  clearTimeout(timer);
  unwatch();
  const durationMs = Math.round(performance.now() - began);
  const end = decideEnd(ended, stop.signal, findMemoryEnd());
  await cgroup?.remove();
  return { end, stdout: stdout.toKept(), stderr: stderr.toKept(), durationMs };
};

const createEmptyRun = (end: CommandEnd): CommandRun => {
  const nothing = createBufferedOutput(0).toKept();
  return { end, stdout: nothing, stderr: nothing, durationMs: 0 };
};

const enterGroup = (cgroup: CommandCgroup | undefined, program: string, words: readonly string[]) =>
  cgroup === undefined
    ? { program, words }
    : { program: '/bin/sh', words: ['-c', ENTER_CGROUP, 'sh', cgroup.procsFile, program, ...words] };

// A command that ended by itself while it was to be killed has ended by itself. One of which the kernel took a process has
// not, whatever the others made of that.
const decideEnd = (ended: SandboxEnd, { aborted, reason }: AbortSignal, memoryEnd: MemoryEnd | null): CommandEnd => {
  const stop: Stop | null = aborted ? reason : null;
  if (memoryEnd !== null) return stop ?? { kind: 'killed', limit: memoryEnd };
  if (stop === null) return ended;
  return ended.kind === 'exited' && ended.exitCode !== KILLED_EXIT_CODE ? ended : stop;
};
