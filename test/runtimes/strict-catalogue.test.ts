import { createAnthropic } from '@recourse/test-support/providers/anthropic.ts';
import { createGemini } from '@recourse/test-support/providers/gemini.ts';
import { openaiChat } from '@recourse/test-support/providers/openai-chat.ts';
import { createOpenaiResponses } from '@recourse/test-support/providers/openai-responses.ts';
import { postToProvider } from '@recourse/test-support/providers/post-to-provider.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRuntimeTools } from './runtime-tools.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService({}, createRuntimeTools().tools);
});
afterAll(() => service.stop());

const catalogue = async (query: string): Promise<object> => {
  const body: unknown = await (await fetch(`${service.url}/tools?${query}`)).json();
  return typeof body === 'object' && body !== null ? body : {};
};

const bearer = { authorization: 'Bearer key' };
const versioned = { 'x-api-key': 'key', 'anthropic-version': '2026-10-21' };
const user = { role: 'user', content: 'Hello?' };
const CASES = [
  ['openai-chat', openaiChat, '/v1/chat/completions', { messages: [user] }, bearer],
  ['openai-responses', createOpenaiResponses(), '/v1/responses', { input: [user] }, bearer],
  ['anthropic', createAnthropic(), '/v1/messages', { max_tokens: 10, messages: [user] }, versioned],
  [
    'gemini',
    createGemini({ generation: 3 }),
    '/v1beta/models/any:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hello?' }] }] },
    { 'x-goog-api-key': 'key' },
  ],
] as const;

test.each(CASES)(
  'The provider takes the whole catalogue of %s, strict or not',
  async (format, provider, path, body, headers) => {
    for (const strict of ['', '&strict=true', '&strict=false']) {
      const offered = await catalogue(`format=${format}${strict}`);
      expect(offered).toHaveProperty('tools');
      expect(await postToProvider(provider, path, { ...body, ...offered }, headers)).toMatchObject({ status: 200 });
    }
  },
);
