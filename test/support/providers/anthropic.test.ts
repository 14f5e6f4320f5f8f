import { describe, expect, test } from 'vitest';
import { createAnthropic } from './anthropic.ts';
import { messageOf, postToProvider } from './post-to-provider.ts';
import { startProviderEndpoint } from './provider-endpoint.ts';

const question = { role: 'user', content: 'What is 2 + 3?' };
const asked = (...ids: readonly string[]) => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'tool_use', id, name: 'add', input: {} })),
});
const result = (tool_use_id: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: 'tool_result',
  tool_use_id,
  content: '5',
  ...more,
});
const told = (...content: readonly unknown[]) => ({ role: 'user', content });
const keyed = { 'x-api-key': 'key', 'anthropic-version': '2026-10-21' };
const input_schema = { type: 'object', properties: { x: { type: 'number' } } };

const post = (body: unknown, headers: Readonly<Record<string, string>> = keyed) =>
  postToProvider(createAnthropic(), '/v1/messages', body, headers);
const refusal = async (messages: readonly unknown[], tools?: readonly unknown[]) => {
  const answer = await post({ model: 'any', max_tokens: 100, messages, tools });
  expect(answer.status).toBe(400);
  return messageOf(answer);
};

test('A conversation in which one user message begins with all results is taken', async () => {
  const messages = [
    question,
    asked('a', 'b'),
    told(result('b', { is_error: true }), result('a', { content: [{ type: 'text', text: '5' }] }), {
      type: 'text',
      text: 'Go on.',
    }),
    asked('c'),
    told(result('c', { content: '' })),
  ];
  const tools = [{ name: 'add', description: 'Adds.', input_schema }];
  expect((await post({ model: 'any', max_tokens: 100, messages, tools })).status).toBe(200);
});

test('A thread goes on from a reply that was given, and from no other', async () => {
  const endpoint = await startProviderEndpoint(createAnthropic(), ({ rounds }) =>
    rounds.length === 0
      ? { calls: [{ id: 'a', name: 'add', arguments: {} }] }
      : { text: `${rounds[0]?.[0]?.text} it is` },
  );
  const ask = async (messages: readonly unknown[], thread: unknown) => {
    const headers = { 'content-type': 'application/json', ...keyed };
    const body = JSON.stringify({ max_tokens: 100, messages, thread });
    return (await fetch(`${endpoint.url}/v1/messages`, { method: 'POST', headers, body })).text();
  };
  try {
    expect(await ask([question], { type: 'create' })).toContain('"id":"msg_1"');
    const thread = { type: 'continue', previous_message_id: 'msg_1' };
    expect(await ask([told(result('a'))], thread)).toContain('5 it is');
    expect(await ask([told(result('b'))], thread)).toContain('unexpected `tool_use_id`');
    expect(await ask([told(result('a'))], { ...thread, previous_message_id: 'msg_9' })).toContain('not found');
  } finally {
    await endpoint.stop();
  }
});

