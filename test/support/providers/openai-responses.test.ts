import { describe, expect, test } from 'vitest';
import { createOpenaiResponses } from './openai-responses.ts';
import { messageOf, postToProvider } from './post-to-provider.ts';
import { startProviderEndpoint } from './provider-endpoint.ts';

const question = { role: 'user', content: 'What is 2 + 3?' };
const asked = (call_id: string) => ({
  type: 'function_call',
  id: `fc_${call_id}`,
  call_id,
  name: 'add',
  arguments: '{}',
});
const told = (call_id: string, output: unknown = '5') => ({ type: 'function_call_output', call_id, output });
const authorization = 'Bearer key';

const post = (body: unknown, headers: Readonly<Record<string, string>> = { authorization }) =>
  postToProvider(createOpenaiResponses(), '/v1/responses', body, headers);
const refusal = async (input: unknown, tools?: readonly unknown[]) => {
  const answer = await post({ model: 'any', input, tools });
  expect(answer.status).toBe(400);
  return messageOf(answer);
};

test('A conversation in which every call has one output, behind it, is taken', async () => {
  const input = [question, asked('a'), asked('b'), told('b'), told('a', [{ type: 'input_text', text: '5' }])];
  const tools = [{ type: 'function', name: 'add', parameters: { type: 'object' } }];
  expect((await post({ model: 'any', input, tools })).status).toBe(200);
  expect((await post({ model: 'any', input: 'What is 2 + 3?' })).status).toBe(200);
});

test('An item or a response that was given may be referred to by its id, and no other', async () => {
  const call = { id: 'a', name: 'add', arguments: {} };
  const endpoint = await startProviderEndpoint(createOpenaiResponses(), ({ rounds }) =>
    rounds.length === 0 ? { calls: [call] } : { text: `${rounds[0]?.[0]?.text} it is` },
  );
  const ask = async (input: readonly unknown[], previous_response_id?: string) => {
    const headers = { 'content-type': 'application/json', authorization };
    const answer = await fetch(`${endpoint.url}/v1/responses`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ input, previous_response_id }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  try {
    const first = await ask([question]);
    expect(first.text).toContain('"id":"fc_1_0"');
    const second = await ask([question, { type: 'item_reference', id: 'fc_1_0' }, told('a')]);
    expect(second.text).toContain('5 it is');
    const third = await ask([question, { type: 'item_reference', id: 'fc_9_9' }, told('a')]);
    expect(third.status).toBe(404);
    expect(third.text).toContain("Item with id 'fc_9_9' not found.");
    expect((await ask([told('a')], 'resp_1')).text).toContain('5 it is');
    expect((await ask([], 'resp_1')).text).toContain('No tool output found for function call a.');
    expect((await ask([told('a')], 'resp_9')).text).toContain("Previous response with id 'resp_9' not found.");
  } finally {
    await endpoint.stop();
  }
});

describe('OpenAI Responses refuses', () => {
  test('a request without a key', async () => {
    expect((await post({ input: [question] }, {})).status).toBe(401);
  });

  test('a call without an output', async () => {
    expect(await refusal([question, asked('a'), asked('b'), told('a')])).toBe(
      'No tool output found for function call b.',
    );
  });

  test('an output without a call, or before it', async () => {
    expect(await refusal([question, told('a')])).toBe('No tool call found for function call output with call_id a.');
    expect(await refusal([question, told('a'), asked('a')])).toBe(
      'No tool call found for function call output with call_id a.',
    );
  });

  test('two outputs for one call', async () => {
    expect(await refusal([question, asked('a'), told('a'), told('a')])).toBe(
      "Duplicate function_call_output for call_id 'a'. Each function_call must have exactly one matching function_call_output.",
    );
  });

  test('an item that comes twice', async () => {
    expect(await refusal([question, asked('a'), asked('a'), told('a')])).toBe(
      'Duplicate item found with id fc_a. Remove duplicate items from your input and try again.',
    );
  });

  test('an output that is an object', async () => {
    expect(await refusal([question, asked('a'), told('a', { sum: 5 })])).toBe(
      "Invalid type for 'input[2].output': expected one of an array of objects or string, but got an object instead.",
    );
    expect(await refusal({ calls: [] })).toBe(
      "Invalid type for 'input': expected one of a string or array of objects, but got an object instead.",
    );
  });

  test('an item of another API', async () => {
    expect(await refusal([question, { type: 'tool_result', call_id: 'a' }])).toBe("Invalid value: 'tool_result'.");
  });

  test('a tool in the shape of chat completions, a bad name, and a schema that is not strict', async () => {
    const parameters = { type: 'object', properties: { x: { type: 'number' } } };
    expect(await refusal([question], [{ type: 'function', function: { name: 'add', parameters } }])).toBe(
      "Missing required parameter: 'tools[0].name'.",
    );
    expect(await refusal([question], [{ type: 'function', name: 'math.add', parameters }])).toBe(
      "Invalid 'tools[0].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
    );
    expect(await refusal([question], [{ type: 'function', name: 'add', parameters, strict: true }])).toBe(
      "Invalid schema for function 'add': In context=(), 'additionalProperties' is required to be supplied and to be false.",
    );
  });
});
