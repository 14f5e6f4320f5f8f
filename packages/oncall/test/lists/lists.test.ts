import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { toKeyEntry as toStoreKey } from '@recourse/test-support/sealing.ts';
import { expect, test } from 'vitest';
import { ACME, createClient, failing, GLOBEX, hashOfSession, KEYS, LIMITED, startLists, working } from './lists-lab.ts';

test('a session is failing, then blocked, then fresh again after a reset, and its failures are listed newest first', async () => {
  const { ask, items, post } = await startLists();
  await post('run-1', [failing(1)]);
  await post('run-2', [working(1)]);
  const session = hashOfSession('run-1');
  expect(await items('/sessions?state=failing')).toMatchObject([
    {
      session,
      id: null,
      state: 'failing',
      blocked_tools: [],
      calls: 1,
      failures: 1,
      last_failure: { tool: 'lookup', code: 'tool_exception' },
    },
  ]);
  expect(await items('/sessions')).toMatchObject([
    { session: hashOfSession('run-2'), state: 'ok', failures: 0 },
    { session },
  ]);
  await post('run-1', [failing(2)]);
  await post('run-1', [failing(3)]);
  expect(await items('/sessions?state=blocked')).toMatchObject([
    { session, blocked_tools: ['lookup'], calls: 3, failures: 3 },
  ]);
  expect(await items('/sessions?state=failing')).toEqual([]);
  const calls = await items('/calls');
  expect(calls.map(({ code }) => code)).toEqual(['retry_budget_exhausted', 'tool_exception', 'tool_exception']);
  expect(calls[1]).toMatchObject({
    session,
    tool: 'lookup',
    name: 'lookup',
    fault: 'tool',
    executed: 'yes',
    key: null,
  });
  expect((await ask(`/calls/${String(calls[0]?.['reference'])}`)).body).toEqual(calls[0]);
  expect((await ask(`/sessions/~${session.slice(0, 8)}/budgets/lookup`, 'DELETE')).status).toBe(204);
  expect(await items('/sessions?state=blocked')).toEqual([]);
  expect((await ask(`/sessions/~${session.slice(0, 12)}`)).body).toMatchObject({ session: { rounds: 3 } });
  await post('run-1', [working(4)]);
  expect(await items('/sessions?state=recent&limit=1')).toMatchObject([
    { session, state: 'ok', calls: 4, failures: 3 },
  ]);
  expect((await ask(`/sessions/~${session}`, 'DELETE')).status).toBe(204);
  expect(await items('/sessions')).toMatchObject([{ session: hashOfSession('run-2') }]);
});

test('a tenant sees its own alone, and a key that may use some tools sees nothing of the others', async () => {
  const { service } = await startLists(KEYS);
  const [team, limited, stranger] = [ACME, LIMITED, GLOBEX].map((key) => createClient(service.url, key));
  if (team === undefined || limited === undefined || stranger === undefined) throw new Error('Three keys ask.');
  await team.post('run', [failing(1), failing(2, 'other')]);
  await team.post('run', [failing(3)]);
  await team.post('run', [{ name: 'no_such_tool', arguments: {} }]);
  const [named, , hidden] = await team.items('/calls');
  expect([named, hidden]).toMatchObject([{ tool: '_unknown' }, { tool: 'other', key: 'team' }]);
  expect((await limited.items('/calls')).map(({ tool }) => tool)).toEqual(['other']);
  expect(await limited.items('/sessions')).toMatchObject([
    { state: 'ok', blocked_tools: [], last_failure: null, calls: null, failures: null },
  ]);
  expect(await team.items('/sessions')).toMatchObject([
    { state: 'blocked', blocked_tools: ['lookup'], calls: 4, failures: 4 },
  ]);
  const reference = String(named?.['reference']);
  expect((await team.ask(`/calls/${reference}`)).body).toEqual(named);
  for (const client of [limited, stranger]) {
    expect(await client.ask(`/calls/${reference}`)).toMatchObject({ status: 404, body: { code: 'call_not_listed' } });
    expect((await client.ask(`/search?q=${reference}`)).body).toEqual({ found: [] });
  }
  expect(await stranger.items('/calls')).toEqual([]);
  expect(await stranger.items('/sessions')).toEqual([]);
  const prefix = hashOfSession('run').slice(0, 8);
  expect(await stranger.ask(`/sessions/~${prefix}`)).toMatchObject({
    status: 404,
    body: { code: 'session_not_listed' },
  });
  expect((await stranger.ask(`/sessions/~${hashOfSession('run')}`)).body).toMatchObject({ session: { rounds: 0 } });
  expect((await limited.ask(`/sessions/~${prefix}`, 'DELETE')).status).toBe(403);
});

