import { toEntry } from '@recourse/test-support/journal-entries.ts';
import { expect, test } from 'vitest';
import { defineReducer } from '#src/recourse.ts';
import { toSlice } from './reducer-lab.ts';

const steps = defineReducer<number[]>({
  name: 'steps',
  initial: [],
  reduce: (seen, { step }) => {
    seen.push(step);
    return seen;
  },
});

test('a reducer folds the calls of a session, oldest first, from its initial value', async () => {
  expect(
    await toSlice(
      steps,
      [1, 2, 2, 5].map((step) => toEntry({ step })),
    ),
  ).toEqual([1, 2, 2, 5]);
  expect(await toSlice(steps, [])).toEqual([]);
});

test('every fold begins with the initial value as it was declared, whatever a fold or its owner did to it', async () => {
  await toSlice(steps, [toEntry({ step: 7 })]);
  expect(await toSlice(steps, [toEntry({ step: 1 })])).toEqual([1]);
  const initial = { tools: ['first'] };
  const kept = defineReducer({ name: 'kept', initial, reduce: (state) => state });
  initial.tools.push('second');
  expect(await toSlice(kept, [toEntry()])).toEqual({ tools: ['first'] });
});

test('a reducer is run like a tool that reads, within a second, and never again', () => {
  expect(steps).toMatchObject({
    role: 'reducer',
    runsIn: 'service',
    name: 'steps',
    effects: 'read',
    retries: 0,
    timeoutMs: 1000,
    isolation: 'process',
    env: [],
    inputSchema: { type: 'object', properties: { entries: { type: 'array' } }, required: ['entries'] },
  });
});

test('a reducer that is given no journal refuses it', () => {
  expect(steps.prepare({})).toEqual({
    ok: false,
    issues: [{ path: 'entries', expected: 'an array', received: 'undefined', message: 'must be a journal' }],
  });
});

test.each([
  ['', "Reducer '': name must be 1 to 64 of A-Z a-z 0-9 _ . - (_unknown and _other are reserved), not ''."],
  [
    'two words',
    "Reducer 'two words': name must be 1 to 64 of A-Z a-z 0-9 _ . - (_unknown and _other are reserved), not 'two words'.",
  ],
  [
    'x'.repeat(65),
    `Reducer '${'x'.repeat(65)}': name must be 1 to 64 of A-Z a-z 0-9 _ . - (_unknown and _other are reserved), not '${'x'.repeat(65)}'.`,
  ],
])('the name "%s" is refused', (name, message) => {
  expect(() => defineReducer({ name, initial: 0, reduce: (state) => state })).toThrow(new TypeError(message));
});

const toCircular = (): object => {
  const circle: Record<string, unknown> = {};
  circle['inside'] = [circle];
  return circle;
};

const nestedIn = (levels: number): unknown => {
  let nested: unknown = 'core';
  for (let level = 0; level < levels; level += 1) nested = [nested];
  return nested;
};

test.each([
  ['nothing', undefined],
  ['no number', Number.NaN],
  ['infinite', { count: Number.POSITIVE_INFINITY }],
  ['a big integer', 7n],
  ['a function', { find: () => 1 }],
  ['a Map', new Map()],
  ['a date', [new Date(0)]],
  ['a missing member', { count: undefined }],
  ['a circle', toCircular()],
  ['too deep', nestedIn(65)],
])('an initial value that is no JSON (%s) is refused', (_, initial) => {
  expect(() => defineReducer<unknown>({ name: 'odd', initial, reduce: (state) => state })).toThrow(
    "Reducer 'odd': initial must be JSON, not ",
  );
});

test.each([
  ['null', null],
  ['false', false],
  ['a text', ''],
  ['a number', -0.5],
  ['a list of one thing twice', Array(2).fill({ a: 1 })],
  ['an object without a prototype', Object.assign(Object.create(null), { a: [null] })],
  ['deep', nestedIn(64)],
])('an initial value may be %s', async (_, initial) => {
  const same = defineReducer<unknown>({ name: 'same', initial, reduce: (state) => state });
  expect(JSON.stringify(await toSlice(same, [toEntry()]))).toBe(JSON.stringify(initial));
});

test('a declaration without a function is refused', () => {
  // @ts-expect-error: a tool file's types are stripped, not checked.
  expect(() => defineReducer({ name: 'idle', initial: 0, reduce: 'add' })).toThrow(
    new TypeError("Reducer 'idle': reduce must be a function, not 'add'."),
  );
});

test('a step that returns nothing, or a promise, is a failure that names the reducer', async () => {
  const forgets = defineReducer<unknown>({ name: 'forgets', initial: 0, reduce: () => undefined });
  await expect(toSlice(forgets, [toEntry()])).rejects.toThrow("Reducer 'forgets': reduce returned nothing.");
  const waits = defineReducer<unknown>({ name: 'waits', initial: 0, reduce: async () => 1 });
  await expect(toSlice(waits, [toEntry()])).rejects.toThrow("Reducer 'waits': reduce must not be asynchronous.");
});
