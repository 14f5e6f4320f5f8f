import { callTool } from '@llamaindex/core/agent';
import { FunctionTool } from '@llamaindex/core/tools';
import { connect, detailOf, type McpAnswer, post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { RetryableToolError, TerminalToolError } from 'recourse-server/internal/tools/tool-errors.ts';
import { empty, ok } from 'recourse-server/internal/tools/tool-values.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

const NO_INPUT = z.object({});
const tool = (name: string, effects: 'read' | 'idempotent' | 'write', run: () => unknown, output?: z.ZodType): Tool =>
  defineTool({ name, description: name, effects, input: NO_INPUT, run, ...(output === undefined ? {} : { output }) });

const throwing = (error: () => Error) => (): never => {
  throw error();
};

const TOOLS = [
  tool('row', 'read', () => ({ id: 7 }), z.object({ id: z.number() })),
  tool('loose_row', 'read', () => ({ id: 7 })),
  tool('text', 'read', () => 'just text'),
  tool('list', 'read', () => [1, 2], z.array(z.number())),
  tool('told', 'read', () => ok({ id: 7 }, 'One row.')),
  tool('nothing', 'read', () => empty('No rows match.', [])),
  tool('null', 'read', () => null),
  tool(
    'payload',
    'read',
    throwing(() => new TerminalToolError('The row is locked.', { value: { by: 'ann' } })),
  ),
  tool(
    'typed_payload',
    'read',
    throwing(() => new RetryableToolError('Choose another row.', { value: { by: 'ann' } })),
    z.object({ id: z.number() }),
  ),
  tool(
    'stubborn_write',
    'write',
    throwing(() => new RetryableToolError('The row is locked.')),
  ),
  tool('wrong_write', 'write', () => ({ id: 'seven' }), z.object({ id: z.number() })),
  tool('wrong_read', 'read', () => ({ id: 'seven' }), z.object({ id: z.number() })),
];

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, TOOLS);
});
afterAll(() => service.stop());

const ERAS = ['modern', 'legacy'] as const;

test.each(ERAS)('an object is structured content and its JSON is the text (%s)', async (era) => {
  const { client } = await connect(service.url, era);
  await client.listTools();

  for (const name of ['row', 'loose_row'])
    expect(await client.callTool({ name })).toMatchObject({
      content: [{ type: 'text', text: '{"id":7}' }],
      structuredContent: { id: 7 },
      isError: false,
    });
  expect(await client.callTool({ name: 'told' })).toMatchObject({
    content: [{ text: 'One row.\n{"id":7}' }],
    structuredContent: { id: 7 },
  });
});

test.each(ERAS)('what is no object is text alone, and an empty result is a success with words (%s)', async (era) => {
  const { client } = await connect(service.url, era);
  await client.listTools();

  const text = await client.callTool({ name: 'text' });
  expect(text).toMatchObject({ content: [{ text: 'just text' }], isError: false });
  expect(text).not.toHaveProperty('structuredContent');
  const list = await client.callTool({ name: 'list' });
  expect(list).toMatchObject({ content: [{ text: '[1,2]' }], isError: false });
  expect(list).not.toHaveProperty('structuredContent');
  const nothing = await client.callTool({ name: 'nothing' });
  expect(nothing).toMatchObject({ content: [{ text: 'No rows match.' }], isError: false });
  expect(detailOf(nothing)).toEqual({
    request_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
    outcome: 'success',
    executed: 'yes',
    empty: true,
    duration_ms: expect.any(Number),
  });
  const { content } = await client.callTool({ name: 'null' });
  expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/\S/) }]);
});

test.each(ERAS)('every failure is a result with isError, and says the same to programs (%s)', async (era) => {
  const { client } = await connect(service.url, era);

  const unknown = await client.callTool({ name: 'serach_files' });
  expect(unknown).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/unknown_tool.*Did you mean 'search_files'\?/) }],
  });
  expect(detailOf(unknown)).toMatchObject({ outcome: 'retry', executed: 'no', code: 'unknown_tool' });
  const wrong = await client.callTool({ name: 'echo', arguments: { txet: 1 } });
  expect(wrong).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('- text: required parameter missing') }],
  });
  expect(detailOf(wrong)).toMatchObject({
    code: 'invalid_arguments',
    executed: 'no',
    error: { issues: [{ path: 'text' }, { path: 'txet' }] },
  });
  expect(detailOf(wrong)['retry']).toEqual(
    era === 'modern' ? undefined : expect.objectContaining({ allowed: true, remaining: 3, scope: 'session' }),
  );
  expect(await client.callTool({ name: 'echo', arguments: { text: 'right' } })).toMatchObject({ isError: false });
});

