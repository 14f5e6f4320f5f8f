import { availableParallelism, constants } from 'node:os';
import { showText } from '../../http/show-url.ts';
import type { ShellOptions } from '../../tool-family.ts';
import { MAX_FILE_LOCKS } from './file-locks.ts';
import type { KeptText } from './kept-output.ts';
import { type CommandRun, FLOOD_BYTES, type KilledFor } from './sandbox.ts';
import { MAX_FILE_BYTES, MIB } from './sandbox-words.ts';
import { MAX_MEMORY_FILES } from './watchdog.ts';

/** What a limit is called in a value. */
export type LimitName = 'time' | 'cpu' | 'memory' | 'processes' | 'output' | 'file_size' | 'files_in_memory';

export type FailedCommand = { readonly message: string; readonly limit: LimitName | null };

const FIRST_SIGNAL_CODE = 128;
const MAY_BE_AN_ANSWER: ReadonlySet<number> = new Set([1, 123]);
const LAST_LINES = 5;
const LINE_LENGTH = 300;
const seconds = (ms: number): string => `${ms / 1000} s`;
const mebibytes = (bytes: number): string => `${bytes / MIB} MiB`;
const DONE_STAYS = 'What it did before that is done.';

/** What a model reads of a command that one of our limits ended. */
export const describeKilled = (limit: KilledFor, limits: ShellOptions): FailedCommand => {
  switch (limit) {
    case 'time':
      return killed('time', `it ran longer than ${seconds(limits.timeoutMs)}`, 'Do less in one command.');
    case 'memory':
      return killed(
        'memory',
        `its processes used more than ${limits.memoryMb} MiB of memory`,
        'Work on less data at once; files in /tmp and /dev/shm are memory, too.',
      );
    case 'memory outside':
      return killed(
        'memory',
        'the machine, or the container of this service, had no more memory',
        'Work on less data at once, or later.',
      );
    case 'processes':
      return killed(
        'processes',
        `it had more than ${limits.maxProcesses} processes and threads at once`,
        'Start fewer at the same time.',
      );
    case 'output':
      return killed(
        'output',
        `it wrote more than ${mebibytes(FLOOD_BYTES)} of output`,
        'Write to a file, or pick lines with head, tail or grep.',
      );
    case 'files in memory':
      return killed(
        'files_in_memory',
        `it made more than ${MAX_MEMORY_FILES} files in /tmp and /dev/shm`,
        'Make them in /workspace.',
      );
    case 'file locks':
      return killed(
        'memory',
        `it held more than ${MAX_FILE_LOCKS} locks on files at once, which take memory`,
        'Lock whole files, or fewer parts of them.',
      );
  }
};

const killed = (limit: LimitName, why: string, advice: string): FailedCommand => ({
  message: `Command killed: ${why}. ${DONE_STAYS} ${advice}`,
  limit,
});

/** What a model reads of a command that ended by itself with an exit code other than 0. */
export const describeExit = (exitCode: number, run: CommandRun, limits: ShellOptions): FailedCommand => {
  const signal = nameSignal(exitCode);
  // A command may end with such a code by itself; with this one not before it can have computed for so long.
  const isCpuPossible = run.durationMs * availableParallelism() >= limits.cpuSeconds * 1000;
  if (signal === 'SIGXCPU' && isCpuPossible)
    return killed('cpu', `it used more than ${limits.cpuSeconds} s of processor time`, 'Do less in one command.');
  if (signal === 'SIGXFSZ')
    return killed('file_size', `it wrote a file of more than ${mebibytes(MAX_FILE_BYTES)}`, 'Write smaller files.');
  const code = signal === null ? `exit code ${exitCode}` : `exit code ${exitCode}, as of a process ended by ${signal}`;
  const said = lastLines(run.stderr);
  const isCpuLikely = signal === 'SIGKILL' && isCpuPossible;
  const advice = isCpuLikely
    ? `Perhaps it used more than ${limits.cpuSeconds} s of processor time.`
    : toAdvice(exitCode, said);
  const message = said === '' ? toSilentFailure(code, run.stdout) : `Command failed: ${said} (${code}).`;
  return { message: advice === null ? message : `${message} ${advice}`, limit: null };
};

// Output is no reason: what a program found before it failed would be read as what is wrong.
const toSilentFailure = (code: string, { text }: KeptText): string =>
  text.trim() === ''
    ? `Command failed without a word (${code}).`
    : `Command failed (${code}). It wrote to stdout alone.`;

const toAdvice = (exitCode: number, said: string): string | null => {
  if (said === '' && MAY_BE_AN_ANSWER.has(exitCode))
    return 'grep, diff, test and others end with 1 (under xargs 123) where nothing matches: append `|| true` where that is an answer.';
  if (exitCode === 127)
    return 'The program is not there: check the spelling, or use another. Nothing can be installed.';
  if (exitCode === 126)
    return 'The file is not a program, or may not be run: name its interpreter (sh file), or chmod +x it.';
  // The output of a command goes through sockets, which cannot be opened by name.
  if (/\/dev\/std(?:out|err): No such device or address/.test(said))
    return 'Write >&1 or >&2 in place of >/dev/stdout or >/dev/stderr.';
  return null;
};

const nameSignal = (exitCode: number): string | null =>
  Object.entries(constants.signals).find(([, number]) => number === exitCode - FIRST_SIGNAL_CODE)?.[0] ?? null;

const lastLines = ({ text }: KeptText): string =>
  text
    .trimEnd()
    .split('\n')
    .slice(-LAST_LINES)
    .map((line) => showText(line.trimEnd(), LINE_LENGTH))
    .join('\n');
