import { startHostedService } from '@recourse/test-support/hosted-service.ts';
import { post, postModern } from '@recourse/test-support/mcp-clients.ts';
import { expect, test } from 'vitest';

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'until_told', arguments: {} } };

test('a service that drains answers the calls that run, takes no more, and ends', async () => {
  const { running, began, tell } = await startHostedService({ by: 'node' });
  const { url } = running;
  const open = [post(url, CALL), postModern(url, 'tools/call', { name: 'until_told', arguments: {} })];
  await began(2);

  running.send('SIGTERM', 'service');
  await running.logged('draining');
  expect(await post(url, { jsonrpc: '2.0', id: 2, method: 'tools/list' })).toMatchObject({
    status: 503,
    messages: [{ error: { code: -32000, data: { code: 'draining' } } }],
  });
  tell();
  for (const answer of await Promise.all(open))
    expect(answer).toMatchObject({
      status: 200,
      messages: [{ id: 1, result: { isError: false, content: [{ text: 'told' }] } }],
    });
  expect(await running.exited).toEqual({ code: 0, signal: null });
});

test('what has not ended within the grace is cut off, and its stream still ends with an answer', async () => {
  const { running, began } = await startHostedService({ by: 'node', environment: { SHUTDOWN_GRACE_MS: '300' } });
  const open = post(running.url, { ...CALL, params: { name: 'hang', arguments: {} } });
  await began(1);

  running.send('SIGTERM', 'service');
  expect(await open).toMatchObject({ status: 200, messages: [{ id: 1, result: { isError: true } }] });
  expect(await running.exited).toEqual({ code: 0, signal: null });
});
