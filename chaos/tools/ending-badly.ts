import { appendFileSync } from 'node:fs';
import { defineTool, RetryableToolError, TerminalToolError, z } from 'recourse-server';

// In a file of its own: what ends a process ends the calls of its file, and no others.

const append = (id: string): void => appendFileSync(process.env['CHAOS_LEDGER'] ?? '', `${id}\n`);

const ENDS = {
  exit: () => process.exit(0),
  abort: () => process.abort(),
  hang: () => new Promise(() => undefined),
  throw: () => Promise.reject(new Error('appended, and then it broke')),
  give_up: () => Promise.reject(new TerminalToolError('Appended, and there is nothing more to do.')),
  big: () => 'x'.repeat(3_000_000),
  not_json: () => 10n,
} as const;

export const appendAndFail = defineTool({
  name: 'append_and_fail',
  description: 'Appends a line to the ledger and then ends badly; `refuse` does so before it appends anything.',
  effects: 'write',
  input: z.object({
    id: z.string(),
    how: z.enum(['exit', 'abort', 'hang', 'throw', 'give_up', 'big', 'not_json', 'refuse']),
  }),
  timeoutMs: 500,
  run: ({ id, how }) => {
    if (how === 'refuse') throw new RetryableToolError('Nothing was appended.');
    append(id);
    return ENDS[how]();
  },
});
