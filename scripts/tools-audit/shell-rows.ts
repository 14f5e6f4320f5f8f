import { type AuditRow, rowsOf } from './audit-row.ts';

/** Commands in a sandbox. The limits are those of the settings. */
export const SHELL_ROWS: readonly AuditRow[] = rowsOf('run_shell_command', [
  ['list is empty', 'the command writes nothing', 'The command succeeded without output.'],
  [
    'set-up missing',
    'no sandbox works on this machine',
    'Unknown tool: run_shell_command. Available tools: ….',
    'unknown_tool',
  ],
  [
    'command failed',
    'the command ends with an exit code',
    'Command failed: cat: minutes.md: No such file or directory (exit code 1).',
  ],
  ['command failed', 'it fails without a word', 'Command failed without a word (exit code 3).'],
  [
    'command failed',
    'there is no such program',
    'Command failed: …: command not found (exit code 127). The program is not there: check the spelling, or use another. Nothing can be installed.',
  ],
  [
    'command failed',
    'SHELL_TIMEOUT_MS passes',
    'Command killed: it ran longer than 1 s. What it did before that is done. Do less in one command.',
  ],
  [
    'command failed',
    'it writes and writes',
    'Command killed: it wrote more than 16 MiB of output. What it did before that is done. Write to a file, or pick lines with head, tail or grep.',
  ],
  ['malformed parameter', '`command` is blank', 'must hold a command', 'invalid_arguments'],
]);
