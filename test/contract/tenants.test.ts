import { type AccessAnswer, askAs, postAs, toKeyEntry, viewAs } from '@recourse/test-support/access-client.ts';
import { type Actor, createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import { makeIssuerKey, sign, startIssuer } from '#test/auth/issuer-lab.ts';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

const KEY = await makeIssuerKey('key-1');
const SOON = { timeout: timeLimit(15_000), interval: 20 };

type Tenants = {
  readonly service: RunningService;
  readonly acme: string;
  readonly beta: string;
  readonly write: Actor;
};

const resultsOf = ({ status, text }: AccessAnswer): readonly ToolResult[] => {
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  return ToolCallsResponse.parse(JSON.parse(text)).results;
};

const BOTH_WAYS = ['API keys', 'tokens'] as const;
const STORES = ['memory', 'redis'] as const;
const CASES = STORES.flatMap((store) => BOTH_WAYS.map((way) => [way, store] as const));

describe.each(CASES)('two tenants with %s on %s', (way, store) => {
  const start = async (): Promise<Tenants> => {
    const write = createActor('write', { effects: 'write' });
    const issuer = await startIssuer(KEY);
    const service = await startService(
      {
        ...(store === 'redis' ? { REDIS_URL: redis.url } : {}),
        ...(way === 'tokens'
          ? { JWT_JWKS_URL: issuer.url, JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'recourse' }
          : { API_KEYS: `${toKeyEntry('acme', 'a')},${toKeyEntry('beta', 'b')}` }),
      },
      [write.tool],
    );
    onTestFinished(service.stop);
    await expect
      .poll(async () => (await fetch(`${service.url}/ready`)).json(), SOON)
      .toMatchObject({ status: 'ready' });
    if (way === 'API keys') return { service, write, acme: 'a', beta: 'b' };
    // The same subject, so that nothing but the tenant tells them apart.
    return { service, write, acme: await sign(KEY), beta: await sign(KEY, { tenant: 'beta' }) };
  };

  test('one id of a session is two sessions: budgets, journal and reset of one are not those of the other', async () => {
    const { service, acme, beta } = await start();
    const session_id = freshName();
    const missing = { name: 'read_file', arguments: { path: 'missing.md' } };
    resultsOf(await postAs(service, acme, { session_id, calls: [missing] }));
    await expect.poll(async () => (await viewAs(service, acme, session_id)).calls.length, SOON).toBe(1);
    const seen = await viewAs(service, beta, session_id);
    expect([seen.calls, seen.tools, seen.session.rounds]).toEqual([[], [], 0]);
    for (const path of ['', '/budgets', '/budgets/read_file'])
      expect((await askAs(service, beta, `/sessions/${session_id}${path}`, { method: 'DELETE' })).status).toBe(204);
    const kept = await viewAs(service, acme, session_id);
    expect([kept.calls.length, kept.tools.map(({ failures }) => failures)]).toEqual([1, [1]]);
    const [again] = resultsOf(await postAs(service, beta, { session_id, calls: [missing] }));
    expect(again?.retry).toMatchObject({ used: 0 });
  });

  test("another tenant's Idempotency-Key is new, and its kept results are not found", async () => {
    const { service, acme, beta, write } = await start();
    const headers = { 'idempotency-key': freshName(), 'x-request-id': freshName() };
    const body = (text: string) => ({ calls: [{ name: 'write', arguments: { text } }] });
    resultsOf(await postAs(service, acme, body('of acme'), headers));
    expect((await askAs(service, beta, `/tool-calls/${headers['x-request-id']}`)).code).toBe('result_not_kept');
    // Neither 409 nor 422, which would tell that the key is known.
    const [own] = resultsOf(await postAs(service, beta, body('of beta'), headers));
    expect([own?.value, own?.replayed]).toEqual([{ text: 'of beta' }, undefined]);
    expect(write.asked).toEqual([{ text: 'of acme' }, { text: 'of beta' }]);
    const [kept] = resultsOf(await askAs(service, acme, `/tool-calls/${headers['x-request-id']}`));
    expect(kept?.value).toEqual({ text: 'of acme' });
    const [replayed] = resultsOf(await postAs(service, acme, body('of acme'), headers));
    expect([replayed?.value, replayed?.replayed]).toEqual([{ text: 'of acme' }, true]);
  });
});
