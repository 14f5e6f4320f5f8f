import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { ToolResult } from '#src/contract/tool-result.ts';
import type { Executor } from '#src/executor/run-batch.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { defineTool } from '#src/tools/define-tool.ts';

const book = defineTool({
  name: 'book',
  description: 'Books seats on a ferry.',
  effects: 'read',
  retries: 5,
  input: z.object({ ferry: z.string(), seats: z.number(), class: z.enum(['deck', 'cabin']).optional() }),
  run: () => 'booked',
});
// One check of arguments that two tools have, as an operator's override makes it.
const reserve = { ...book, name: 'reserve' };
const cancel = defineTool({
  name: 'cancel',
  description: 'Cancels a booking.',
  effects: 'read',
  retries: 5,
  input: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
  run: () => 'cancelled',
});

const torn = defineTool({
  name: 'torn',
  description: 'Can never be called: two parts of its schema want different values.',
  effects: 'read',
  retries: 5,
  input: z.intersection(z.object({ seats: z.string() }), z.object({ seats: z.number() })),
  run: () => 'called',
});

const start = () => {
  const redactor = createRedactor({ secrets: [] });
  const memory = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const keys = createMemoryKeyedStore({ now });
  const { executor } = createSubject([book, reserve, cancel, torn], memory, keys, redactor);
  return { executor, register: redactor.register };
};

type Asked = readonly [name: string, args: Readonly<Record<string, unknown>>];

const post = async (executor: Executor, asked: readonly Asked[]): Promise<readonly ToolResult[]> => {
  const calls = asked.map(([name, args], index) => ({ id: `call_${index}`, name, arguments: args }));
  const answer = await executor.executeBatch({
    ...{ requestId: 'request', batchId: 'batch', tenant: 'test', key: null, caller: 'test', mayUse: () => true },
    ...{
      sessionKey: null,
      roundId: null,
      calls,
      reading: null,
      body: { source: JSON.stringify({ calls }) },
      form: 'calls',
    },
    ...{ order: 'parallel', onError: 'continue', deadlineMs: 20_000, idempotency: null, memory: null },
    ...{ listener: null, traceId: null, trace: null },
    client: { isGone: () => false, whenGone: () => () => undefined },
  });
  if (answer.kind !== 'results') throw new Error(`The batch was answered ${answer.kind}.`);
  return answer.results.map(({ json }) => ToolResult.parse(JSON.parse(json)));
};

const missing = (path: string, expected: string) => ({
  path,
  expected,
  received: 'nothing',
  message: 'required parameter missing',
});
const FERRY = missing('ferry', 'a string');
const SEATS = missing('seats', 'a number');

test('each of the calls that are wrong alike gets what it would get alone, in its place and under its own name', async () => {
  const { executor } = start();
  const results = await post(executor, [
    ['book', { seats: 2 }],
    ['book', { seats: 2 }],
    ['reserve', { seats: 2 }],
    ['book', { ferry: 'Aurora' }],
    ['book', {}],
    ['book', {}],
    ['cancel', {}],
    ['cancel', {}],
  ]);
  const alone = (name: string, path: string): string =>
    `Required parameter '${path}' missing. Fix this and call '${name}' again.`;
  const both =
    "Invalid arguments for 'book' (2 problems):\n- ferry: required parameter missing\n- seats: required parameter missing\nFix these and call 'book' again.";
  expect(results.map(({ index, id, name, message, error }) => [index, id, name, message, error?.issues])).toEqual([
    [0, 'call_0', 'book', alone('book', 'ferry'), [FERRY]],
    [1, 'call_1', 'book', alone('book', 'ferry'), [FERRY]],
    [2, 'call_2', 'reserve', alone('reserve', 'ferry'), [FERRY]],
    [3, 'call_3', 'book', alone('book', 'seats'), [SEATS]],
    [4, 'call_4', 'book', both, [FERRY, SEATS]],
    [5, 'call_5', 'book', both, [FERRY, SEATS]],
    [6, 'call_6', 'cancel', alone('cancel', 'number'), [missing('number', 'a value')]],
    [7, 'call_7', 'cancel', alone('cancel', 'number'), [missing('number', 'a value')]],
  ]);
});

test('two parts of a schema that miss one parameter each say what they expect of it', async () => {
  const { executor } = start();
  const results = await post(executor, [
    ['torn', {}],
    ['torn', {}],
  ]);
  const issues = [missing('seats', 'a string'), missing('seats', 'a number')];
  expect(results.map(({ error }) => error?.issues)).toEqual([issues, issues]);
});

test('what a caller sent stands in the words of its own call alone', async () => {
  const { executor } = start();
  const results = await post(executor, [
    ['book', { ferry: 'Aurora', seats: 'two' }],
    ['book', { ferry: 'Aurora', seats: 'three' }],
    ['book', { ferry: 'Aurora', seats: 2, class: 'bridge' }],
    ['book', { ferry: 'Aurora', seats: 2, window: true }],
  ]);
  expect(results.map(({ error }) => error?.issues.map(({ message }) => message))).toEqual([
    ['expected a number, got the string "two"'],
    ['expected a number, got the string "three"'],
    ['expected one of "deck", "cabin", got the string "bridge"'],
    ['unknown parameter; accepted: ferry, seats, class'],
  ]);
});

test('words that were found clean are redacted in the next batch where they have become a secret since', async () => {
  const { executor, register } = start();
  const asked = [
    ['book', { ferry: 'Aurora' }],
    ['book', { ferry: 'Aurora' }],
  ] as const;
  const messages = async () =>
    (await post(executor, asked)).map(({ message, error }) => [message, error?.issues[0]?.path]);
  const clean = ["Required parameter 'seats' missing. Fix this and call 'book' again.", 'seats'];
  expect(await messages()).toEqual([clean, clean]);
  register(['parameter missing', 'required parameter missing', 'a number', 'expected a number']);
  const results = await post(executor, asked);
  expect(results.map(({ error }) => error?.issues[0]?.message)).toEqual(['[redacted]', '[redacted]']);
});
