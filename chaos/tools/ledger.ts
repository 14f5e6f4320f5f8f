import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { defineTool, RetryableToolError, z } from 'recourse-server';

/** One line per execution: what is counted. A line this short is appended as a whole or not at all. */
const append = (id: string): void => appendFileSync(process.env['CHAOS_LEDGER'] ?? '', `${id}\n`);

export const appendLine = defineTool({
  name: 'append_line',
  description: 'Appends a line to the ledger.',
  effects: 'write',
  input: z.object({ id: z.string() }),
  run: ({ id }) => append(id),
});

export const appendSlowly = defineTool({
  name: 'append_slowly',
  description: 'Appends a line to the ledger in the middle of its time.',
  effects: 'write',
  input: z.object({ id: z.string(), ms: z.int().min(0).max(10_000) }),
  run: async ({ id, ms }) => {
    await pause(ms / 2);
    append(id);
    await pause(ms / 2);
  },
});

/** Declared `read`, so that it has three retries. What it throws is the caller's fault: it opens no circuit. */
export const countAndFail = defineTool({
  name: 'count_and_fail',
  description: 'Appends the line of its session to the ledger, and asks for another call.',
  effects: 'read',
  input: z.object({ line: z.string(), attempt: z.int() }),
  run: ({ line }) => {
    append(line);
    throw new RetryableToolError('Counted.');
  },
});
