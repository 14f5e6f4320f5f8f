import { createActor, freshName, type Lab, startLab } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const environmentOf = (store: 'memory' | 'redis', more: Readonly<Record<string, string>> = {}) =>
  store === 'memory' ? more : { REDIS_URL: redis.url, ...more };

const WRITE = { effects: 'write' } as const;

describe.each(['memory', 'redis'] as const)('the body of a key on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, environmentOf(store, more));

  const BODY = {
    session_id: 'same',
    order: 'sequential',
    on_error: 'continue',
    calls: [{ id: 'a', name: 'look', arguments: { a: 1, b: [1, 2] } }],
  } as const;
  const [CALL] = BODY.calls;

  test.each([
    ['another session', { ...BODY, session_id: 'other' }],
    ['no session', { ...BODY, session_id: undefined }],
    ['another order', { ...BODY, order: 'parallel' }],
    ['another on_error', { ...BODY, on_error: 'stop' }],
    ['another id', { ...BODY, calls: [{ ...CALL, id: 'b' }] }],
    ['no id', { ...BODY, calls: [{ ...CALL, id: undefined }] }],
    ['another name', { ...BODY, calls: [{ ...CALL, name: 'Look' }] }],
    ['other arguments', { ...BODY, calls: [{ ...CALL, arguments: { a: 2, b: [1, 2] } }] }],
    ['another order of items', { ...BODY, calls: [{ ...CALL, arguments: { a: 1, b: [2, 1] } }] }],
    [
      'a member that is null and not absent',
      { ...BODY, calls: [{ ...CALL, arguments: { ...CALL.arguments, c: null } }] },
    ],
    ['one call more', { ...BODY, calls: [CALL, CALL] }],
    ['no call', { ...BODY, calls: [] }],
  ])('%s is another body: 422, and nothing runs', async (_what, other) => {
    const look = createActor('look');
    const { post } = await start([look]);
    const key = freshName();
    expect((await post(BODY, { key })).status).toBe(200);
    const refused = await post(other, { key });
    expect([refused.status, refused.problem]).toEqual([422, 'idempotency_key_reused']);
    expect(look.asked).toHaveLength(1);
  });

  test.each([
    ['deadline_ms', { ...BODY, deadline_ms: 1234 }],
    ['round_id', { ...BODY, round_id: 'turn' }],
    ['timeout_ms', { ...BODY, calls: [{ ...CALL, timeout_ms: 77 }] }],
    ['members nobody knows', { ...BODY, trace: 1, calls: [{ ...CALL, type: 'function' }] }],
    ['the order of members', { ...BODY, calls: [{ name: 'look', arguments: { b: [1, 2], a: 1 }, id: 'a' }] }],
    ['arguments as a text', { ...BODY, calls: [{ ...CALL, arguments: ' {"b":[1.0,2e0],"a":1} ' }] }],
  ])('%s does not make another body', async (_what, same) => {
    const look = createActor('look');
    const { post } = await start([look]);
    const key = freshName();
    await post(BODY, { key });
    expect((await post(same, { key })).headers.get('idempotent-replayed')).toBe('true');
    expect(look.asked).toHaveLength(1);
  });
});

test.each(['', '""', 'a\u00e4', 'x'.repeat(256)])('a key that is none is 400, and nothing runs: %j', async (key) => {
  const write = createActor('write', WRITE);
  const { post } = await startLab([write]);
  expect(await post([{ name: 'write' }], { key })).toMatchObject({ status: 400, problem: 'invalid_idempotency_key' });
  expect(write.asked).toEqual([]);
});

test('the longest key is good, bare and quoted', async () => {
  const write = createActor('write', WRITE);
  const { post } = await startLab([write]);
  const key = '~'.repeat(255);
  expect((await post([{ name: 'write' }], { key: `"${key}"` })).status).toBe(200);
  expect((await post([{ name: 'write' }], { key })).headers.get('idempotent-replayed')).toBe('true');
});

test('a key is its tenant’s: another one’s batch with the same key is new, and its answer is nobody else’s', async () => {
  const write = createActor('write', WRITE);
  const { post, lost } = await startLab([write], {
    // SHA-256 of key-a and key-b.
    API_KEYS: [
      'a=f10f781241e2246678b6b45c857069208152a53863e47fac33f607ab405006f4',
      'b=a30534a53b23547377ddccbd1ac85a8a84c13db43493c16e55a6abc7b0eba634',
    ].join(','),
  });
  const key = freshName();
  const [a, b] = [{ apiKey: 'key-a' }, { apiKey: 'key-b' }];
  const first = await post([{ name: 'write' }], { key, ...a });
  expect((await post([{ name: 'write' }], { key, ...b })).headers.get('idempotent-replayed')).toBeNull();
  expect((await post([{ name: 'nix' }], { key, ...b })).status).toBe(422);
  expect((await post([{ name: 'write' }], { key, ...a })).headers.get('idempotent-replayed')).toBe('true');
  expect(write.asked).toHaveLength(2);
  expect((await lost(first.requestId, a)).status).toBe(200);
  expect((await lost(first.requestId, b)).status).toBe(404);
});
