import { toBodyArbitrary } from '@recourse/test-support/formats/body-arbitrary.ts';
import { PUBLISHED, SCENARIOS, toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatsIn } from '#src/detect-format.ts';
import { DIALECTS, detectDialect } from '#src/dialects.ts';

const FORMATS = [
  ...(['openai-chat', 'openai-responses', 'openai-realtime', 'anthropic', 'gemini', 'bedrock', 'mistral'] as const),
  ...(['cohere', 'ollama', 'ai-sdk', 'vapi', 'langchain'] as const),
];

/** Which formats read each other's messages; every other pair is refused. */
const RELATED: Readonly<Record<string, readonly string[]>> = {
  'openai-responses': ['openai-realtime'],
  'openai-realtime': ['openai-responses'],
  mistral: ['openai-chat', 'cohere'],
  cohere: ['openai-chat', 'mistral', 'ollama'],
  ollama: ['openai-chat', 'cohere'],
};

const NAMES = ['read_file', 'read_file', 'list_files'];

test.for(FORMATS)('%s reads of other formats either every call or nothing', (named) => {
  for (const written of FORMATS) {
    const body = toPublishedTurn(written, 'parallel-one-fails');
    const turn = DIALECTS.get(named)?.parse(body) ?? null;
    if (turn === null) continue;
    const read = turn.calls.map((call) => Object(call));
    expect(
      read.map(({ name }) => name),
      `${written} read as ${named}`,
    ).toEqual(NAMES);
    const given = read.map((call) =>
      typeof call.arguments === 'string' ? JSON.parse(call.arguments) : call.arguments,
    );
    expect(given).toEqual(SCENARIOS['parallel-one-fails'].calls.map((call) => JSON.parse(call.arguments)));
    if (written !== named) expect(RELATED[named], `${written} read as ${named}`).toContain(written);
  }
  expect(Object.keys(PUBLISHED)).toContain(named);
});

