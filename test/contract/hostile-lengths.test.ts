import { askTurn } from '@recourse/test-support/dialect-client.ts';
import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { readAnswers, writeTurn } from '@recourse/test-support/formats/conversation.ts';
import { postModern } from '@recourse/test-support/mcp-clients.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { FORMATS, streamBatch } from '@recourse/test-support/stream-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { ToolResult } from '#src/contract/tool-result.ts';
import { defineTool } from '#src/tools/define-tool.ts';

const ran: unknown[] = [];
const write = defineTool({
  name: 'write',
  description: 'Counts how often it ran.',
  effects: 'write',
  background: 'optional',
  input: z.looseObject({}),
  run: (input) => ran.push(input),
});

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, [write]);
});
afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const ADVICE = 'Send each call as an object such as {"id": "call_1", "name": "echo", "arguments": {}}.';
const LONG_ID = `The id of the call is longer than 16384 bytes. ${ADVICE}`;
const LONG_NAME = `The name of the call is longer than 512 characters. ${ADVICE}`;

const LONGEST = [
  ['of ASCII', 'x'.repeat(16_384)],
  ['of two bytes a character', 'ü'.repeat(8192)],
  ['of three', `${'\u20ac'.repeat(5461)}x`],
  ['of four', '\u{1d4b3}'.repeat(4096)],
] as const;

test.each(LONGEST)('an id of 16 KiB returns unchanged by every way of an answer: %s', async (_, id) => {
  const { url } = service;
  const calls = [{ id, name: 'write', arguments: {} }];
  const { begin, finish, ask } = createPendingClient(url);
  expect((await service.call(calls)).map((result) => result.id)).toEqual([id]);
  const key = { 'idempotency-key': crypto.randomUUID() };
  for (const wait of [20, 20, 20]) expect((await begin({ calls }, { wait, headers: key })).results[0]?.id).toBe(id);
  const { requestId, results } = await begin({ calls });
  expect([results[0]?.id, (await finish(requestId)).results[0]?.id]).toEqual([id, id]);
  expect((await ask(`/tool-calls/${requestId}`)).results[0]?.id).toBe(id);
  for (const format of FORMATS) {
    const { events } = await streamBatch(url, { calls }, { format });
    expect(Object(events[0]?.data).calls[0].id).toBe(id);
    expect(Object(events.find(({ event }) => event === 'result')?.data).id).toBe(id);
  }
});

test.each(LONGEST)('a call with a longer id does not run, and is told without it: %s', async (_, longest) => {
  const { url } = service;
  const before = ran.length;
  const id = `${longest}x`;
  const calls = [{ id, name: 'write', arguments: {} }];
  const { begin } = createPendingClient(url);
  const { events } = await streamBatch(url, { calls }, { format: 'sse' });
  expect(Object(events[0]?.data).calls).toEqual([{ index: 0, id: null, name: 'write' }]);
  const result = ToolResult.parse(events.find(({ event }) => event === 'result')?.data);
  for (const told of [result, ...(await service.call(calls)), ...(await begin({ calls })).results]) {
    expect(told).toMatchObject({ id: null, name: 'write', success: false, executed: 'no', retry: null });
    expect([told.error?.code, told.message]).toEqual(['invalid_call', LONG_ID]);
  }
  expect(ran).toHaveLength(before);
});

test('so are the calls beside it answered, each by what it came to', async () => {
  const calls = ['a', 'x'.repeat(16_385), 'b'].map((id) => ({ id, name: 'write', arguments: {} }));
  const results = await service.call(calls);
  expect(results.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['a', 'success'],
    [null, 'retry'],
    ['b', 'success'],
  ]);
});

test.each(ALL_FORMATS)('a long id and a long name are told alike in each format (%s)', async (format) => {
  const before = ran.length;
  const calls = [
    { id: 'i'.repeat(16_385), name: 'write', arguments: {} },
    { id: 'b', name: 'n'.repeat(100_000), arguments: {} },
  ];
  const { results, messages } = await askTurn(service, writeTurn(format, calls), `?format=${format}`);
  expect(results.map(({ id, name, error }) => [id, name, error?.code])).toEqual([
    [null, 'write', 'invalid_call'],
    [expect.anything(), `${'n'.repeat(511)}…`, 'invalid_call'],
  ]);
  const answers = readAnswers(format, messages);
  expect(answers.map(({ success }) => success)).toEqual([false, false]);
  expect(answers.map(({ text }) => text)).toEqual([
    expect.stringContaining(LONG_ID),
    expect.stringContaining(LONG_NAME),
  ]);
  expect(JSON.stringify(messages).length).toBeLessThan(4000);
  expect(ran).toHaveLength(before);
});

test('a name of 512 characters is a name like others, and a longer one no call, at /mcp as well', async () => {
  const longest = '\u{1d4b3}'.repeat(512);
  const results = await service.call([{ name: longest }, { name: `${longest}x` }]);
  expect(results.map(({ name, error }) => [name, error?.code])).toEqual([
    [longest, 'unknown_tool'],
    [`${'\u{1d4b3}'.repeat(511)}…`, 'invalid_call'],
  ]);
  expect(results[1]?.message).toBe(LONG_NAME);
  const { messages } = await postModern(service.url, 'tools/call', { name: 'n'.repeat(513), arguments: {} });
  expect(messages).toMatchObject([
    { result: { isError: true, content: [{ text: expect.stringContaining(`invalid_call: ${LONG_NAME}`) }] } },
  ]);
});
