import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import { showText } from '../../http/show-url.ts';
import type { InlineTool } from '../../tool.ts';
import { RetryableToolError, TerminalToolError } from '../../tool-errors.ts';
import type { ShellOptions } from '../../tool-family.ts';
import { empty } from '../../tool-values.ts';
import { answerShape } from '../answers.ts';
import { describeExit, describeKilled, type FailedCommand } from './describe-failure.ts';
import type { CommandRun, Sandbox } from './sandbox.ts';

const MAX_COMMAND_LENGTH = 16_384;
// Our own limit speaks first: it keeps what the command wrote.
const BEYOND_OWN_LIMIT_MS = 5_000;
const LONGEST_TIMER_MS = 2_147_483_647;

const RunShellCommandInput = z.object({
  command: z
    .string()
    .min(1)
    .max(MAX_COMMAND_LENGTH)
    .refine((text) => text.trim() !== '', 'must hold a command')
    .refine((text) => !text.includes('\0'), 'must not hold NUL characters')
    .describe('The command line, as a shell takes it. It starts in /workspace.')
    .meta({ examples: ['grep -rn TODO . | head -20'] }),
});

const outputShape = {
  exit_code: z.int().nullable().describe('null where a limit ended the command.'),
  stdout: z.string(),
  stderr: z.string(),
  stdout_truncated: z.literal(true).optional().describe('The middle of stdout was cut out.'),
  stderr_truncated: z.literal(true).optional().describe('The middle of stderr was cut out.'),
  duration_ms: z.int(),
};

const RunShellCommandOutput = z.object({ ...answerShape, ...outputShape });

const toDescription = (shell: string, { timeoutMs, memoryMb, maxProcesses }: ShellOptions): string =>
  `Runs a command line with ${shell} in a sandbox and returns its exit code, stdout and stderr; of long output the middle is cut out. It sees the workspace at /workspace and programs of the system, read-only; /tmp is new for each command. There is no network, no input, and nothing it starts outlives it. Limits: ${timeoutMs / 1000} s, ${memoryMb} MiB, ${maxProcesses} processes. A command that fails is answered with its exit code and the last lines of stderr.`;

export type ShellToolOptions = { readonly sandbox: Sandbox; readonly limits: ShellOptions; readonly shell: string };

/** `run_shell_command`: one command line in a sandbox of its own. */
export const createRunShellCommand = ({ sandbox, limits, shell }: ShellToolOptions): InlineTool =>
  defineTool({
    name: 'run_shell_command',
    description: toDescription(shell, limits),
    effects: 'write',
    retries: 2,
    // Commands of a batch work on the same files, in the order the model wrote them.
    sequential: true,
    timeoutMs: Math.min(limits.timeoutMs + BEYOND_OWN_LIMIT_MS, LONGEST_TIMER_MS),
    input: RunShellCommandInput,
    output: RunShellCommandOutput,
    run: async ({ command }, { signal, log }) => {
      const run = await sandbox.run(command, signal);
      const { end } = run;
      switch (end.kind) {
        case 'exited':
          if (end.exitCode === 0) return answerSuccess(run);
          throw toFailedCommand(describeExit(end.exitCode, run, limits), run, end.exitCode);
        case 'killed':
          throw toFailedCommand(describeKilled(end.limit, limits), run, null);
        case 'aborted':
          signal.throwIfAborted();
          throw new TerminalToolError('Command killed: the service is being stopped.', { executed: 'maybe' });
        case 'lost':
          throw new TerminalToolError('The sandbox of the command was killed from outside.', { executed: 'maybe' });
        case 'not-started':
          log.error('sandbox not started', { said: showText(end.said, 1000) });
          throw new TerminalToolError(`The sandbox could not be started: ${showText(end.said)}.`, {
            hint: 'The command was not run. A human must look at bubblewrap on this machine.',
            executed: 'no',
          });
      }
    },
  });

const toOutput = ({ stdout, stderr, durationMs }: CommandRun) => ({
  stdout: stdout.text,
  stderr: stderr.text,
  ...(stdout.cutBytes > 0 ? { stdout_truncated: true } : {}),
  ...(stderr.cutBytes > 0 ? { stderr_truncated: true } : {}),
  duration_ms: durationMs,
});

const answerSuccess = (run: CommandRun) => {
  const { lines } = run.stdout;
  const toValue = (display: string) => ({ display, count: lines, exit_code: 0, ...toOutput(run) });
  if (lines > 0) return toValue(`The command succeeded with ${lines} ${lines === 1 ? 'line' : 'lines'} of output.`);
  if (run.stderr.lines > 0) return toValue('The command succeeded and wrote to stderr alone.');
  const display = 'The command succeeded without output.';
  return empty(display, toValue(display));
};

const toFailedCommand = ({ message, limit }: FailedCommand, run: CommandRun, exitCode: number | null) =>
  new RetryableToolError(message, {
    value: { exit_code: exitCode, ...(limit === null ? {} : { killed_by: limit }), ...toOutput(run) },
    executed: 'yes',
  });
