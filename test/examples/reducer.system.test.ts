import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, test } from 'vitest';

const TEXT = readFileSync(join(import.meta.dirname, '../../examples/tools/open-failures.ts'), 'utf8');

test('the reducer of the examples says at which tools a session got stuck', async () => {
  const file = await openLab().load(TEXT, 'open-failures.ts');
  const open = async (entries: readonly unknown[]): Promise<unknown> =>
    toOutcome(await file.call('open_failures', { entries }, 60_000, { role: 'reducer' }));
  const failed = [
    toFailedEntry({ tool: 'search', step: 1, message: 'Error: not now.' }),
    toFailedEntry({ tool: 'write', step: 2, code: 'timeout', message: "Tool 'write' timed out." }),
    toFailedEntry({ tool: 'search', step: 3, outcome: 'refused', code: 'retry_budget_exhausted' }),
    toFailedEntry({ tool: null, step: 3, code: 'invalid_call' }),
  ];
  expect(await open([])).toEqual([]);
  expect(await open(failed)).toEqual([
    { tool: 'search', step: 1, code: 'tool_exception', message: 'Error: not now.' },
    { tool: 'write', step: 2, code: 'timeout', message: "Tool 'write' timed out." },
  ]);
  expect(await open([...failed, toEntry({ tool: 'search', step: 4 })])).toEqual([
    { tool: 'write', step: 2, code: 'timeout', message: "Tool 'write' timed out." },
  ]);
});
