import { type LabFile, openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';

const REDUCERS = `
  import { defineReducer, defineTool, z } from 'recourse-server';
  export const search = defineTool({
    name: 'search', description: '', effects: 'read', input: z.object({}), run: () => 'the tool',
    breakerKey: () => 'one upstream', maxCallsPerSession: 0, polling: true,
  });
  export default defineReducer({
    name: 'search',
    initial: { steps: [] },
    reduce: (state, { step, code }) => {
      state.steps.push(code ?? step);
      return state;
    },
  });
  const odd = (name, reduce) => defineReducer({ name, initial: 0, reduce });
  export const several = [
    odd('throws', () => { throw new RangeError('out of order'); }),
    odd('gives_no_json', () => 7n),
    odd('never_ends', () => { for (;;); }),
    odd('leaves', () => process.exit(3)),
  ];
`;

const reduce = async (file: LabFile, name: string, entries: readonly unknown[]): Promise<unknown> => {
  const { timeoutMs } = file.tool(name, 'reducer');
  return toOutcome(await file.call(name, { entries }, timeoutMs, { role: 'reducer' }));
};

const PATIENCE = { timeout: timeLimit(20_000) };

test('a reducer of a tool file runs in its process, beside a tool of the same name', async () => {
  const lab = openLab();
  const file = await lab.load(REDUCERS);
  const entries = [toEntry(), toFailedEntry({ step: 2 }), toEntry({ step: 3 })];
  const slice = { steps: [1, 'tool_exception', 3] };
  expect(await reduce(file, 'search', entries)).toEqual(slice);
  // In the same process: what the first fold did to its state is gone.
  expect(await reduce(file, 'search', entries)).toEqual(slice);
  expect(await reduce(file, 'search', [])).toEqual({ steps: [] });
  expect(toOutcome(await file.call('search'))).toBe('the tool');
  expect(lab.hostCount()).toBe(1);
});

test('what a tool says of sessions, and a reducer of itself, comes over the channel', async () => {
  const file = await openLab().load(REDUCERS);
  expect(file.tool('search')).toMatchObject({
    role: 'tool',
    maxCallsPerSession: 0,
    polling: true,
    breakerKey: null,
    inlineOnly: 'breakerKey',
  });
  expect(file.tool('search', 'reducer')).toMatchObject({
    role: 'reducer',
    effects: 'read',
    retries: 0,
    timeoutMs: 1000,
    inlineOnly: null,
  });
});

test('the longest journal there may be, ten thousand calls, goes to a reducer at once', async () => {
  const file = await openLab().load(REDUCERS);
  const entries = Array.from({ length: 10_000 }, (_, step) => toEntry({ step, message: 'x'.repeat(200) }));
  const ran = await file.call('search', { entries }, 60_000, { role: 'reducer' });
  expect(toOutcome(ran)).toEqual({ steps: entries.map(({ step }) => step) });
});

test('a reducer that throws, gives no JSON, never ends or leaves fails alone', async () => {
  const lab = openLab();
  const file = await lab.load(REDUCERS);
  const entries = [toEntry()];
  expect(await reduce(file, 'throws', entries)).toMatchObject({ code: 'tool_exception' });
  expect(await reduce(file, 'gives_no_json', entries)).toMatchObject({ code: 'invalid_output' });
  // The start of the next host counts as the call's time.
  const startAgain = () => expect.poll(() => reduce(file, 'search', entries), PATIENCE).toEqual({ steps: [1] });
  expect(await reduce(file, 'never_ends', entries)).toBe('timed_out');
  await startAgain();
  expect(await reduce(file, 'leaves', entries)).toMatchObject({ code: 'tool_crashed' });
  await startAgain();
});

test('a reducer that is declared wrongly makes its file unavailable, by its name', async () => {
  const declared = "import { defineReducer } from 'recourse-server'; export const bad = defineReducer({ name: 'bad', ";
  const lab = openLab();
  await expect(lab.load(`${declared} initial: new Map(), reduce: (state) => state });`)).rejects.toThrow(
    "tools.ts: TypeError: Reducer 'bad': initial must be JSON, not object.",
  );
  await expect(lab.load(`${declared} initial: 0 });`)).rejects.toThrow(
    "tools.ts: TypeError: Reducer 'bad': reduce must be a function, not undefined.",
  );
});
