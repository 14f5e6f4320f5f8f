import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const post = async (url: string, body: unknown) => {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};

const start = async () => {
  const service = await startService();
  onTestFinished(service.stop);
  return service.url;
};

const initialize = (clientInfo: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1', ...clientInfo } },
});

test('a request with more in it than the protocol has is refused in few words', async () => {
  const url = await start();
  const { status, text } = await post(url, initialize({ icons: Array.from({ length: 300_000 }, () => ({})) }));
  expect(status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: -32_600 } });
  expect(text.length).toBeLessThan(1_000);
});

test('large arguments of a call are no such thing', async () => {
  const url = await start();
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: { text: Array.from({ length: 50_000 }, () => 1) } },
  };
  const { status, text } = await post(url, call);
  expect(status).toBe(200);
  expect(text).toContain('invalid_arguments');
});
