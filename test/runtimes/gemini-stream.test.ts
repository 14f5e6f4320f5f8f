import { once } from 'node:events';
import { createServer } from 'node:http';
import { type GenerateContentResponse, GoogleGenAI } from '@google/genai';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const CHUNKS = [
  {
    candidates: [{ content: { role: 'model', parts: [{ text: 'I will ' }] }, index: 0 }],
    modelVersion: 'gemini-3-pro',
  },
  { candidates: [{ content: { role: 'model', parts: [{ functionCall: { name: 'echo', args: { text: 'a' } } }] } }] },
  {
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name: 'echo', args: { text: 'b' } } }] },
        finishReason: 'STOP',
      },
    ],
  },
];

/** Gemini's `streamGenerateContent` on loopback, which sends these chunks as server-sent events. */
const startStream = async (): Promise<string> => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
};

test("the chunks that Gemini's client gives of a stream are read as one turn", async () => {
  const service = await startService();
  onTestFinished(service.stop);
  const gemini = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: await startStream() } });
  const chunks: GenerateContentResponse[] = [];
  for await (const chunk of await gemini.models.generateContentStream({ model: 'any', contents: 'Hello?' }))
    chunks.push(chunk);
  expect(chunks).toHaveLength(3);
  const answer = await fetch(`${service.url}/tool-calls?format=gemini&raw=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chunks),
  });
  expect(await answer.json()).toEqual([
    {
      role: 'user',
      parts: [
        { functionResponse: { name: 'echo', response: { output: { text: 'a' } } } },
        { functionResponse: { name: 'echo', response: { output: { text: 'b' } } } },
      ],
    },
  ]);
});
