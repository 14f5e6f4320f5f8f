import { keyOfSession, type OutageService, startOutageService } from '@recourse/test-support/outage-service.ts';
import { createPendingClient } from '@recourse/test-support/pending-client.ts';
import { IN_BACKGROUND } from '@recourse/test-support/watch-commands.ts';
import { expect, test } from 'vitest';

// Redis that serves, and has lost or mixed up what it was told; and names that are to hurt it.

const keysOf = async ({ direct }: OutageService): Promise<readonly string[]> =>
  // Without those of the queue, of the space and for people on call, which come by themselves and name no session.
  (await direct.keys('*'))
    .filter((key) => !/^recourse2:\{(jobs|ready)[:}]/.test(key) && !IN_BACKGROUND.test(key))
    .toSorted((a, b) => a.length - b.length);

test('scripts that Redis has forgotten are sent again at either step: nobody notices', async () => {
  const lab = await startOutageService();
  await lab.served('scripts');
  const errors = await lab.errors();
  await lab.direct.script('FLUSH');
  expect(await lab.fail('scripts')).toMatchObject({ retry: { mode: 'redis', used: 1, remaining: 2 } });
  // Forgotten between admission and settlement, too: the batch is on its way while they are.
  const flushed = Promise.all(Array.from({ length: 20 }, () => lab.direct.script('FLUSH')));
  const used = [await lab.fail('scripts'), await lab.fail('scripts')].map(({ retry }) => [retry?.mode, retry?.used]);
  await flushed;
  expect(used).toEqual([
    ['redis', 2],
    ['redis', 3],
  ]);
  await lab.direct.script('FLUSH');
  const client = createPendingClient(lab.service.url);
  const pending = await client.begin({ calls: [{ id: 'a', name: 'failing', arguments: { attempt: 0 } }] });
  expect(pending).toMatchObject({ status: 202, state: 'pending' });
  expect(await lab.errors()).toEqual(errors);
  expect(await lab.readiness()).toMatchObject({ body: { store: { status: 'up' } } });
});

test('a session that was evicted begins anew', async () => {
  const lab = await startOutageService();
  for (const used of [0, 1, 2, 3]) expect(await lab.served('evicted')).toMatchObject({ retry: { used } });
  expect((await lab.fail('evicted')).error?.code).toBe('retry_budget_exhausted');
  expect(await lab.direct.del(keyOfSession('evicted'))).toBe(1);
  expect(await lab.fail('evicted')).toMatchObject({
    error: { code: 'retry_requested' },
    retry: { mode: 'redis', used: 0, remaining: 3 },
  });
});

test('a field of which nothing can be made says nothing, and no field at all ends a batch', async () => {
  const lab = await startOutageService();
  await lab.served('corrupt');
  await lab.served('corrupt');
  const errors = await lab.errors();
  const key = keyOfSession('corrupt');
  expect(await lab.direct.hget(key, 't:failing')).toMatch(/^\[2,1,/);
  // As another replica would have written it.
  await lab.direct.hset(key, { 't:failing': 'abc', v: 'another version' });
  expect(await lab.fail('corrupt')).toMatchObject({ retry: { mode: 'redis', used: 0, remaining: 3 } });
  for (const bad of ['abc', '-5', 'nan', '0x10', '1e3', '', '[[[', '12345678901234567890', '\u0000']) {
    const fields = Object.keys(await lab.direct.hgetall(key));
    await lab.direct.hset(key, Object.fromEntries(fields.map((field) => [field, bad])));
    expect(await lab.fail('corrupt')).toMatchObject({ retry: { mode: 'redis', scope: 'session' } });
  }
  expect(await lab.errors()).toEqual(errors);
});

test('of 200 retries at once with three allowed exactly three run', async () => {
  const lab = await startOutageService();
  // Where Redis got no processor for 50 ms some were counted here, which is another story: play again.
  for (let played = 1; ; played += 1) {
    const session = `burst ${played}`;
    await lab.served(session);
    const before = lab.runs();
    const results = await Promise.all(Array.from({ length: 200 }, () => lab.fail(session)));
    if (played < 20 && results.some(({ retry }) => retry?.mode !== 'redis')) continue;
    expect(lab.runs() - before).toBe(3);
    const codes = results.map(({ error }) => error?.code);
    expect(codes.filter((code) => code === 'retry_requested')).toHaveLength(3);
    expect(codes.filter((code) => code === 'retry_budget_exhausted')).toHaveLength(197);
    return;
  }
});

test('a session id of 1 MB, or of one character too many, is refused before anything runs', async () => {
  const lab = await startOutageService();
  for (const session of ['x'.repeat(1_000_000), 'x'.repeat(257), '']) {
    const body = JSON.stringify({ session_id: session, calls: [{ name: 'failing', arguments: { attempt: 1 } }] });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${lab.service.url}/tool-calls`, { method: 'POST', headers, body });
    expect(answer.status).toBe(400);
  }
  expect(lab.runs()).toBe(0);
  expect(await keysOf(lab)).toEqual([]);
});

const NAMES = [
  '{}',
  '{a}{b}',
  'a\u0000b',
  '😀'.repeat(64),
  '*',
  '\r\nFLUSHALL\r\n',
  '../..',
  'recourse2:{anonymous:x}',
];

test.each(NAMES)('the session id %j is a session like any other, and stands in no key', async (session) => {
  const lab = await startOutageService();
  expect(await lab.served(session)).toMatchObject({ retry: { used: 0 } });
  expect(await lab.fail(session)).toMatchObject({ retry: { mode: 'redis', used: 1 } });
  expect(await lab.fail(`${session} `)).toMatchObject({ retry: { mode: 'redis', used: 0 } });
  const keys = await keysOf(lab);
  expect(keys.length).toBeGreaterThanOrEqual(2);
  for (const key of keys) expect(key).toMatch(/^recourse2:\{anonymous:[0-9a-f]{64}\}:session(:list)?$/);
});
