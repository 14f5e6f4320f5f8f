import { createTester } from 'recourse-server/internal/testing.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import { UpstreamToolError } from 'recourse-server/internal/tools/tool-errors.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';

const declare = (input: z.ZodObject, run: () => unknown = () => null) =>
  defineTool({ name: 'tried', description: 'Is tried.', effects: 'read', input, run });

test('a promise within a value is a failure that says to await it; an empty object is a value', async () => {
  const user = Promise.resolve('ada');
  const forgotten = createTester(declare(z.object({}), () => ({ rows: [{ user }], none: {} })));
  const result = await forgotten.call('tried', {});
  expect([result.success, result.error?.code]).toEqual([false, 'invalid_output']);
  expect(result.message).toContain('it contains a Promise, which JSON writes as {}; await it');
  const empty = createTester(declare(z.object({}), () => ({ none: {}, list: [{}] })));
  expect(await empty.call('tried', {})).toMatchObject({ success: true, value: { none: {}, list: [{}] } });
  await Promise.all([forgotten.close(), empty.close()]);
});

test('arguments that no JSON can be are refused when the tool is declared', () => {
  expect(() => declare(z.object({ day: z.date() }))).toThrow('input is not a usable schema');
  expect(() => declare(z.object({ ids: z.set(z.string()) }))).toThrow('input is not a usable schema');
  for (const day of [z.coerce.date(), z.preprocess(Number, z.date()), z.union([z.string(), z.date()]), z.iso.date()])
    expect(declare(z.object({ day })).name).toBe('tried');
});

test('an upstream error that is written wrong says how it is written', () => {
  const write = (...words: readonly unknown[]) => Reflect.construct(UpstreamToolError, words);
  const use = "Write new UpstreamToolError('upstream_unavailable' or 'upstream_rate_limited', text";
  expect(() => write('ratelimited', 'Busy.')).toThrow(use);
  expect(() => write('upstream_unavailable', 'Busy.')).toThrow(use);
  expect(write('upstream_unavailable', 'Busy.', { executed: 'no' }).message).toBe('Busy.');
});
