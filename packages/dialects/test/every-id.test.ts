import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { toBodyArbitrary } from '@recourse/test-support/formats/body-arbitrary.ts';
import { readAnswers, writeTurn } from '@recourse/test-support/formats/conversation.ts';
import { failed, succeeded } from '@recourse/test-support/formats/results.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DIALECTS, detectDialect } from '#src/dialects.ts';

const parse = (format: Parameters<typeof DIALECTS.get>[0], body: unknown) => {
  const turn = DIALECTS.get(format)?.parse(body) ?? null;
  if (turn === null) throw new Error(`not read as ${format}`);
  return turn;
};

const answersOf = (format: Parameters<typeof DIALECTS.get>[0], body: unknown, texts: readonly string[]) =>
  parse(format, body).toMessages(texts.map((text) => succeeded(text)));

test('malformed tool calls of OpenAI become entries that fail as such, each with its answer', () => {
  const body = [42, { id: 'a' }, { id: 7, function: 'x' }, { function: { name: 'echo', arguments: '{' } }, null];
  expect(parse('openai-chat', body).calls).toEqual([
    42,
    { id: 'a', name: undefined, arguments: undefined },
    { id: 7, name: undefined, arguments: undefined },
    { id: undefined, name: 'echo', arguments: '{' },
    null,
  ]);
  expect(answersOf('openai-chat', body, ['1', '2', '3', '4', '5'])).toEqual([
    { role: 'tool', tool_call_id: '', content: '1' },
    { role: 'tool', tool_call_id: 'a', content: '2' },
    { role: 'tool', tool_call_id: '7', content: '3' },
    { role: 'tool', tool_call_id: '', content: '4' },
    { role: 'tool', tool_call_id: '', content: '5' },
  ]);
});

test('a tool_use without a name and input is a call all the same', () => {
  const body = [{ type: 'tool_use', id: 'toolu_1' }, { type: 'tool_use' }, 42];
  expect(parse('anthropic', body).calls).toEqual([
    { id: 'toolu_1', name: undefined, arguments: undefined },
    { id: undefined, name: undefined, arguments: undefined },
  ]);
  expect(answersOf('anthropic', body, ['1', '2'])).toEqual([
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: '1' },
        { type: 'tool_result', tool_use_id: '', content: '2' },
      ],
    },
  ]);
});

test('a Gemini call without a name is answered under one, as the API wants it', () => {
  const body = [{ functionCall: 42 }, { functionCall: { id: 'a' } }, { functionCall: { name: 'echo' } }];
  expect(parse('gemini', body).calls).toEqual([
    42,
    { id: 'a', name: undefined, arguments: undefined },
    { id: undefined, name: 'echo', arguments: undefined },
  ]);
  expect(answersOf('gemini', body, ['1', '2', '3'])).toEqual([
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'unknown', response: { output: '1' } } },
        { functionResponse: { id: 'a', name: 'unknown', response: { output: '2' } } },
        { functionResponse: { name: 'echo', response: { output: '3' } } },
      ],
    },
  ]);
});

test('a call without an id is answered by its name where there is one, and a function_call of old as such', () => {
  const call = { function: { name: 'echo', arguments: {} } };
  expect(
    answersOf('ollama', { message: { role: 'assistant', tool_calls: [call, 42] }, done: true }, ['1', '2']),
  ).toEqual([
    { role: 'tool', content: '1', tool_name: 'echo' },
    { role: 'tool', content: '2', tool_name: 'unknown' },
  ]);
  const legacy = { role: 'assistant', content: null, function_call: { name: 'echo', arguments: '{}' } };
  expect(answersOf('openai-chat', legacy, ['1'])).toEqual([{ role: 'function', name: 'echo', content: '1' }]);
});

test('Mistral and Cohere are answered in the spelling they were asked in', () => {
  const call = { id: 'a', type: 'function', function: { name: 'echo', arguments: '{}' } };
  const both = (format: 'mistral' | 'cohere') => [
    ...answersOf(format, { role: 'assistant', toolCalls: [call] }, ['1']),
    ...answersOf(format, { role: 'assistant', tool_calls: [call] }, ['2']),
    ...answersOf(format, [call], ['3']),
  ];
  expect(both('mistral')).toEqual([
    { role: 'tool', toolCallId: 'a', name: 'echo', content: '1' },
    { role: 'tool', tool_call_id: 'a', name: 'echo', content: '2' },
    { role: 'tool', toolCallId: 'a', name: 'echo', content: '3' },
  ]);
  expect(both('cohere')).toEqual([
    { role: 'tool', toolCallId: 'a', content: '1' },
    { role: 'tool', tool_call_id: 'a', content: '2' },
    { role: 'tool', toolCallId: 'a', content: '3' },
  ]);
});

test('what LangChain could not parse is answered after the rest, and never runs with {}', () => {
  const body = {
    type: 'ai',
    content: '',
    tool_calls: [{ name: 'add', args: { x: 1 }, id: 'call_1', type: 'tool_call' }],
    invalid_tool_calls: [
      { name: 'add', args: '{"x": ', id: 'call_2', error: 'Malformed args.', type: 'invalid_tool_call' },
      { name: 'add', args: null, id: 'call_3', type: 'invalid_tool_call' },
      { name: null, args: ' ', id: 'call_4', type: 'invalid_tool_call' },
      'call_5',
    ],
  };
  expect(parse('langchain', body).calls).toEqual([
    { id: 'call_1', name: 'add', arguments: { x: 1 } },
    { id: 'call_2', name: 'add', arguments: '{"x": ' },
    { id: 'call_3', name: 'add', arguments: '{' },
    { id: 'call_4', name: null, arguments: '{' },
    'call_5',
  ]);
  const head = { type: 'tool', role: 'tool', status: 'success' };
  expect(answersOf('langchain', body, ['1', '2', '3', '4', '5'])).toEqual([
    { ...head, tool_call_id: 'call_1', name: 'add', content: '1' },
    { ...head, tool_call_id: 'call_2', name: 'add', content: '2' },
    { ...head, tool_call_id: 'call_3', name: 'add', content: '3' },
    { ...head, tool_call_id: 'call_4', content: '4' },
    { ...head, tool_call_id: '', content: '5' },
  ]);
});

