import { toEntry, toFailedEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, test } from 'vitest';
import { defineReducer } from '#src/tools/define-reducer.ts';
import { read, SETTINGS } from './session-reader-lab.ts';

const JOURNAL = [toEntry(), toFailedEntry({ step: 2 })].map((entry) => JSON.stringify(entry));

const countCalls = defineReducer({ name: 'count_calls', initial: 0, reduce: (count) => count + 1 });

const keepOutcomes = defineReducer<readonly string[]>({
  name: 'outcomes',
  initial: [],
  reduce: (outcomes, { outcome }) => [...outcomes, outcome],
});

test('every reducer sees every call once, oldest first, and gives its slice', async () => {
  const view = await read({ journal: [...JOURNAL, 'garbage'] }, { reducers: () => [countCalls, keepOutcomes] });
  expect(view.slices).toEqual({ count_calls: 2, outcomes: ['success', 'retry'] });
  expect(view).not.toHaveProperty('slice_errors');
  expect(view.calls.map(({ step }) => step)).toEqual([1, 2]);
});

test('of a session never seen every reducer shows where it begins', async () => {
  const view = await read({}, { reducers: () => [countCalls, keepOutcomes] });
  expect(view.slices).toEqual({ count_calls: 0, outcomes: [] });
});

test('without a journal there are no slices: they would say that nothing ever happened', async () => {
  const settings = { ...SETTINGS, journal: 0 };
  expect((await read({}, { settings, reducers: () => [countCalls] })).slices).toEqual({});
});

test('reducers are asked for at every reading: a tools directory may have changed', async () => {
  let reducers = [countCalls];
  const options = { reducers: () => reducers };
  expect(Object.keys((await read({}, options)).slices)).toEqual(['count_calls']);
  reducers = [keepOutcomes];
  expect(Object.keys((await read({}, options)).slices)).toEqual(['outcomes']);
});

test('a reducer that fails leaves its slice out and says why; the others and the calls are untouched', async () => {
  const throws = defineReducer<number>({
    name: 'throws',
    initial: 0,
    reduce: () => {
      throw new Error('first line\nsecond line, Bearer abcdefghijklmnop');
    },
  });
  const meddles = defineReducer<number>({
    name: 'meddles',
    initial: 0,
    reduce: (count, entry) => {
      Reflect.set(entry, 'outcome', 'success');
      Object.assign(entry, { message: 'rewritten' });
      return count;
    },
  });
  const grows = defineReducer<string>({ name: 'grows', initial: '', reduce: () => 'x'.repeat(200_000) });
  const infinite = defineReducer<unknown>({ name: 'infinite', initial: 0, reduce: () => 10n });
  const reducers = () => [throws, meddles, grows, infinite, keepOutcomes];
  const view = await read({ journal: JOURNAL }, { reducers });
  expect(view.slices).toEqual({ outcomes: ['success', 'retry'] });
  expect(view.slice_errors).toEqual({
    throws: 'Error: first line second line, Bearer [redacted]',
    meddles: expect.stringMatching(/^TypeError: Cannot assign to read only property 'message'/),
    grows: "Tool 'grows' ran but its result is larger than 100000 bytes. Ask for less.",
    infinite:
      "Tool 'infinite' ran but returned a value that cannot be used: a BigInt is not JSON; return it as a string. Use another tool, or say what could not be done.",
  });
  expect(view.calls.map(({ message }) => message)).toEqual(['', 'Error: no.']);
});

test('a reducer may be called as a member of every object is', async () => {
  const named = defineReducer({ name: '__proto__', initial: 0, reduce: (count: number) => count + 1 });
  const view = await read({ journal: JOURNAL }, { reducers: () => [named] });
  expect(JSON.stringify(view.slices)).toBe('{"__proto__":2}');
});
