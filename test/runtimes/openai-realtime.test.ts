import { once } from 'node:events';
import { createCertificate } from '@recourse/test-support/http-target.ts';
import { startRealtimeEndpoint } from '@recourse/test-support/providers/realtime-endpoint.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { ConversationItemCreateEvent, ResponseDoneEvent } from 'openai/resources/realtime/realtime';
import { expect, onTestFinished, test } from 'vitest';

const CALLS = [
  { id: 'call_1', name: 'echo', arguments: '{"text":"hello"}' },
  { id: 'call_2', name: 'echo', arguments: '{"text":' },
];

test("the event response.done of OpenAI's Realtime API is answered with the events to send", async () => {
  const service = await startService();
  onTestFinished(service.stop);
  const certificate = createCertificate();
  const endpoint = await startRealtimeEndpoint(CALLS, certificate);
  onTestFinished(endpoint.stop);
  const client = new OpenAI({ apiKey: 'key', baseURL: `${endpoint.url}/v1` });
  const realtime = new OpenAIRealtimeWS({ model: 'gpt-realtime', options: { ca: certificate.cert } }, client);
  onTestFinished(() => realtime.close());
  await once(realtime.socket, 'open');
  const ask = (): Promise<ResponseDoneEvent> => {
    const done = new Promise<ResponseDoneEvent>((resolve, reject) => {
      realtime.once('response.done', resolve);
      realtime.socket.once('close', (_code, reason) => reject(new Error(String(reason))));
    });
    realtime.send({ type: 'response.create' });
    return done;
  };
  const catalogue = await fetch(`${service.url}/tools?format=openai-realtime&names=echo`);
  const { tools } = JSON.parse(await catalogue.text());
  realtime.send({ type: 'session.update', session: { type: 'realtime', tools } });
  const turn = await ask();
  const answer = await fetch(`${service.url}/tool-calls?format=openai-realtime&raw=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(turn),
  });
  const events: ConversationItemCreateEvent[] = JSON.parse(await answer.text());
  for (const event of events) realtime.send(event);
  const { response } = await ask();
  expect(endpoint.tools()).toMatchObject([{ type: 'function', name: 'echo', parameters: { type: 'object' } }]);
  expect(response.output).toMatchObject([
    {
      content: [
        {
          text: expect.stringMatching(
            /^\{"text":"hello"\}\nERROR: invalid_arguments: Arguments for 'echo' are not valid JSON/,
          ),
        },
      ],
    },
  ]);
});
