import { openLab } from '@recourse/test-support/isolation-lab.ts';
import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { createRunReducer } from '#src/session-view/create-run-reducer.ts';

const REDUCERS = `
  import { defineReducer } from 'recourse-server';
  const reducer = (name, reduce) => defineReducer({ name, initial: 0, reduce });
  export const reducers = [
    reducer('count', (count, entry) => count + (entry.success ? 0 : 1)),
    reducer('spins', () => { for (;;); }),
    reducer('exits', () => process.exit(3)),
    reducer('throws', () => { throw new Error('no'); }),
  ];
`;

test('a reducer of a tools directory runs in a tool host, and one that spins or dies costs a second at most', async () => {
  const lab = openLab();
  const { tool } = await lab.load(REDUCERS, 'reducers.ts');
  const run = createRunReducer({
    runHosted: lab.isolation.runHosted,
    maxResultBytes: 1_048_576,
    redactor: createRedactor({ secrets: [] }),
    now: () => performance.now(),
  });
  const entries = [toEntry(), toFailedEntry({ index: 1 }), toFailedEntry({ index: 2 })];
  const reduce = (name: string) => run(tool(name, 'reducer'), entries);
  expect(await reduce('count')).toEqual({ ok: true, value: 2 });
  // The start of the next host counts as the reducer's time.
  const startAgain = () =>
    expect.poll(() => reduce('count'), { timeout: timeLimit(20_000) }).toEqual({ ok: true, value: 2 });
  expect(await reduce('spins')).toEqual({ ok: false, problem: 'it did not end within 1000 ms' });
  await startAgain();
  expect(await reduce('exits')).toMatchObject({ ok: false, problem: expect.stringContaining('exits') });
  await startAgain();
  expect(await reduce('throws')).toEqual({ ok: false, problem: 'Error: no' });
  expect(await reduce('count')).toEqual({ ok: true, value: 2 });
});