test('results of a request are found by keys that may read them', async () => {
  const { service } = await startLists(KEYS);
  const [team, limited] = [ACME, LIMITED].map((key) => createClient(service.url, key));
  if (team === undefined || limited === undefined) throw new Error('Two keys ask.');
  const keyed = (id: string) => ({ 'x-request-id': id, 'idempotency-key': id });
  await team.post(null, [working(1)], keyed('invoice-of-a-test'));
  await team.post(null, [working(1, 'other')], keyed('letter-of-a-test'));
  for (const [client, id, isSeen] of [
    [team, 'invoice-of-a-test', true],
    [limited, 'invoice-of-a-test', false],
    [limited, 'letter-of-a-test', true],
  ] as const) {
    const request = { kind: 'request', request_id: id, failures: 0, has_results: true };
    expect((await client.ask(`/search?q=${id}`)).body).toEqual({ found: isSeen ? [request] : [] });
    expect((await client.ask(`/tool-calls/${id}`)).status).toBe(isSeen ? 200 : 404);
  }
});

test('a call that is sealed by a key which this process does not have yet is answered as a store that is away', async () => {
  const redis = await redisForTests();
  const environment = (...ids: readonly string[]) => ({
    REDIS_URL: redis.url,
    STORE_KEYS: ids.map(toStoreKey).join(','),
  });
  const newer = await startLists(environment('k2', 'k1'));
  await newer.post('run', [{ name: 'held', arguments: {} }], { prefer: 'respond-async' });
  const [pending] = await newer.items('/calls/pending?tool=held');
  const older = await startLists(environment('k1'));
  for (const path of ['/calls/pending', `/calls/pending/${String(pending?.['call'])}`])
    expect([path, (await older.ask(path)).status]).toEqual([path, 503]);
});

test('pages follow each other while calls come in, and a query that is misspelled or damaged is refused', async () => {
  const { ask, items, post } = await startLists();
  const fail = (n: number) => post(`run-${n % 3}`, [failing(n, 'other')]);
  for (let n = 0; n < 7; n += 1) await fail(n);
  const seen: unknown[] = [];
  let cursor = '';
  for (let page = 0; page < 4; page += 1) {
    const { body } = await ask(`/calls?limit=2${cursor}`);
    seen.push(...(Array.isArray(body['items']) ? body['items'] : []).map(({ message }) => message));
    await fail(10 + page);
    if (body['next_cursor'] === null) break;
    cursor = `&cursor=${String(body['next_cursor'])}`;
  }
  expect(seen.map((message) => /no (\d+)/.exec(String(message))?.[1])).toEqual(['6', '5', '4', '3', '2', '1', '0']);
  const [first] = await items('/sessions?limit=1');
  const { body } = await ask('/sessions?limit=2');
  const [rest] = await items(`/sessions?cursor=${String(body['next_cursor'])}`);
  expect(rest?.['session']).not.toBe(first?.['session']);
  const one = hashOfSession('run-1');
  expect((await items(`/calls?session=~${one.slice(0, 8)}`)).every(({ session }) => session === one)).toBe(true);
  expect(await items('/calls?code=timeout')).toEqual([]);
  // Of the eleven the last one met an open circuit.
  expect(await items('/calls?fault=tool&tool=other&limit=200')).toHaveLength(10);
  expect(await items('/calls?code=circuit_open')).toHaveLength(1);
  expect(await items('/calls?since=2999-01-01T00:00:00Z')).toEqual([]);
  expect(await items('/sessions?q=run-1')).toMatchObject([{ session: one }]);
  for (const path of [
    ...[
      '/calls?cursor=x',
      '/calls?cursor=bnVsbA',
      '/calls?toool=x',
      '/calls?limit=0',
      '/calls?code=x',
      '/calls?since=now',
    ],
    ...['/sessions?state=ok', '/sessions?q=', '/search', '/search?q=', '/calls?session=xyz', '/calls/x?index=-1'],
  ])
    expect([path, await ask(path)]).toMatchObject([path, { status: 400, body: { code: 'invalid_query' } }]);
  expect((await ask('/calls', 'POST')).status).toBe(405);
});

