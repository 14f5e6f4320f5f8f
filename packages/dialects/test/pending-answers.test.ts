import { ALL_FORMATS } from '@recourse/test-support/formats/all-formats.ts';
import { pending } from '@recourse/test-support/formats/results.ts';
import { toPublishedTurn } from '@recourse/test-support/formats/scenarios.ts';
import { expect, test } from 'vitest';
import { DIALECTS, detectDialect } from '#src/dialects.ts';
import { explainResult } from '#src/observation.ts';

const MESSAGE = "Tool 'echo' is still running (10 s so far). Do not call it again: continue with other work.";

const ANSWERS = {
  'openai-chat': { role: 'tool', tool_call_id: 'call_A1b2C3d4E5', content: MESSAGE },
  'openai-responses': { type: 'function_call_output', call_id: 'call_A1b2C3d4E5', output: MESSAGE },
  'openai-realtime': {
    type: 'conversation.item.create',
    item: { type: 'function_call_output', call_id: 'call_A1b2C3d4E5', output: MESSAGE },
  },
  anthropic: {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_01A1b2C3d4E5', content: MESSAGE }],
  },
  gemini: {
    role: 'user',
    parts: [{ functionResponse: { name: 'echo', response: { output: MESSAGE } } }],
  },
  bedrock: {
    role: 'user',
    content: [{ toolResult: { toolUseId: 'tooluse_A1b2C3d4E5', content: [{ text: MESSAGE }] } }],
  },
  mistral: { role: 'tool', toolCallId: 'A1b2C3d4E5', name: 'echo', content: MESSAGE },
  cohere: { role: 'tool', toolCallId: 'read_file_A1b2C3d4E5', content: MESSAGE },
  ollama: { role: 'tool', content: MESSAGE, tool_name: 'echo', tool_call_id: 'call_A1b2C3d4E5' },
  'ai-sdk': {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'call_A1b2C3d4E5',
        toolName: 'echo',
        output: { type: 'text', value: MESSAGE },
      },
    ],
  },
  vapi: { toolCallId: 'toolu_01A1b2C3d4E5', name: 'echo', result: MESSAGE },
  langchain: {
    type: 'tool',
    role: 'tool',
    content: MESSAGE,
    tool_call_id: 'call_A1b2C3d4E5',
    name: 'echo',
    status: 'success',
  },
  text: `PENDING: ${MESSAGE}`,
};

test.for(ALL_FORMATS)('%s: a pending call is answered under its id, neither as an error nor as a success', (format) => {
  const turn = DIALECTS.get(format)?.parse(toPublishedTurn(format, 'one-call'));
  const [answer, ...more] = turn?.toMessages([pending(MESSAGE)]) ?? [];
  expect(more).toEqual([]);
  expect(answer).toEqual(ANSWERS[format]);
});

test('a pending call is observed as its message, with warnings behind it', () => {
  expect(explainResult(pending(MESSAGE))).toBe(MESSAGE);
  const warnings = [{ code: 'argument_repaired', message: 'x was read as a number.' }];
  expect(explainResult(pending(MESSAGE, { warnings }))).toBe(`${MESSAGE}\nWarning: x was read as a number.`);
});

test("the Live API's message is told by its shape, and a pending call of it announces a second response", () => {
  const body = {
    toolCall: {
      functionCalls: [
        { id: 'a', name: 'deploy', args: { to: 'prod' } },
        { id: 'b', name: 'echo', args: {} },
      ],
    },
  };
  const dialect = DIALECTS.get('gemini');
  expect(detectDialect(body)).toBe(dialect);
  const turn = dialect?.parse(body);
  expect(turn?.calls).toEqual([
    { id: 'a', name: 'deploy', arguments: { to: 'prod' } },
    { id: 'b', name: 'echo', arguments: {} },
  ]);
  expect(turn?.toMessages([pending(MESSAGE), { ...pending(MESSAGE), ...DONE }])).toEqual([
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'deploy', response: { output: MESSAGE }, willContinue: true } },
        { functionResponse: { id: 'b', name: 'echo', response: { output: 'done' } } },
      ],
    },
  ]);
});

const DONE = { success: true, outcome: 'success', executed: 'yes', value: 'done', message: '' } as const;
