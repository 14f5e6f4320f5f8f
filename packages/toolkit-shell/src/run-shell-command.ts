import { readShortage, showText } from '@recourse/toolkit-kit/http';
import { toWorkMs } from '@recourse/toolkit-kit/page-answers';
import { defineTool, empty, RetryableToolError, TerminalToolError } from 'recourse-server';
import type { InlineTool } from 'recourse-server/extension';
import * as z from 'zod';
import { describeExit, describeKilled, type FailedCommand, findNegativeAnswer } from './describe-failure.ts';
import type { CommandRun, Sandbox } from './sandbox.ts';
import type { ShellOptions } from './sandbox-words.ts';

const MAX_COMMAND_LENGTH = 16_384;
const CONCURRENCY = 16;
// Our own limit speaks first: it keeps what the command wrote.
const BEYOND_OWN_LIMIT_MS = 5_000;
const LONGEST_TIMER_MS = 2_147_483_647;
const HOLDS_NOTHING = 'must contain a command';

const RunShellCommandInput = z.object({
  command: z
    .string()
    .min(1, { error: HOLDS_NOTHING, abort: true })
    .max(MAX_COMMAND_LENGTH)
    .refine((text) => text.trim() !== '', HOLDS_NOTHING)
    .refine((text) => !text.includes('\0'), 'must not contain NUL characters')
    .describe('The shell command line. It starts in /workspace.')
    .meta({ examples: ['grep -rn TODO . | head -20'] }),
});

const RunShellCommandOutput = z.object({
  display: z.string().describe('The result of the command, in one sentence.'),
  count: z.int().min(0).describe('Number of lines of stdout, including lines that were cut.'),
  exit_code: z.int().nullable().describe('null if a limit ended the command.'),
  stdout: z.string(),
  stderr: z.string(),
  stdout_truncated: z.literal(true).optional().describe('True if the middle of stdout was cut.'),
  stderr_truncated: z.literal(true).optional().describe('True if the middle of stderr was cut.'),
  duration_ms: z.int(),
});

// A model would try them one after another: they abort with traces of their own insides.
const WITHOUT_EPOLL = ' Programs that need epoll (Node.js, npm, Go) do not run.';

const describeTool = (shell: string, { timeoutMs, memoryMb, maxProcesses, epoll }: ShellOptions): string =>
  `Runs a command line with ${shell} in a sandbox and returns its exit code, stdout and stderr; long output is cut in the middle. The workspace is at /workspace, system programs are read-only; /tmp is new for each command. There is no network and no input, and no process outlives the command.${epoll === 'refused' ? WITHOUT_EPOLL : ''} Limits: ${timeoutMs / 1000} s, ${memoryMb} MiB, ${maxProcesses} processes. A search without matches is not a failure: grep, rg, pgrep, which, diff, cmp and test (or a pipeline that ends with one of them) may exit with code 1. Any other failure returns the exit code and the last lines of stderr.`;

export type ShellToolOptions = { readonly sandbox: Sandbox; readonly limits: ShellOptions; readonly shell: string };

/** `run_shell_command`: one command line in a sandbox of its own. */
export const createRunShellCommand = ({ sandbox, limits, shell }: ShellToolOptions): InlineTool =>
  defineTool({
    name: 'run_shell_command',
    description: describeTool(shell, limits),
    effects: 'write',
    retries: 2,
    // Commands of a batch work on the same files, in the order the model wrote them.
    sequential: true,
    // To start one more takes the service some 20 ms in which it answers nobody.
    concurrency: CONCURRENCY,
    timeoutMs: Math.min(limits.timeoutMs + BEYOND_OWN_LIMIT_MS, LONGEST_TIMER_MS),
    input: RunShellCommandInput,
    output: RunShellCommandOutput,
    run: async ({ command }, { signal, log, timeoutMs: callMs }) => {
      const timeoutMs = Math.min(limits.timeoutMs, toWorkMs(callMs));
      const run = await sandbox.run(command, { signal, timeoutMs });
      const { end } = run;
      switch (end.kind) {
        case 'exited':
          return answerExit(command, end.exitCode, run, limits);
        case 'killed':
          throw createFailedCommand(describeKilled(end.limit, { ...limits, timeoutMs }), run, null);
        case 'aborted':
          signal.throwIfAborted();
          throw new TerminalToolError('Command killed: the service is being stopped.', { executed: 'maybe' });
        case 'lost':
          throw new TerminalToolError('The sandbox of the command was killed from outside.', { executed: 'maybe' });
        case 'not-started':
          log.error('sandbox not started', { said: showText(end.said, 1000) });
          throw new TerminalToolError(`The sandbox could not be started: ${showText(end.said)}.`, {
            hint: 'The command was not run. A human must fix the named cause on this machine: bubblewrap, or control groups.',
            executed: 'no',
            cause: readShortage(end.said),
          });
      }
    },
  });

const answerExit = (command: string, exitCode: number, run: CommandRun, limits: ShellOptions) => {
  if (exitCode === 0) return answerSuccess(run);
  const negative = exitCode === 1 && run.stderr.text.trim() === '' ? findNegativeAnswer(command) : null;
  if (negative === null) throw createFailedCommand(describeExit(exitCode, run, limits), run, exitCode);
  return answerNegative(negative, run);
};

const toOutput = ({ stdout, stderr, durationMs }: CommandRun) => ({
  stdout: stdout.text,
  stderr: stderr.text,
  ...(stdout.cutBytes > 0 ? { stdout_truncated: true as const } : {}),
  ...(stderr.cutBytes > 0 ? { stderr_truncated: true as const } : {}),
  duration_ms: durationMs,
});

const answerSuccess = (run: CommandRun) => {
  const { lines } = run.stdout;
  if (lines > 0) return createValue(`The command succeeded with ${showLines(lines)} of output.`, 0, run);
  if (run.stderr.lines > 0) return createValue('The command succeeded and wrote only to stderr.', 0, run);
  const display = 'The command succeeded without output.';
  return empty(display, createValue(display, 0, run));
};

/** As of `grep -c`, which writes 0, and of `diff`, which writes what differs. */
const answerNegative = (negative: string, run: CommandRun) => {
  const { lines } = run.stdout;
  if (lines > 0) return createValue(`${negative} (exit code 1), with ${showLines(lines)} of output.`, 1, run);
  const display = `${negative} (exit code 1).`;
  return empty(display, createValue(display, 1, run));
};

const createValue = (display: string, exitCode: number, run: CommandRun) => ({
  display,
  count: run.stdout.lines,
  exit_code: exitCode,
  ...toOutput(run),
});

const showLines = (lines: number): string => (lines === 1 ? '1 line' : `${lines} lines`);

const createFailedCommand = ({ message, limit }: FailedCommand, run: CommandRun, exitCode: number | null) =>
  new RetryableToolError(message, {
    value: { exit_code: exitCode, ...(limit === null ? {} : { killed_by: limit }), ...toOutput(run) },
    executed: 'yes',
  });
