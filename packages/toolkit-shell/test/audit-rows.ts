import { FLOOD_BYTES } from '#src/sandbox.ts';
import { MAX_FILE_BYTES, MIB } from '#src/sandbox-words.ts';
import { rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

/** Commands in a sandbox. The limits are those of the settings. Without a sandbox the tool is not offered and says nothing. */
const ROWS = rowsOf('run_shell_command', [
  ['list is empty', 'the command writes nothing', 'The command succeeded without output.'],
  ['search matched nothing', 'a search finds nothing', 'Nothing matched (exit code 1).'],
  ['search matched nothing', 'a program is not there', 'Not every program was found (exit code 1).'],
  ['search matched nothing', 'files differ, and it says nothing', 'They differ (exit code 1).'],
  ['search matched nothing', 'a test is false', 'The test is false (exit code 1).'],
  [
    'command failed',
    'the command ends with an exit code',
    'Command failed: cat: minutes.md: No such file or directory (exit code 1).',
  ],
  ['command failed', 'it fails without a word', 'Command failed without output (exit code 3).'],
  [
    'command failed',
    'it fails with exit code 1, and nothing says why',
    'Command failed without output (exit code 1). grep, diff, test and others exit with 1 (under xargs 123) if nothing matches: append `|| true` if that is an expected result.',
  ],
  ['command failed', 'it wrote to stdout alone', 'Command failed (exit code 7). It wrote only to stdout.'],
  [
    'command failed',
    'there is no such program',
    'Command failed: …: command not found (exit code 127). The program is not installed: check the spelling, or use another. Nothing can be installed.',
  ],
  [
    'command failed',
    'SHELL_TIMEOUT_MS passes',
    'Command killed: it ran longer than 1 s. What it did before that remains done. Do less in one command.',
  ],
  [
    'command failed',
    'it writes and writes',
    'Command killed: it wrote more than 16 MiB of output. What it did before that remains done. Write to a file, or select lines with head, tail or grep.',
  ],
  ['malformed parameter', '`command` is blank', 'must contain a command', 'invalid_arguments'],
]);

export const AUDIT: ToolkitAudit = {
  rows: ROWS,
  limits: { run_shell_command: [`${FLOOD_BYTES / MIB} MiB of output`, `files of ${MAX_FILE_BYTES / MIB} MiB`] },
};
