import {
  answerAlone,
  answerBoth,
  becomes,
  type IsolatedLab,
  restartsFor,
  startIsolated,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

let service: IsolatedLab;

beforeAll(async () => {
  service = await startIsolated(['mutators']);
});

afterAll(() => service.stopClean());

/** What a tool changes → what its next call must find as if nothing had been. */
const MUTATORS: readonly (readonly [name: string, found: unknown])[] = [
  ['pollutes_object_prototype', null],
  ['pollutes_by_a_getter', null],
  ['pollutes_by_a_symbol', null],
  ['freezes_prototypes', false],
  ['replaces_fetch', true],
  ['adds_a_global', null],
  ['changes_the_environment', null],
  ['changes_the_directory', false],
  ['patches_push', true],
  ['patches_the_clock', true],
  ['patches_regular_expressions', true],
  ['patches_buffers', true],
  ['listens_for_what_nobody_caught', 1],
];

test.each(MUTATORS)('what %s changed is not there for the next call', async (name, found) => {
  const before = await restartsFor(service, 'recycle');
  for (const result of await answerBoth(service, { name, arguments: {} }))
    expect(result).toMatchObject({ outcome: 'success', executed: 'yes', value: { found } });
  await becomes(() => restartsFor(service, 'recycle'), before + 2);
});

test('the service itself has seen nothing of it', () => {
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  expect(process.env['RECOURSE_LEAKED']).toBeUndefined();
  expect(process.cwd()).not.toBe('/');
  expect(JSON.stringify({ a: 1 })).toBe('{"a":1}');
});

test('a tool that patches JSON.stringify spoils its own answer at most', async () => {
  for (const { value } of await answerBoth(service, { name: 'patches_stringify', arguments: {} }))
    expect(z.union([z.literal('patched'), z.object({ found: z.literal(true) })]).safeParse(value).success).toBe(true);
  expect(await answerAlone(service, { name: 'counts_in_its_module' })).toMatchObject({ outcome: 'success' });
});

test('a tool that patches promises answers, or fails alone', async () => {
  for (const { success, error } of await answerBoth(service, { name: 'patches_then', arguments: {} }))
    expect(success || error?.code === 'tool_exception' || error?.code === 'timeout').toBe(true);
  expect(await answerAlone(service, { name: 'counts_in_its_module' })).toMatchObject({ outcome: 'success' });
});

test('a tool that silences all sockets does not silence its host', async () => {
  for (const { outcome } of await answerBoth(service, { name: 'silences_sockets', arguments: {} }))
    expect(outcome).toBe('success');
  expect(await answerAlone(service, { name: 'counts_in_its_module' })).toMatchObject({ outcome: 'success' });
});

test('a tool that changes nothing keeps its process', async () => {
  const processOf = async () => (await answerAlone(service, { name: 'counts_in_its_module' })).value;
  const before = await processOf();
  expect([await processOf(), await processOf()]).toEqual([before, before]);
});
