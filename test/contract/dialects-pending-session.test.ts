import { postTurn } from '@recourse/test-support/dialect-client.ts';
import { expect, test } from 'vitest';
import { SessionView } from '#src/contract/session.ts';
import { ASYNC, CHAT, get, read, start } from './dialects-pending-lab.ts';

test('without a format, or with the native one, there are no messages', async () => {
  const { service, end } = await start();
  const posted = await postTurn(service, CHAT.turn, '', ASYNC);
  end('deployed');
  for (const query of ['', 'format=native&', 'format=native&raw=true&']) {
    const late = await get(service, `${read(posted).request_id}?${query}wait_ms=20000`);
    expect(Object.keys(JSON.parse(late.body))).toEqual(['request_id', 'session_id', 'status', 'results']);
  }
});

test('the session lists the pending call until it has ended, under the request id that its result is asked for by', async () => {
  const { service, end } = await start();
  const posted = await postTurn(service, CHAT.turn, '?session_id=s_1', ASYNC);
  const { request_id: requestId } = read(posted);
  const view = async () => SessionView.parse(await (await fetch(`${service.url}/sessions/s_1`)).json());
  expect((await view()).pending).toEqual([
    {
      call: expect.stringMatching(/^c_[\w-]{22}$/),
      tool: 'deploy',
      request_id: requestId,
      index: 0,
      state: expect.stringMatching(/^(queued|running)$/),
      since: expect.any(String),
      expires_at: expect.any(String),
    },
  ]);
  end('deployed');
  await get(service, `${requestId}?wait_ms=20000`);
  expect(await view()).not.toHaveProperty('pending');
});