test('a search finds a session by its id or hash, a failure by its reference, and a request by its id', async () => {
  const { ask, items, post } = await startLists();
  const requestId = 'request-of-a-test-1';
  await post('team/7', [failing(1)], { 'x-request-id': requestId });
  const session = hashOfSession('team/7');
  const [call] = await items('/calls');
  const find = async (q: string) => (await ask(`/search?q=${encodeURIComponent(q)}`)).body['found'];
  const found = [{ kind: 'session', session, state: 'failing' }];
  for (const q of ['team/7', session, session.slice(0, 8), `~${session.slice(0, 9).toUpperCase()}`])
    expect([q, await find(q)]).toEqual([q, found]);
  expect(await find(String(call?.['reference']))).toMatchObject([
    { kind: 'call', tool: 'lookup', code: 'tool_exception' },
  ]);
  expect(await find(requestId)).toEqual([{ kind: 'request', request_id: requestId, failures: 1, has_results: false }]);
  for (const q of [session.slice(0, 7), 'nothing', '%00', '__proto__', 'c_none', `<img src=x onerror=alert(1)>`])
    expect([q, await find(q)]).toEqual([q, []]);
});

test('with SESSION_IDS=clear ids are listed as they are, and one that begins like a hash is none', async () => {
  const { ask, items, post } = await startLists({ SESSION_IDS: 'clear' });
  const id = '~deadbeef <script>"\u202e';
  await post(id, [{ ...failing(1), id: '__proto__' }]);
  const session = hashOfSession(id);
  expect(await items('/sessions?q=script')).toMatchObject([{ session, id }]);
  expect(await items('/calls')).toMatchObject([{ session, id: '__proto__' }]);
  // An id that begins like a hash is one that begins like a hash.
  await post('~deadbeef', [failing(2)]);
  expect(await ask('/sessions/~deadbeef')).toMatchObject({ status: 404, body: { code: 'session_not_listed' } });
  expect((await ask(`/sessions/~${hashOfSession('~deadbeef')}`)).body).toMatchObject({ session: { rounds: 1 } });
  expect((await ask(`/sessions/${encodeURIComponent('~no hash')}`)).body).toMatchObject({ session: { rounds: 0 } });
});

test('messages are kept without secrets and cut, never arguments', async () => {
  const secret = 'sk-live-0123456789abcdefghijklmnop';
  const { ask, post } = await startLists({ DEMO_TOKEN: secret });
  await post('run', [failing(987_654_321, 'lookup', `${'x'.repeat(280)} ${secret} ${'y'.repeat(400)}`)]);
  const texts = await Promise.all(['/calls', '/sessions'].map(async (path) => JSON.stringify((await ask(path)).body)));
  for (const text of texts) {
    expect(text).not.toContain(secret.slice(0, 12));
    expect(text).not.toContain('987654321');
    expect(text).not.toContain('yyyy');
  }
});

test('a pending call is found by its handle, listed by its state, and its failure is listed when it ends', async () => {
  const { ask, items, post } = await startLists();
  const requestId = 'request-of-a-test-2';
  await post('run', [{ name: 'held', arguments: {} }], { prefer: 'respond-async', 'x-request-id': requestId });
  const [pending] = await items('/calls/pending?tool=held');
  const handle = String(pending?.['call']);
  expect((await ask(`/search?q=${handle}`)).body).toEqual({
    found: [{ kind: 'pending', call: handle, request_id: requestId, index: 0, tool: 'held' }],
  });
  expect((await ask(`/search?q=${requestId}`)).body).toMatchObject({ found: [{ has_results: true, failures: 0 }] });
  expect((await ask(`/calls/pending/${handle}`)).body).toEqual(pending);
  expect((await ask('/calls/pending/c_none')).status).toBe(404);
  expect((await ask(`/tool-calls/${requestId}`, 'DELETE')).status).toBeLessThan(300);
  await expect.poll(() => items('/calls?tool=held')).toMatchObject([{ request_id: requestId, code: 'cancelled' }]);
  // Once, although another batch runs it than the one that accepted it.
  expect(await items('/sessions')).toMatchObject([{ state: 'failing', calls: 1, failures: 1 }]);
  await expect.poll(() => items('/calls/pending')).toEqual([]);
});