test.each(ERAS)(
  "a failure's own payload is kept, and never where a schema promises something else (%s)",
  async (era) => {
    const { client } = await connect(service.url, era);
    await client.listTools();

    const free = await client.callTool({ name: 'payload' });
    expect(free).toMatchObject({ isError: true, structuredContent: { by: 'ann' } });
    expect(detailOf(free)).toMatchObject({ outcome: 'failed', code: 'tool_failed', value: { by: 'ann' } });
    const typed = await client.callTool({ name: 'typed_payload' });
    expect(typed).toMatchObject({ isError: true });
    expect(typed).not.toHaveProperty('structuredContent');
    expect(detailOf(typed)).toMatchObject({ outcome: 'retry', code: 'retry_requested', value: { by: 'ann' } });
  },
);

test.each(ERAS)('a write whose answer breaks its schema is told as done, and not to be repeated (%s)', async (era) => {
  const { client } = await connect(service.url, era);
  await client.listTools();

  const written = await client.callTool({ name: 'wrong_write' });
  expect(written).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(/^'wrong_write' ran and took effect, but .*Do not repeat it/) }],
  });
  expect(detailOf(written)).toMatchObject({
    outcome: 'success',
    executed: 'yes',
    warnings: [{ code: 'invalid_output' }],
  });
  const read = await client.callTool({ name: 'wrong_read' });
  expect(detailOf(read)).toMatchObject({ outcome: 'failed', code: 'invalid_output' });
});

test('the list says what a tool does: annotations by its effects, an output schema where that is an object', async () => {
  const { url } = service;

  const { messages } = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const List = z.object({ result: z.object({ tools: z.array(z.looseObject({ name: z.string() })) }) });
  const tools = new Map(List.parse(messages[0]).result.tools.map((listed) => [listed.name, listed]));
  expect(tools.get('row')).toEqual({
    name: 'row',
    description: 'row',
    inputSchema: expect.objectContaining({ type: 'object' }),
    outputSchema: expect.objectContaining({ type: 'object', properties: { id: { type: 'number' } } }),
    annotations: { readOnlyHint: true },
  });
  expect(tools.get('wrong_write')?.['annotations']).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
  });
  expect(tools.get('write_file')?.['annotations']).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
  });
  expect(tools.get('list')).not.toHaveProperty('outputSchema');
});

const withoutNulls = (value: unknown): boolean =>
  typeof value === 'object' ? value !== null && Object.values(value).every(withoutNulls) : true;

test('a plain success has nothing of ours in `_meta`, and nothing else has a null there', async () => {
  const call = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
  const resultOf = ({ messages }: McpAnswer) => Object(messages[0]?.['result']);

  for (const name of ['row', 'text', 'list', 'told']) {
    expect(resultOf(await post(service.url, call(name)))).not.toHaveProperty('_meta');
    expect(resultOf(await postModern(service.url, 'tools/call', { name, arguments: {} }))).toMatchObject({
      resultType: 'complete',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'recourse', version: '0.2.0' } },
    });
  }
  const modern = resultOf(await postModern(service.url, 'tools/call', { name: 'row', arguments: {} }));
  expect(Object.keys(modern._meta)).toEqual(['io.modelcontextprotocol/serverInfo']);
  for (const name of ['nothing', 'payload', 'typed_payload', 'wrong_write', 'wrong_read', 'serach_files'])
    for (const headers of [{}, { 'mcp-session-id': 's' }]) {
      const { _meta: meta } = resultOf(await post(service.url, call(name), headers));
      expect(Object.keys(meta)).toEqual(['recourse/result']);
      expect(withoutNulls(meta)).toBe(true);
    }
});

test('without a session nothing is said of retries, for nobody counts them', async () => {
  const params = { name: 'stubborn_write', arguments: {} };
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  const text = 'ERROR: retry_requested: The row is locked.';

  for (const answer of [await post(service.url, call), await postModern(service.url, 'tools/call', params)])
    expect(answer.messages).toMatchObject([{ result: { content: [{ type: 'text', text }] } }]);
  expect(await post(service.url, call, { 'mcp-session-id': 'counted' })).toMatchObject({
    messages: [{ result: { content: [{ text: `${text} This was attempt 1 of 2; one retry is left.` }] } }],
  });
});

test('LlamaIndex reads a result as one, and not as a value that it cannot take', async () => {
  const { client } = await connect(service.url, 'modern');
  // As @llamaindex/tools makes tools of an MCP server.
  const toTool = (name: string) =>
    FunctionTool.from(async () => Object(await client.callTool({ name, arguments: {} })), {
      name,
      description: name,
      parameters: { type: 'object', properties: {} },
    });
  const quiet = { log: () => undefined, error: () => undefined, warn: () => undefined };
  for (const name of ['row', 'nothing', 'payload', 'typed_payload']) {
    const called = await callTool(toTool(name), { id: 'a', name, input: {} }, quiet);
    expect(called).toMatchObject({ isError: false, output: { content: [{ type: 'text' }] } });
  }
});