test('malformed calls of Vapi are answered in their places', () => {
  const body = {
    message: { type: 'tool-calls', toolCallList: [42, { id: 'a' }, { id: 'b', function: { name: 'echo' } }] },
  };
  expect(parse('vapi', body).calls).toEqual([
    42,
    { id: 'a', name: undefined, arguments: undefined },
    { id: 'b', name: 'echo', arguments: undefined },
  ]);
  expect(answersOf('vapi', body, ['1', '2', '3'])).toEqual([
    { toolCallId: '', result: '1' },
    { toolCallId: 'a', result: '2' },
    { toolCallId: 'b', name: 'echo', result: '3' },
  ]);
});

test('calls that share an id are answered one by one, in order', () => {
  const call = (name: string) => ({ id: 'call_0', type: 'function', function: { name, arguments: '{}' } });
  expect(answersOf('openai-chat', [call('echo'), call('list_files')], ['1', '2'])).toEqual([
    { role: 'tool', tool_call_id: 'call_0', content: '1' },
    { role: 'tool', tool_call_id: 'call_0', content: '2' },
  ]);
});

test('answers carry the ids and names that were asked, whatever the results say', () => {
  const body = { functionCalls: [{ id: 'a', name: 'asked_name', args: {} }] };
  const result = succeeded('x', { id: 'other', name: 'mapped.name' });
  expect(parse('gemini', body).toMessages([result])).toEqual([
    { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'asked_name', response: { output: 'x' } } }] },
  ]);
});

test('a call without a result is answered as a failure of the service, and results too many are left out', () => {
  const body = [1, 2].map((id) => ({ type: 'tool_use', id: `toolu_${id}`, name: 'echo', input: {} }));
  const missing =
    'ERROR: internal_error: The service has no result for this call, which is not your fault. It may or may not have run. Check before calling it again.';
  const one = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' };
  expect(parse('anthropic', body).toMessages([succeeded('ok')])).toEqual([
    { role: 'user', content: [one, { type: 'tool_result', tool_use_id: 'toolu_2', content: missing, is_error: true }] },
  ]);
  expect(parse('anthropic', body.slice(0, 1)).toMessages([succeeded('ok'), failed('no')])).toEqual([
    { role: 'user', content: [one] },
  ]);
});

test('a turn without calls is answered with nothing at all', () => {
  for (const format of ALL_FORMATS) {
    const turn = parse(format, writeTurn(format, []));
    expect(turn?.calls).toEqual([]);
    expect(turn?.toMessages([])).toEqual([]);
  }
  expect(DIALECTS.get('vapi')?.toRaw([])).toEqual({ results: [] });
  expect(DIALECTS.get('anthropic')?.toRaw([])).toEqual([]);
});

const DEEP = { open: '{"tool_calls":[{"args":', close: '}]}' };
const HOSTILE: readonly (readonly [string, () => unknown])[] = [
  ['nested 5 000 deep', () => JSON.parse(`${DEEP.open.repeat(5000)}1${DEEP.close.repeat(5000)}`)],
  ['arrays 100 000 deep', () => JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
  ['with __proto__ keys', () => JSON.parse('{"__proto__":{"tool_calls":[]},"tool_calls":[{"__proto__":{"id":"x"}}]}')],
  ['with 300 000 entries', () => ({ tool_calls: Array.from({ length: 300_000 }, () => 0) })],
  ['with 100 000 parts', () => Array.from({ length: 100_000 }, () => ({ text: 'x' }))],
  ['with 80 000 keys', () => Object.fromEntries(Array.from({ length: 80_000 }, (_, index) => [`key${index}`, index]))],
];

test.for(HOSTILE)('a body %s throws nowhere', ([, make]) => {
  const body = make();
  detectDialect(body);
  for (const dialect of DIALECTS.values()) {
    const turn = dialect.parse(body);
    expect(turn?.toMessages([]).length ?? 0).toBeLessThanOrEqual(300_000);
  }
});

test('an inherited member is no member', () => {
  const inherited: unknown = Object.create({ id: 'x', function: { name: 'echo' } });
  expect(parse('openai-chat', [inherited]).calls).toEqual([{ id: undefined, name: undefined, arguments: undefined }]);
});

test('whatever comes in, no dialect throws, and every call has one answer', () => {
  fc.assert(
    fc.property(toBodyArbitrary(), fc.array(fc.boolean()), (body, ends) => {
      for (const format of ALL_FORMATS) {
        const turn = DIALECTS.get(format)?.parse(body) ?? null;
        if (turn === null) continue;
        const results = ends.map((success) => (success ? succeeded({ x: 1 }) : failed('It failed.')));
        const messages = turn.toMessages(results);
        expect(readAnswers(format, messages)).toHaveLength(turn.calls.length);
        expect(JSON.parse(JSON.stringify(messages))).toEqual(messages);
      }
    }),
    { numRuns: 2000 },
  );
});
