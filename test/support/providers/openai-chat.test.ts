import { describe, expect, test } from 'vitest';
import { openaiChat } from './openai-chat.ts';
import { messageOf, postToProvider } from './post-to-provider.ts';

const question = { role: 'user', content: 'What is 2 + 3?' };
const call = (id: string) => ({ id, type: 'function', function: { name: 'add', arguments: '{}' } });
const asked = (...ids: readonly string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) });
const told = (id: string, content: unknown = '5') => ({ role: 'tool', tool_call_id: id, content });
const parameters = { type: 'object', properties: { x: { type: 'number' } } };
const offer = (declared: Readonly<Record<string, unknown>>) => ({ type: 'function', function: declared });

const post = (body: unknown, headers: Readonly<Record<string, string>> = { authorization: 'Bearer key' }) =>
  postToProvider(openaiChat, '/v1/chat/completions', body, headers);
const refusal = async (messages: readonly unknown[], tools?: readonly unknown[]) => {
  const answer = await post({ model: 'any', messages, tools });
  expect(answer.status).toBe(400);
  return messageOf(answer);
};

test('A conversation in which every call is answered once, right after it was asked, is taken', async () => {
  const messages = [
    question,
    asked('a', 'b'),
    told('b'),
    told('a', [{ type: 'text', text: '5' }]),
    asked('c'),
    told('c'),
  ];
  const tools = [
    offer({ name: 'add', strict: true, parameters: { ...parameters, required: ['x'], additionalProperties: false } }),
  ];
  expect((await post({ model: 'any', messages, tools })).status).toBe(200);
});

describe('OpenAI chat refuses', () => {
  test('a request without a key', async () => {
    expect((await post({ messages: [question] }, {})).status).toBe(401);
  });

  test('a call without a result', async () => {
    expect(await refusal([question, asked('a', 'b'), told('a')])).toBe(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
    );
  });

  test('a result that does not directly follow its call', async () => {
    expect(await refusal([question, asked('a'), question, told('a')])).toBe(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    );
  });

  test('a result without a call', async () => {
    expect(await refusal([question, told('a')])).toBe(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    );
  });

  test('a result under an id that nobody asked', async () => {
    expect(await refusal([question, asked('a'), told('a'), told('x')])).toBe(
      "Invalid parameter: 'tool_call_id' of 'x' not found in 'tool_calls' of previous message.",
    );
  });

  test('two results for one call', async () => {
    expect(await refusal([question, asked('a'), told('a'), told('a')])).toBe(
      "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
    );
  });

  test('a result that is an object, or nothing', async () => {
    expect(await refusal([question, asked('a'), told('a', { sum: 5 })])).toBe(
      "Invalid type for 'messages[2].content': expected one of a string or array of objects, but got an object instead.",
    );
    expect(await refusal([question, asked('a'), told('a', null)])).toBe(
      "Invalid value for 'content': expected a string, got null.",
    );
    expect(await refusal([question, asked('a'), told('a', [{ type: 'image_url' }])])).toBe(
      "Invalid value: 'image_url'. Supported values are: 'text'.",
    );
  });

  test('arguments that are no text', async () => {
    const wrong = {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'add', arguments: {} } }],
    };
    expect(await refusal([question, wrong, told('a')])).toBe(
      "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an object instead.",
    );
  });

  test('a name with a dot, and one that is too long', async () => {
    expect(await refusal([question], [offer({ name: 'math.add', parameters })])).toBe(
      "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    );
    expect(await refusal([question], [offer({ name: 'a'.repeat(65), parameters })])).toBe(
      "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 65 instead.",
    );
  });

  test('a description that is no text', async () => {
    expect(await refusal([question], [offer({ name: 'add', description: {}, parameters })])).toBe(
      "Invalid type for 'tools[0].function.description': expected a string.",
    );
  });

  test('a tool of another shape', async () => {
    expect(await refusal([question], [{ type: 'function', name: 'add', parameters }])).toBe(
      "Missing required parameter: 'tools[0].function'.",
    );
  });

  test.each([
    [{ type: 'array' }, `schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.`],
    [{}, `schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`],
    ['object', `"object" is not of type 'object'.`],
  ])('parameters that describe no object: %j', async (wrong, fault) => {
    expect(await refusal([question], [offer({ name: 'add', parameters: wrong })])).toBe(
      `Invalid schema for function 'add': ${fault}`,
    );
  });

  test.each([
    [parameters, `In context=(), 'additionalProperties' is required to be supplied and to be false.`],
    [
      { ...parameters, additionalProperties: false },
      `In context=(), 'required' is required to be supplied and to be an array including every key in properties. Missing 'x'.`,
    ],
    [
      { type: 'object', properties: { x: { type: 'object' } }, required: ['x'], additionalProperties: false },
      `In context=('properties', 'x'), 'additionalProperties' is required to be supplied and to be false.`,
    ],
    [
      {
        type: 'object',
        properties: { x: { type: 'string', default: 'a' } },
        required: ['x'],
        additionalProperties: false,
      },
      `In context=('properties', 'x'), 'default' is not permitted.`,
    ],
    [
      { type: 'object', properties: { x: {} }, required: ['x'], additionalProperties: false },
      `In context=('properties', 'x'), schema must have a 'type' key.`,
    ],
    [
      {
        type: 'object',
        properties: { x: { type: 'array', items: { oneOf: [] } } },
        required: ['x'],
        additionalProperties: false,
      },
      `In context=('properties', 'x', 'items'), 'oneOf' is not permitted.`,
    ],
    [
      { type: 'object', properties: {}, required: ['y'], additionalProperties: false },
      `In context=(), 'required' must be an array that includes every key in \`properties\`. Extra required key 'y' supplied.`,
    ],
    [
      { type: 'object', anyOf: [], properties: {}, required: [], additionalProperties: false },
      `schema must have type 'object' and not have 'anyOf' at the top level.`,
    ],
  ])('a strict function whose schema is not strict: %j', async (wrong, fault) => {
    expect(await refusal([question], [offer({ name: 'add', strict: true, parameters: wrong })])).toBe(
      `Invalid schema for function 'add': ${fault}`,
    );
  });
});
