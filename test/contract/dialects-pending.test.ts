import { expectProblem } from '@recourse/test-support/check-answer.ts';
import { postTurn } from '@recourse/test-support/dialect-client.ts';
import { createAnthropic } from '@recourse/test-support/providers/anthropic.ts';
import { createGemini } from '@recourse/test-support/providers/gemini.ts';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { cohere, createBedrock, mistral, ollama } from '@recourse/test-support/providers/other-apis.ts';
import type { Headers, Provider } from '@recourse/test-support/providers/provider.ts';
import { expect, test } from 'vitest';
import { ASYNC, CHAT, get, read, start } from './dialects-pending-lab.ts';

type Sort = {
  readonly provider: Provider;
  readonly headers: Headers;
  /** What the API is sent, made of a question, what the model said, and what the service answered. */
  readonly toBody: (messages: readonly unknown[]) => unknown;
  readonly question: unknown;
  /** The model's turn as the service is sent it, and as the conversation has it. */
  readonly turn: unknown;
  /** What the model says meanwhile. */
  readonly said: unknown;
};

const SORTS: Readonly<Record<string, Sort>> = {
  'openai-chat': { ...CHAT, provider: openaiChat },
  mistral: { ...CHAT, provider: mistral },
  cohere: { ...CHAT, provider: cohere },
  ollama: {
    ...CHAT,
    provider: ollama,
    turn: {
      role: 'assistant',
      content: '',
      tool_calls: [
        { function: { name: 'deploy', arguments: { to: 'prod' } } },
        { function: { name: 'look', arguments: {} } },
      ],
    },
  },
  'openai-responses': {
    ...CHAT,
    provider: createOpenaiResponses(),
    toBody: (input) => ({ model: 'any', input: input.flat() }),
    turn: [
      { type: 'function_call', call_id: 'call_1', name: 'deploy', arguments: '{"to":"prod"}' },
      { type: 'function_call', call_id: 'call_2', name: 'look', arguments: '{}' },
    ],
  },
  anthropic: {
    ...CHAT,
    provider: createAnthropic(),
    headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' },
    toBody: (messages) => ({ model: 'any', max_tokens: 100, messages }),
    turn: {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call_1', name: 'deploy', input: { to: 'prod' } },
        { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
      ],
    },
  },
  gemini: {
    provider: createGemini({ generation: 2 }),
    headers: { 'x-goog-api-key': 'key' },
    toBody: (contents) => ({ contents }),
    question: { role: 'user', parts: [{ text: 'Deploy it.' }] },
    turn: {
      role: 'model',
      parts: [{ functionCall: { name: 'deploy', args: { to: 'prod' } } }, { functionCall: { name: 'look', args: {} } }],
    },
    said: { role: 'model', parts: [{ text: 'It is being deployed.' }] },
  },
  bedrock: {
    provider: createBedrock(),
    headers: { authorization: 'AWS4-HMAC-SHA256 any' },
    toBody: (messages) => ({ messages }),
    question: { role: 'user', content: [{ text: 'Deploy it.' }] },
    turn: {
      role: 'assistant',
      content: [
        { toolUse: { toolUseId: 'call_1', name: 'deploy', input: { to: 'prod' } } },
        { toolUse: { toolUseId: 'call_2', name: 'look', input: {} } },
      ],
    },
    said: { role: 'assistant', content: [{ text: 'It is being deployed.' }] },
  },
};

const STILL =
  /^(\{"output":")?Tool 'deploy' (is queued and has not started|is still running) \(\d+ s so far\)\. Do not call it again: /;

test.for(Object.entries(SORTS))(
  '%s takes the conversation with a pending call, and what it is told later',
  async ([format, { provider, headers, toBody, question, turn, said }]) => {
    const { service, end } = await start();
    const posted = await postTurn(service, turn, `?format=${format}`, ASYNC);
    expect(posted.status).toBe(202);
    const first = read(posted);
    expect(first.results.map(({ outcome }) => outcome)).toEqual(['pending', 'success']);
    const conversation = [question, turn, ...first.messages];
    const taken = provider.take(toBody(conversation), headers);
    if (taken.kind === 'rejected') throw new Error(JSON.stringify(taken.rejection));
    const [answers = []] = taken.conversation.rounds;
    expect(answers.map(({ text }) => text)).toEqual([expect.stringMatching(STILL), expect.stringContaining('a tree')]);
    expect(answers.map(({ isError }) => isError ?? false)).toEqual([false, false]);

    const before = await get(service, `${first.request_id}?format=${format}`);
    expect([before.status, read(before).messages]).toEqual([202, []]);
    end({ url: 'https://x' });
    const path = `${first.request_id}?format=${format}&wait_ms=20000`;
    const late = await get(service, path);
    expect([late.status, read(late).status, read(late).format]).toEqual([200, 'done', format]);
    // `look` was answered at once, and is not told of again.
    expect(JSON.stringify(read(late).messages)).toMatch(/of tool 'deploy'( \(call_1\))?\. .*https:\/\/x/);
    expect(JSON.stringify(read(late).messages)).not.toContain('look');
    expect(provider.take(toBody([...conversation, said, ...read(late).messages]), headers).kind).toBe('accepted');
    const raw = await get(service, `${path}&raw=true`);
    expect(JSON.parse(raw.body)).toEqual(read(late).messages);
    const known = await get(service, path, { 'if-none-match': late.headers.get('etag') ?? '' });
    expect(known.status).toBe(304);
  },
);

test("Gemini's Live API is promised a second response, and gets it with its scheduling", async () => {
  const { service, end } = await start();
  const body = { toolCall: { functionCalls: [{ id: 'fc-1', name: 'deploy', args: {} }] } };
  const posted = await postTurn(service, body, '', ASYNC);
  expect(read(posted).messages).toEqual([
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'fc-1',
            name: 'deploy',
            response: { output: expect.stringMatching(STILL) },
            willContinue: true,
          },
        },
      ],
    },
  ]);
  end('deployed');
  const late = await get(
    service,
    `${read(posted).request_id}?format=gemini&scheduling=INTERRUPT&raw=true&wait_ms=20000`,
  );
  expect(JSON.parse(late.body)).toEqual([
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'fc-1',
            name: 'deploy',
            response: { output: 'deployed' },
            scheduling: 'INTERRUPT',
          },
        },
      ],
    },
  ]);
});

test.each([
  ['format=nothing', 'unknown_format'],
  ['format=anthropic&scheduling=SILENT', 'invalid_query'],
  ['scheduling=SILENT', 'invalid_query'],
  ['format=gemini&scheduling=silent', 'invalid_query'],
  ['format=anthropic&raw=1', 'invalid_query'],
])('%s is refused before anything is looked up', async (query, code) => {
  const { service } = await start();
  const answer = await get(service, `a-request-of-the-test?${query}`);
  expectProblem(answer, { status: 400, title: 'Bad Request', code, detail: expect.any(String) });
});
