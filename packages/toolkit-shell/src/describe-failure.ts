import { availableParallelism, constants } from 'node:os';
import { showText } from '@recourse/toolkit-kit/http';
import type { BufferedText } from './buffered-output.ts';
import { type CommandRun, FLOOD_BYTES, type KilledFor } from './sandbox.ts';
import { MAX_FILE_BYTES, MIB, type ShellOptions } from './sandbox-words.ts';
import { MAX_FILE_LOCKS, MAX_MEMORY_FILES } from './watchdog.ts';

/** Programs that say "no" with exit code 1 and "I could not" with another, and what their 1 means. */
const NEGATIVE_ANSWERS: readonly (readonly [program: RegExp, answer: string])[] = [
  [/^(?:e|f|z)?grep\s/, 'Nothing matched'],
  [/^(?:rg|pgrep)\s/, 'Nothing matched'],
  [/^(?:which|command\s+-v)\s/, 'Not every program was found'],
  [/^(?:diff|cmp)\s/, 'They differ'],
  [/^(?:test|\[|\[\[)\s/, 'The test is false'],
];

// One word for whatever a shell takes as it stands. Nothing in double quotes that would be run.
const QUOTED = /\\.|'[^']*'|"(?:[^"\\`$]|\\.|\$(?![({]))*"/gs;
const STREAM_COPIES = /\d?>&\d/g;
// It says on stderr why it fails.
const CHANGES_DIRECTORY = /^cd\s+[^\s;&|<>]+\s*&&/;
// More than one command after another, or something that is not understood here: what it was that ended with 1 is not known.
const NOT_PLAIN = /[;&()`$'"\n\\]|\|\s*\||(?:^|\s)#/;

/**
 * What it means that a command ended with exit code 1 and an empty stderr: the answer of its last program, in a few
 * words; null where it is a failure, and for every command that is more than one pipeline of plain words.
 */
export const findNegativeAnswer = (command: string): string | null => {
  const words = command.trim().replace(QUOTED, '_').replace(STREAM_COPIES, '').replace(CHANGES_DIRECTORY, '');
  if (NOT_PLAIN.test(words)) return null;
  const last = words.split('|').at(-1)?.trim() ?? '';
  return NEGATIVE_ANSWERS.find(([program]) => program.test(`${last} `))?.[1] ?? null;
};

type LimitName = 'time' | 'cpu' | 'memory' | 'processes' | 'output' | 'file_size' | 'files_in_memory';

export type FailedCommand = { readonly message: string; readonly limit: LimitName | null };

const FIRST_SIGNAL_CODE = 128;
const MAY_BE_AN_ANSWER: ReadonlySet<number> = new Set([1, 123]);
const LAST_LINES = 5;
const LINE_LENGTH = 300;
const seconds = (ms: number): string => `${ms / 1000} s`;
const mebibytes = (bytes: number): string => `${bytes / MIB} MiB`;
const DONE_STAYS = 'What it did before that remains done.';

/** What a model reads of a command that one of our limits ended. */
export const describeKilled = (limit: KilledFor, limits: ShellOptions): FailedCommand => {
  switch (limit) {
    case 'time':
      return killed('time', `it ran longer than ${seconds(limits.timeoutMs)}`, 'Do less in one command.');
    case 'memory':
      return killed(
        'memory',
        `its processes used more than ${limits.memoryMb} MiB of memory`,
        'Work on less data at once; files in /tmp and /dev/shm count as memory.',
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
        'Write to a file, or select lines with head, tail or grep.',
      );
    case 'files in memory':
      return killed(
        'files_in_memory',
        `it created more than ${MAX_MEMORY_FILES} files in /tmp and /dev/shm`,
        'Create them in /workspace.',
      );
    case 'file locks':
      return killed(
        'memory',
        `it held more than ${MAX_FILE_LOCKS} file locks at once, which use memory`,
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
  const code = signal === null ? `exit code ${exitCode}` : `exit code ${exitCode}, as of a process killed by ${signal}`;
  const said = lastLines(run.stderr);
  const isCpuLikely = signal === 'SIGKILL' && isCpuPossible;
  const advice = isCpuLikely
    ? `It may have used more than ${limits.cpuSeconds} s of processor time.`
    : findAdvice(exitCode, said);
  const message = said === '' ? describeSilentFailure(code, run.stdout) : `Command failed: ${said} (${code}).`;
  return { message: advice === null ? message : `${message} ${advice}`, limit: null };
};

// Output is no reason: what a program found before it failed would be read as what is wrong.
const describeSilentFailure = (code: string, { text }: BufferedText): string =>
  text.trim() === ''
    ? `Command failed without output (${code}).`
    : `Command failed (${code}). It wrote only to stdout.`;

const findAdvice = (exitCode: number, said: string): string | null => {
  if (said === '' && MAY_BE_AN_ANSWER.has(exitCode))
    return 'grep, diff, test and others exit with 1 (under xargs 123) if nothing matches: append `|| true` if that is an expected result.';
  if (exitCode === 127)
    return 'The program is not installed: check the spelling, or use another. Nothing can be installed.';
  if (exitCode === 126) return 'The file is not executable: name its interpreter (sh file), or run chmod +x on it.';
  // The output of a command goes through sockets, which cannot be opened by name.
  if (/\/dev\/std(?:out|err): No such device or address/.test(said))
    return 'Write >&1 or >&2 instead of >/dev/stdout or >/dev/stderr.';
  return null;
};

const nameSignal = (exitCode: number): string | null =>
  Object.entries(constants.signals).find(([, number]) => number === exitCode - FIRST_SIGNAL_CODE)?.[0] ?? null;

const lastLines = ({ text }: BufferedText): string =>
  text
    .trimEnd()
    .split('\n')
    .slice(-LAST_LINES)
    .map((line) => showText(line.trimEnd(), LINE_LENGTH))
    .join('\n');