const CHAT_CALL = { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{}' } };
const TOOL_USE = { type: 'tool_use', id: 'toolu_1', name: 'echo', input: {} };
const TOOL_BLOCK = { toolUse: { toolUseId: 'tooluse_1', name: 'echo', input: {} } };
const PART = { functionCall: { name: 'echo', args: {} } };
const SDK_PART = { type: 'tool-call', toolCallId: 'call_1', toolName: 'echo', input: {} };
const PIECE = { functionCall: { name: 'echo', willContinue: true } };

const ROWS: readonly (readonly [string, (typeof FORMATS)[number], unknown, readonly string[]])[] = [
  ['a message of Mistral', 'openai-chat', { role: 'assistant', toolCalls: [CHAT_CALL] }, ['mistral', 'cohere']],
  [
    "the completion of Mistral's client",
    'openai-chat',
    { choices: [{ message: { role: 'assistant', toolCalls: [{ ...CHAT_CALL, index: 0 }] } }] },
    ['mistral'],
  ],
  [
    'a piece of a stream',
    'openai-chat',
    { object: 'chat.completion.chunk', choices: [{ delta: { tool_calls: [{ index: 0, ...CHAT_CALL }] } }] },
    ['openai-chat'],
  ],
  ['tool_use blocks', 'openai-chat', { role: 'assistant', content: [TOOL_USE] }, ['anthropic']],
  ['a list of tool_use blocks', 'openai-chat', [TOOL_USE], ['anthropic']],
  ['one call for the list', 'openai-chat', { role: 'assistant', tool_calls: CHAT_CALL }, ['openai-chat']],
  ['one call for the list', 'cohere', { message: { role: 'assistant', tool_calls: CHAT_CALL } }, ['openai-chat']],
  ['one call for the list', 'mistral', { role: 'assistant', toolCalls: CHAT_CALL }, ['mistral', 'cohere']],
  [
    'a text for the list of a choice',
    'openai-chat',
    { choices: [{ message: { role: 'assistant', tool_calls: '[]' } }] },
    ['openai-chat'],
  ],
  ['events of a stream', 'anthropic', [{ type: 'content_block_start', content_block: TOOL_USE }], ['anthropic']],
  ['events of a stream', 'bedrock', [{ contentBlockStart: { start: TOOL_BLOCK } }], ['bedrock']],
  ['responses in a list', 'gemini', [{ response: { candidates: [{ content: { parts: [PART] } }] } }], ['gemini']],
  ['contents beside parts', 'gemini', { parts: [{ text: 'Hm' }], contents: [{ parts: [PART] }] }, ['gemini']],
  ['events of a stream', 'ai-sdk', [{ type: 'tool-input-available', toolName: 'echo', input: {} }], ['ai-sdk']],
  [
    'events of a stream',
    'openai-realtime',
    [{ type: 'response.function_call_arguments.done', call_id: 'c', name: 'echo', arguments: '{}' }],
    ['openai-realtime'],
  ],
  [
    'calls beside the message',
    'langchain',
    { type: 'ai', content: '', additional_kwargs: { tool_calls: [CHAT_CALL] } },
    ['openai-chat'],
  ],
  [
    'chunks alone',
    'langchain',
    { type: 'AIMessageChunk', content: '', tool_call_chunks: [{ name: 'echo', args: '{}', id: 'a' }] },
    ['langchain'],
  ],
  [
    'calls with their tools alone',
    'vapi',
    { message: { type: 'tool-calls', toolWithToolCallList: [{ name: 'echo', toolCall: CHAT_CALL }] } },
    ['openai-chat'],
  ],
  ...(['anthropic', 'bedrock', 'gemini', 'ai-sdk', 'openai-responses', 'openai-realtime'] as const).flatMap(
    (format) =>
      [
        ["the service's own calls", format, [{ id: 'a', name: 'echo', arguments: {} }], ['text']],
        ['calls without a type', format, [{ id: 'a', name: 'echo', args: {} }], ['langchain']],
      ] as const,
  ),
  ['parts with a type', 'anthropic', [{ type: 'functionCall', ...PART }], ['gemini']],
  [
    'an item without call_id',
    'anthropic',
    [{ type: 'function_call', name: 'echo', arguments: '{}' }],
    ['openai-responses'],
  ],
  ['a conversation', 'openai-chat', [{ role: 'assistant', content: null, tool_calls: [CHAT_CALL] }], ['openai-chat']],
  ['blocks of Bedrock', 'anthropic', { role: 'assistant', content: [{ text: 'Hm' }, TOOL_BLOCK] }, ['bedrock']],
  ['parts of the AI SDK', 'anthropic', { role: 'assistant', content: [SDK_PART] }, ['ai-sdk']],
  ['parts of the AI SDK among its own', 'anthropic', [TOOL_USE, SDK_PART], ['anthropic', 'ai-sdk']],
  [
    'calls of OpenAI beside a text',
    'anthropic',
    { role: 'assistant', content: 'Hm', tool_calls: [CHAT_CALL] },
    ['openai-chat'],
  ],
  ['contents', 'gemini', [{ role: 'model', parts: [PART] }], ['gemini']],
  [
    'calls of which a stream gives the arguments as well',
    'gemini',
    [{ candidates: [{ content: { parts: [PIECE] } }] }],
    ['gemini'],
  ],
  [
    'parts of the AI SDK for the screen',
    'gemini',
    { parts: [{ type: 'tool-echo', toolCallId: 'call_1', state: 'input-available', input: {} }] },
    ['ai-sdk'],
  ],
  [
    'an event of the Realtime API',
    'openai-chat',
    { role: 'assistant', response: { output: [{ type: 'function_call', call_id: 'c' }] } },
    ['openai-responses'],
  ],
  ['calls of OpenAI', 'langchain', [CHAT_CALL], ['openai-chat']],
  ['calls of OpenAI in a message', 'langchain', { type: 'ai', content: '', tool_calls: [CHAT_CALL] }, ['openai-chat']],
  [
    'blocks that LangChain has not parsed',
    'langchain',
    { type: 'ai', content: [TOOL_USE], tool_calls: [] },
    ['anthropic'],
  ],
  [
    "LangChain's calls without a type",
    'openai-chat',
    { tool_calls: [{ name: 'echo', args: {}, id: 'a' }] },
    ['langchain'],
  ],
  [
    'the function_call of old',
    'anthropic',
    { role: 'assistant', content: 'Hm', function_call: { name: 'echo', arguments: '{}' } },
    ['openai-chat'],
  ],
];

test.for(ROWS)('%s is not read as %s', ([, format, body, found]) => {
  expect(DIALECTS.get(format)?.parse(body)).toBe(null);
  expect(formatsIn(body)).toEqual(found);
});

test('what the provider or the runtime has run itself is nobody’s call', () => {
  const bodies = [
    [{ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} }],
    [{ type: 'tool-call', toolCallId: 'a', toolName: 'web_search', input: {}, providerExecuted: true }],
    [{ toolUse: { toolUseId: 'a', name: 'nova_grounding', input: {}, type: 'server_tool_use' } }],
    [{ type: 'tool-echo', toolCallId: 'a', state: 'output-available', input: {}, output: 1 }],
  ];
  expect(bodies.map(formatsIn)).toEqual([[], [], [], []]);
  expect(DIALECTS.get('ai-sdk')?.parse(bodies[1])?.calls).toEqual([]);
  expect(DIALECTS.get('bedrock')?.parse(bodies[2])?.calls).toEqual([]);
});

test('a body of which no call is read holds none, whatever the format that it names', () => {
  let silent = 0;
  fc.assert(
    fc.property(toBodyArbitrary(), (body) => {
      for (const dialect of DIALECTS.values()) {
        if (dialect.format === 'text' || dialect.parse(body)?.calls.length !== 0) continue;
        silent += 1;
        expect(formatsIn(body)).toEqual([]);
      }
    }),
    { numRuns: 2000 },
  );
  expect(silent).toBeGreaterThan(200);
});

// What may be missing from a message, and what else may stand in it, without making it another format's.
const CHANGES = fc.record({
  drop: fc.subarray([
    'id',
    'object',
    'type',
    'index',
    'usage',
    'metrics',
    'stopReason',
    'model',
    'response',
    'done_reason',
  ]),
  add: fc.dictionary(
    fc.constantFrom('id', 'usage', 'metadata', 'model', 'created', 'refusal', 'name', '$metadata'),
    fc.jsonValue(),
  ),
});

test('a message is told as its own format or as none, whatever is left out of it or added', () => {
  fc.assert(
    fc.property(fc.constantFrom(...FORMATS), CHANGES, (format, { drop, add }) => {
      const body = { ...Object(toPublishedTurn(format, 'parallel-one-fails')) };
      for (const key of drop) delete body[key];
      expect([format, null]).toContain(detectDialect({ ...add, ...body })?.format ?? null);
    }),
    { numRuns: 1000 },
  );
});