describe('Anthropic refuses', () => {
  test('a request without a key, and one without max_tokens', async () => {
    expect((await post({ max_tokens: 1, messages: [question] }, {})).status).toBe(401);
    expect(messageOf(await post({ messages: [question] }))).toBe('max_tokens: Field required');
  });

  test('an unknown version, and what the newest version has dropped', async () => {
    const old = { 'x-api-key': 'key', 'anthropic-version': '2020-01-01' };
    expect(messageOf(await post({ max_tokens: 1, messages: [question] }, old))).toBe(
      'anthropic-version: header is required',
    );
    expect(messageOf(await post({ max_tokens: 1, messages: [question], top_p: 1 }))).toBe(
      'top_p: Extra inputs are not permitted',
    );
  });

  const MISSING =
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block must have a corresponding `tool_result` block in the next message.';

  test('a tool_use without a result', async () => {
    expect(await refusal([question, asked('a', 'b'), told(result('a'))])).toBe(MISSING);
  });

  test('a result that stands behind a text', async () => {
    expect(
      await refusal([question, asked('a', 'b'), told(result('a'), { type: 'text', text: 'and' }, result('b'))]),
    ).toBe(MISSING);
  });

  test('results spread over two messages', async () => {
    expect(await refusal([question, asked('a', 'b'), told(result('a')), told(result('b'))])).toBe(
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    );
  });

  test('a result without a tool_use in the message before', async () => {
    expect(await refusal([question, asked('a'), told(result('a'), result('x'))])).toBe(
      'messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    );
  });

  test('two results for one tool_use, and two of one id', async () => {
    expect(await refusal([question, asked('a'), told(result('a'), result('a'))])).toBe(
      'messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: a',
    );
    expect(await refusal([question, asked('a', 'a'), told(result('a'))])).toBe(
      'messages: `tool_use` ids must be unique',
    );
  });

  test('a role that is none of its own', async () => {
    expect(await refusal([question, asked('a'), { role: 'tool', content: '5' }])).toBe(
      'messages: Unexpected role "tool". The Messages API accepts "user" and "assistant".',
    );
  });

  test.each([
    [{ is_error: 'true' }, '.is_error: Input should be a valid boolean'],
    [{ is_error: null }, '.is_error: Input should be a valid boolean'],
    [{ content: { sum: 5 } }, '.content: Input should be a valid list'],
    [{ content: '', is_error: true }, ': content cannot be empty if `is_error` is true'],
  ])('a result with %j', async (more, fault) => {
    expect(await refusal([question, asked('a'), told(result('a', more))])).toBe(
      `messages.2.content.0.tool_result${fault}`,
    );
  });

  test.each([
    ['', 'messages: text content blocks must be non-empty'],
    [' \n', 'messages: text content blocks must contain non-whitespace text'],
  ])('the text %j, in a message and in a result', async (text, fault) => {
    const block = { type: 'text', text };
    expect(await refusal([told(block)])).toBe(fault);
    expect(await refusal([question, asked('a'), told(result('a', { content: [block] }))])).toBe(fault);
  });

  test('a message without content', async () => {
    expect(await refusal([{ role: 'user', content: [] }, asked()])).toBe(
      'messages.0: all messages must have non-empty content except for the optional final assistant message',
    );
    expect(await refusal([{ role: 'user', content: 5 }])).toBe('messages.0.content: Input should be a valid list');
  });

  test.each([
    [{ name: 'math.add', input_schema }, ".name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"],
    [{ name: 'add' }, '.input_schema: Field required'],
    [{ name: 'add', input_schema: {} }, '.input_schema.type: Field required'],
    [{ name: 'add', input_schema: { type: 'array' } }, ".input_schema.type: Input should be 'object'"],
    [{ name: 'add', input_schema, parameters: {} }, '.parameters: Extra inputs are not permitted'],
    [
      { name: 'add', input_schema: { type: 'object', anyOf: [] } },
      '.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level',
    ],
    [
      { name: 'add', input_schema: { type: 'object', properties: { 'a b': {} } } },
      ".input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ],
    [
      { name: 'add', input_schema: { type: 'object', required: 'x' } },
      '.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).',
    ],
  ])('the tool %j', async (tool, fault) => {
    expect(await refusal([question], [tool])).toBe(`tools.0.custom${fault}`);
  });

  const strictly = (schema: unknown) => ({ name: 'add', strict: true, input_schema: schema });
  const closed = { type: 'object', additionalProperties: false };
  test.each([
    [input_schema, "For 'object' type, 'additionalProperties' must be explicitly set to false"],
    [
      { ...closed, properties: { x: { type: 'array', items: { type: 'object' } } } },
      "For 'object' type, 'additionalProperties' must be explicitly set to false",
    ],
    [
      { ...closed, properties: { x: { type: 'number', minimum: 1, maximum: 2 } } },
      "For 'number' type, properties minimum, maximum are not supported",
    ],
    [
      { ...closed, properties: { x: { anyOf: [{ type: 'array', minItems: 2 }] } } },
      "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    ],
  ])('the strict schema %j', async (schema, fault) => {
    expect(await refusal([question], [strictly(schema)])).toBe(`tools.0.custom: ${fault}`);
  });

  test('more than 20 strict tools', async () => {
    const tools = Array.from({ length: 21 }, (_, place) => ({ ...strictly(closed), name: `add_${place}` }));
    expect(await refusal([question], tools)).toBe(
      'tools: Too many strict tools (21). The maximum number of strict tools supported is 20.',
    );
  });

  test('two tools of one name', async () => {
    const tool = { name: 'add', input_schema };
    expect(await refusal([question], [tool, tool])).toBe('tools: Tool names must be unique.');
  });
});
