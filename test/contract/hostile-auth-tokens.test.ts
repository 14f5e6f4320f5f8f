import { askAs, postAs, toKeyEntry, viewAs } from '@recourse/test-support/access-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { forge, makeIssuerKey, sign, startIssuer, toClaims } from '#test/auth/issuer-lab.ts';

const KEY = await makeIssuerKey('key-1');
const CALL = { calls: [{ name: 'echo', arguments: { text: 'x' } }] };
const refused = (reason: string): string => `recourse_access_refused_total{reason="${reason}"}`;

const start = async (environment: Readonly<Record<string, string>>): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  return service;
};

const startWithIssuer = async (environment: Readonly<Record<string, string>> = {}) => {
  const issuer = await startIssuer(KEY);
  const settings = { JWT_JWKS_URL: issuer.url, JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'recourse' };
  return { issuer, service: await start({ ...settings, ...environment }) };
};

test('a token lets its tenant in, its subject stands in the log, and the token nowhere', async () => {
  const { service } = await startWithIssuer();
  const token = await sign(KEY);
  expect((await postAs(service, token, { ...CALL, session_id: 's' })).status).toBe(200);
  expect((await askAs(service, token, '/tools')).status).toBe(200);
  expect((await askAs(service, token, '/sessions/s', { method: 'DELETE' })).status).toBe(204);
  const [batch] = service.logLines().filter(({ msg }) => msg === 'batch');
  expect(batch).toMatchObject({ tenant: 'acme', key: 'agent-7' });
  const log = JSON.stringify(service.logLines());
  expect(log).not.toContain(token.slice(0, 40));
  expect(log).not.toContain(token.split('.')[2]);
});

test('where only tokens are accepted nobody is anonymous, and every refusal is the same 401', async () => {
  const { service } = await startWithIssuer();
  const missing = await postAs(service, null, CALL);
  expect(missing.status).toBe(401);
  const withoutId = (text: string): object => ({ ...JSON.parse(text), request_id: '' });
  const headersOf = (headers: Headers) => [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name));
  for (const token of [
    'no-token',
    forge({ alg: 'none' }, toClaims()),
    await sign(await makeIssuerKey('key-1')),
    await sign(KEY, { exp: 1 }),
    await sign(KEY, { aud: 'another' }),
    await sign(KEY, { tenant: 7 }),
  ]) {
    const answer = await postAs(service, token, CALL);
    expect([answer.status, withoutId(answer.text)]).toEqual([401, withoutId(missing.text)]);
    expect(headersOf(answer.headers)).toEqual(headersOf(missing.headers));
  }
  expect(await service.metric(refused('missing'))).toBe(1);
  expect(await service.metric(refused('unknown'))).toBe(1);
  expect(await service.metric(refused('expired'))).toBe(1);
  expect(await service.metric(refused('invalid_token'))).toBe(4);
});

test('scopes decide: without one nothing is allowed, and tools are those that are named', async () => {
  const { service } = await startWithIssuer();
  const nothing = await sign(KEY, { scope: 'openid' });
  expect((await postAs(service, nothing, CALL)).code).toBe('operation_not_allowed');
  expect((await askAs(service, nothing, '/sessions/s')).code).toBe('operation_not_allowed');
  const echo = await sign(KEY, { scope: 'tools:call tool:ec*' });
  const { text } = await postAs(service, echo, { calls: [...CALL.calls, { name: 'list_files' }] });
  expect(ToolCallsResponse.parse(JSON.parse(text)).results.map(({ error }) => error?.code ?? 'ok')).toEqual([
    'ok',
    'not_authorized',
  ]);
});

test('an API key and a token of one tenant see the same sessions, those of another tenant see nothing of them', async () => {
  const { service } = await startWithIssuer({ API_KEYS: toKeyEntry('acme', 'k') });
  const [acme, beta] = [await sign(KEY), await sign(KEY, { tenant: 'beta' })];
  expect((await postAs(service, 'k', { ...CALL, session_id: 's' })).status).toBe(200);
  await expect
    .poll(async () => (await viewAs(service, acme, 's')).calls.length, { timeout: timeLimit(15_000) })
    .toBe(1);
  expect((await viewAs(service, beta, 's')).calls).toEqual([]);
});

test('a key that is no token is looked for among the API keys, also where it looks like one', async () => {
  const { service, issuer } = await startWithIssuer({ API_KEYS: toKeyEntry('acme', 'eyJh.eyJz.x') });
  expect((await postAs(service, 'eyJh.eyJz.x', CALL)).status).toBe(200);
  expect(issuer.asked()).toBe(0);
});

test('while the issuer is away a token is answered 503 with Retry-After, and API keys work', async () => {
  const { service, issuer } = await startWithIssuer({ API_KEYS: toKeyEntry('acme', 'k') });
  await issuer.stop();
  const answer = await postAs(service, await sign(KEY), CALL);
  expect([answer.status, answer.code, answer.headers.get('retry-after')]).toEqual([503, 'auth_unavailable', '1']);
  expect((await postAs(service, 'k', CALL)).status).toBe(200);
  expect((await postAs(service, forge({ alg: 'none' }, toClaims()), CALL)).status).toBe(401);
  expect(await service.metric(refused('unavailable'))).toBe(1);
});

test('a token of the anonymous tenant is refused: whoever is anonymous has no key', async () => {
  const { service } = await startWithIssuer();
  expect((await postAs(service, await sign(KEY, { tenant: 'anonymous' }), CALL)).status).toBe(401);
});
