import { describe, expect, test } from 'vitest';
import { createGemini } from './gemini.ts';
import { messageOf, postToProvider } from './post-to-provider.ts';

const question = { role: 'user', parts: [{ text: 'What is 2 + 3?' }] };
const call = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  functionCall: { name, args: {}, ...more },
});
const response = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  functionResponse: { name, response: { output: '5' }, ...more },
});
const model = (...parts: readonly unknown[]) => ({ role: 'model', parts });
const user = (...parts: readonly unknown[]) => ({ role: 'user', parts });

const post = (
  generation: 2 | 3,
  body: unknown,
  headers: Readonly<Record<string, string>> = { 'x-goog-api-key': 'key' },
) => postToProvider(createGemini({ generation }), '/v1beta/models/gemini-any:generateContent', body, headers);
const refusal = async (contents: readonly unknown[], declaration?: unknown, generation: 2 | 3 = 2) => {
  const tools = declaration === undefined ? undefined : [{ functionDeclarations: [declaration] }];
  const answer = await post(generation, { contents, tools });
  expect(answer.status).toBe(400);
  return messageOf(answer);
};

test('A conversation in which the next turn has one response per call, in order, is taken', async () => {
  const parameters = { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] };
  const declared = [
    { name: 'add', parameters },
    { name: 'find', parametersJsonSchema: { type: 'object', additionalProperties: false } },
  ];
  const contents = [question, model(call('add'), call('find')), user(response('add'), response('find'))];
  expect((await post(2, { contents, tools: [{ functionDeclarations: declared }] })).status).toBe(200);
  const signed = { ...call('add', { id: 'a' }), thoughtSignature: 'c2ln' };
  expect((await post(3, { contents: [question, model(signed), user(response('add', { id: 'a' }))] })).status).toBe(200);
});

describe('Gemini refuses', () => {
  test('a request without a key', async () => {
    expect((await post(2, { contents: [question] }, {})).status).toBe(403);
  });

  const COUNT =
    'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
  const PAIRS = 'Please ensure that function response parts match the function call parts of the function call turn.';

  test('a call without a response, and two responses for one', async () => {
    expect(await refusal([question, model(call('add'), call('find')), user(response('add'))])).toBe(COUNT);
    expect(await refusal([question, model(call('add')), user(response('add'), response('add'))])).toBe(COUNT);
    expect(await refusal([question, model(call('add')), user({ text: 'well?' })])).toBe(COUNT);
  });

  test('a response that no call turn precedes', async () => {
    expect(await refusal([question, user(response('add'))])).toBe(
      'Please ensure that function response turn comes immediately after a function call turn.',
    );
  });

  test('a call turn that no user turn precedes', async () => {
    expect(await refusal([model(call('add')), user(response('add'))])).toBe(
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    );
  });

  test('responses in another order, or under another name or id', async () => {
    expect(await refusal([question, model(call('add'), call('find')), user(response('find'), response('add'))])).toBe(
      PAIRS,
    );
    expect(await refusal([question, model(call('add')), user(response('math.add'))])).toBe(PAIRS);
    expect(await refusal([question, model(call('add', { id: 'a' })), user(response('add', { id: 'b' }))])).toBe(PAIRS);
    expect(await refusal([question, model(call('add')), user(response('add', { id: 'invented' }))])).toBe(PAIRS);
  });

  test('a response that is no object, or has no name', async () => {
    expect(await refusal([question, model(call('add')), user(response('add', { response: [5] }))])).toBe(
      `Invalid JSON payload received. Unknown name "response" at 'contents[2].parts[0].function_response': Proto field is not repeating, cannot start list.`,
    );
    expect(await refusal([question, model(call('add')), user(response('add', { response: '5' }))])).toBe(
      `Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "5"`,
    );
    expect(await refusal([question, model(call('add')), user(response(''))])).toBe(
      '* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.',
    );
  });

  test('a signature that did not come back, where the model gave one', async () => {
    const contents = [question, model(call('add', { id: 'a' })), user(response('add', { id: 'a' }))];
    expect(await refusal(contents, undefined, 3)).toContain('Function call is missing a thought_signature');
  });

  test('roles, parts and texts that are none', async () => {
    expect(await refusal([{ role: 'tool', parts: [{ text: '5' }] }])).toBe('Please use a valid role: user, model.');
    expect(await refusal([{ role: 'user', parts: [] }])).toBe(
      '* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.',
    );
    expect(await refusal([user({})])).toBe(
      "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
    );
    expect(await refusal([user({ text: 5 })])).toBe("Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5");
  });

  test.each([['1st'], ['-add'], ['math add'], ['a'.repeat(65)]])('the function name %j', async (name) => {
    expect(await refusal([question], { name })).toContain('tools[0].function_declarations[0].name: [FIELD_INVALID]');
  });

  const at = 'tools[0].function_declarations[0]';
  test.each([
    [{ type: 'object', additionalProperties: false }, `Unknown name "additionalProperties" at '${at}.parameters'`],
    [
      { type: 'object', properties: { x: { const: 1 } } },
      `Unknown name "const" at '${at}.parameters.properties[0].value'`,
    ],
    [
      { type: 'object', properties: { x: { type: ['string', 'null'] } } },
      'Proto field is not repeating, cannot start list.',
    ],
    [{ type: 'object', properties: { x: { type: 'array' } } }, '.parameters.properties[0].value.items: missing field.'],
    [{ type: 'object', properties: { x: { type: 'number', enum: [1] } } }, '.enum: only allowed for STRING type'],
    [{ type: 'object', properties: {} }, '.properties: should be non-empty for OBJECT type'],
    [{ type: 'object', properties: { x: { type: 'array', items: { $ref: '#' } } } }, '"$ref" at'],
    [{ type: 'object', properties: { x: { anyOf: [{ oneOf: [] }] } } }, '.any_of[0]'],
    ['object', 'Invalid value at'],
  ])('the parameters %j', async (parameters, fault) => {
    expect(await refusal([question], { name: 'add', parameters })).toContain(fault);
  });

  test('a declaration with a foreign member, with two schemas, or with one that is no object’s', async () => {
    expect(await refusal([question], { name: 'add', strict: true })).toContain('Unknown name "strict"');
    const both = { parameters: { type: 'string' }, parametersJsonSchema: { type: 'object' } };
    expect(await refusal([question], { name: 'add', ...both })).toContain('mutually exclusive');
    expect(await refusal([question], { name: 'add', parametersJsonSchema: [] })).toContain('must describe an object');
  });
});
