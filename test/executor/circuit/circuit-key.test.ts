import { createHostedTool, createTool } from '@recourse/test-support/circuit-lab.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { circuitKeyOf } from '#src/executor/circuit-breakers.ts';

test('a tool that names no upstream has one circuit for all its calls', () => {
  expect(circuitKeyOf(createTool('plain'), { host: 'one' })).toBeNull();
  expect(circuitKeyOf(createHostedTool('plain'), { host: 'one' })).toBeNull();
});

test('an argument tells the upstream, wherever the tool runs', () => {
  for (const tool of [createTool('keyed', { breakerKey: 'host' }), createHostedTool('keyed', { breakerKey: 'host' })]) {
    expect(circuitKeyOf(tool, { host: 'one' })).toBe('one');
    expect(circuitKeyOf(tool, { host: 'two' })).toBe('two');
  }
});

test('a function of the arguments tells the upstream', () => {
  const tool = createTool('fetch', { breakerKey: ({ url }) => new URL(String(url)).origin });
  expect(circuitKeyOf(tool, { url: 'https://one.example/a?b#c' })).toBe('https://one.example');
});

test('what is no text stands for the whole tool, as does a function that throws or promises', async () => {
  const byArgument = createHostedTool('keyed', { breakerKey: 'host' });
  for (const host of [undefined, null, 7, '', ['one'], { name: 'one' }])
    expect(circuitKeyOf(byArgument, { host })).toBeNull();
  const byFunction = (breakerKey: () => unknown) =>
    circuitKeyOf(createTool('keyed', { breakerKey: breakerKey as () => string }), {});
  expect(byFunction(() => undefined)).toBeNull();
  expect(byFunction(() => ({ toString: () => 'one' }))).toBeNull();
  expect(
    byFunction(() => {
      throw null;
    }),
  ).toBeNull();
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  expect(byFunction(() => Promise.reject(new Error('Nobody waits.')))).toBeNull();
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('what an object inherits is no argument', () => {
  const input = z.looseObject({});
  expect(circuitKeyOf(createHostedTool('keyed', { input, breakerKey: '__proto__' }), {})).toBeNull();
  expect(
    circuitKeyOf(createHostedTool('keyed', { input, breakerKey: 'name' }), Object.create({ name: 'one' })),
  ).toBeNull();
});

test('a key has at most 200 characters', () => {
  const tool = createTool('keyed', { breakerKey: 'host' });
  expect(circuitKeyOf(tool, { host: 'a'.repeat(200) })).toBe('a'.repeat(200));
  expect(circuitKeyOf(tool, { host: `${'a'.repeat(200)}b` })).toBe('a'.repeat(200));
});
