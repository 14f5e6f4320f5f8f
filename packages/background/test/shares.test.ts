import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { startLab } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { openConnection } from '@recourse/test-support/raw-http.ts';
import { expect, onTestFinished, test } from 'vitest';

// Half of 10 MiB at 8 KiB each: 640 answers may wait, 320 of a tenant that is alone, and 160 of one of its keys.
const MEMORY = { MAX_ANSWER_BYTES: '1048576', MAX_BODY_BYTES: '524288', REQUEST_MEMORY_MB: '10' };
const OF_A_KEY = 160;

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('one key that fills its share on a few connections is answered at once, and takes no place of other keys and tenants', async () => {
  const build = createHeldTool('build');
  onTestFinished(build.release);
  const API_KEYS = [toKeyEntry('acme', 'one'), toKeyEntry('acme', 'two'), toKeyEntry('globex', 'three')].join(',');
  const { service } = await startLab([build], { ...MEMORY, API_KEYS });
  const client = createPendingClient(service.url);
  const begin = async (key: string, calls: number, wait = 0) =>
    client.begin(
      { calls: Array.from({ length: calls }, (_, only) => ({ id: `${only}`, name: 'build', arguments: { only } })) },
      { wait, headers: bearer(key) },
    );
  // As many calls as there may be waiters: a reading of all of them waits once.
  const { requestId } = await begin('one', 16);
  const path = `/tool-calls/${requestId}`;
  const connections = await Promise.all([1, 2, 3].map(() => openConnection(service.port)));
  onTestFinished(() => {
    for (const connection of connections) connection.destroy();
  });
  const events = await Promise.all(
    Array.from({ length: 100 }, () => fetch(`${service.url}${path}/events`, { headers: bearer('one') })),
  );
  expect(events.map(({ status }) => status)).toEqual(events.map(() => 200));
  // Held until then: fetch ends a stream whose answer nothing refers to any more, and so gives its place back.
  onTestFinished(() => Promise.all(events.map(({ body }) => body?.cancel())).then(() => undefined));
  const poll = `GET ${path}?wait_ms=30000 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer one\r\n\r\n`;
  for (const connection of connections) connection.write(poll.repeat((OF_A_KEY - 100) / connections.length));
  const refused = async () => (await fetch(`${service.url}${path}/events`, { headers: bearer('one') })).status;
  await expect.poll(refused).toBe(503);

  const timed = async <Answer>(asked: Promise<Answer>) => {
    const from = performance.now();
    return { answer: await asked, took: performance.now() - from };
  };
  const late = await timed(client.ask(`${path}?wait_ms=30000`, { headers: bearer('one') }));
  expect([late.answer.status, late.answer.state, late.answer.headers.get('retry-after')]).toEqual([
    202,
    'pending',
    '2',
  ]);
  const posted = await timed(begin('one', 1, 60));
  expect([posted.answer.status, posted.answer.state]).toEqual([202, 'pending']);
  expect(late.took + posted.took).toBeLessThan(20_000);
  const batch = await fetch(`${service.url}/tool-calls`, {
    method: 'POST',
    headers: { ...bearer('one'), 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ calls: [] }),
  });
  expect([batch.status, batch.headers.get('retry-after')]).toEqual([503, '2']);

  for (const key of ['two', 'three']) {
    const own = await begin(key, 1);
    const stream = await fetch(`${service.url}/tool-calls/${own.requestId}/events`, { headers: bearer(key) });
    expect(stream.status).toBe(200);
    const waited = await timed(client.ask(`/tool-calls/${own.requestId}?wait_ms=500`, { headers: bearer(key) }));
    expect(waited.answer.status).toBe(202);
    expect(waited.took).toBeGreaterThan(400);
  }
  // Places are free again as soon as their connections are gone.
  for (const connection of connections) connection.destroy();
  await expect.poll(refused).toBe(200);
});
