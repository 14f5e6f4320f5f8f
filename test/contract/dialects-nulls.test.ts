import { askTurn, assistant, bodyOf, chatCall, postTurn } from '@recourse/test-support/dialect-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

let service: RunningService;

const find = defineTool({
  name: 'find',
  description: 'Gives its arguments back.',
  effects: 'read',
  input: z.object({
    query: z.string(),
    limit: z.number().optional(),
    cursor: z.string().nullable().optional(),
    filter: z.object({ tag: z.string().optional(), not: z.string().nullable() }).optional(),
    pages: z.array(z.object({ from: z.number().optional() })).optional(),
  }),
  run: (input) => input,
});

beforeAll(async () => {
  service = await startService({}, [find]);
});

afterAll(() => service.stop());

const answerFor = async (given: unknown): Promise<unknown> => {
  const [result] = (await askTurn(service, assistant(chatCall('c', 'find', given)))).results;
  return result?.success === true ? result.value : result?.message;
};

test('null stands for what is left out, at every depth, where the schema has no null of its own', async () => {
  expect(
    await answerFor({
      query: 'a',
      limit: null,
      cursor: null,
      filter: { tag: null, not: null },
      pages: [{ from: null }, { from: 3 }],
    }),
  ).toEqual({ query: 'a', cursor: null, filter: { not: null }, pages: [{}, { from: 3 }] });
  expect(await answerFor({ query: 'a', filter: null, pages: null })).toEqual({ query: 'a' });
});

test('null for what is required, or in a list, is refused as it was sent', async () => {
  expect(await answerFor({ query: null, limit: null })).toMatch(/query: expected a string, got null/);
  expect(await answerFor({ query: 'a', pages: [null] })).toMatch(/pages.*: expected an object, got null/);
  expect(await answerFor({ query: 'a', other: null })).toMatch(/other: unknown parameter/);
});

test('a number that is too wide is refused although a null beside it is dropped', async () => {
  expect(await answerFor('{"query":"a","limit":12345678901234567890123,"cursor":null,"filter":null}')).toMatch(
    /contain the number 12345678901234567890123, which a JSON number cannot represent exactly/,
  );
  expect(await answerFor('{"query":"a","limit":1e400,"filter":null}')).toMatch(/contain the number beyond 1\.8e308/);
  expect(await answerFor('{"query":"a","limit":1e20,"filter":null}')).toEqual({
    query: 'a',
    limit: 100000000000000000000,
  });
  expect(await answerFor('{"query":"a","limit":6e23,"filter":null}')).toEqual({ query: 'a', limit: 6e23 });
});

test('broken arguments are refused with their position, and no null helps them', async () => {
  expect(await answerFor('{"query":"a","limit":null')).toMatch(/^Arguments for 'find' are not valid JSON: /);
  expect(await answerFor('{"query":"a","__proto__":null,"limit":null}')).toMatch(/use the key '__proto__'/);
});

test('a turn is compared as it was sent: its nulls are no other way to leave something out there', async () => {
  const headers = { 'idempotency-key': 'nulls' };
  const post = (given: unknown) => postTurn(service, assistant(chatCall('c', 'find', given)), '', headers);
  const first = await post({ query: 'k', limit: null });
  const again = await post({ limit: null, query: 'k' });
  expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 200, 'true']);
  expect((await post({ query: 'k' })).status).toBe(422);
});

test.each([
  ['anthropic', [{ type: 'tool_use', id: 'c', name: 'find', input: { query: 'a', limit: null } }], false],
  ['gemini', [{ functionCall: { name: 'find', args: { query: 'a', limit: null } } }], false],
  ['langchain', [{ type: 'tool_call', id: 'c', name: 'find', args: { query: 'a', limit: null } }], true],
  [
    'vapi',
    {
      message: {
        type: 'tool-calls',
        toolCallList: [{ id: 'c', name: 'find', arguments: { query: 'a', limit: null } }],
      },
    },
    true,
  ],
  [
    'openai-responses',
    [{ type: 'function_call', call_id: 'c', name: 'find', arguments: '{"query":"a","limit":null}' }],
    true,
  ],
])('%s: a null for what is optional is as its models mean it', async (format, body, success) => {
  const answer = await askTurn(service, body);
  expect([answer.format, answer.results[0]?.success]).toEqual([format, success]);
});

test('natively a null is a null', async () => {
  const answer = await postTurn(service, { calls: [{ name: 'find', arguments: { query: 'a', limit: null } }] });
  expect(bodyOf(answer)).toMatchObject({ results: [{ error: { code: 'invalid_arguments' } }] });
});
