import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { exportSPKI } from 'jose';
import { expect, test } from 'vitest';
import { type Authentication, type Caller, isTokenShaped } from '#src/auth/callers.ts';
import {
  createIssuerKeys,
  createTokenAuthentication,
  type IssuerKeysOptions,
  type TokenRules,
} from '#src/auth/tokens.ts';
import { forge, type Issuer, makeIssuerKey, sign, startIssuer, toClaims } from './issuer-lab.ts';

const RULES: Omit<TokenRules, 'keysOf'> = {
  issuer: 'https://issuer.example',
  audience: 'recourse',
  tenantClaim: 'tenant',
};

const authenticateBy = (
  issuer: Issuer,
  rules: Partial<TokenRules> = {},
  terms: Partial<IssuerKeysOptions> = {},
): ((token: string) => Promise<Authentication>) => {
  const keysOf = createIssuerKeys({ url: new URL(issuer.url), now: () => performance.now(), ...terms });
  return createTokenAuthentication({ ...RULES, keysOf, ...rules });
};

const toOutcome = (found: Authentication): string => (found.kind === 'refused' ? found.reason : found.kind);

const KEY = await makeIssuerKey('key-1');

const knownBy = async (claims: Readonly<Record<string, unknown>>, rules: Partial<TokenRules> = {}): Promise<Caller> => {
  const found = await authenticateBy(await startIssuer(KEY), rules)(await sign(KEY, claims));
  if (found.kind !== 'known') throw new Error(toOutcome(found));
  return found.caller;
};

const operationsOf = ({ may }: Caller): readonly string[] =>
  (['call', 'read', 'reset', 'operate'] as const).filter(may);

test.for(['RS256', 'PS384', 'ES256', 'ES512', 'EdDSA'])('a token signed with %s is accepted', async (alg) => {
  const key = await makeIssuerKey(`key-${alg}`, alg);
  const found = await authenticateBy(await startIssuer(KEY, key))(await sign(key));
  expect(found).toMatchObject({ kind: 'known', caller: { tenant: 'acme', key: 'agent-7', rate: null, tools: 'all' } });
});

test.for([
  [{ scope: 'tools:call sessions:read' }, ['call', 'read']],
  [{ scope: undefined, scp: ['sessions:reset', 7, null, 'x'] }, ['reset']],
  [{ scope: undefined, scp: 'tools:call  sessions:read' }, ['call', 'read']],
  [{ scope: 'tools:call', scp: ['sessions:read'] }, ['call', 'read']],
  [{ scope: 'tools:call sessions:read sessions:reset' }, ['call', 'read', 'reset']],
  [{ scope: 'calls:operate' }, ['operate']],
  [{ scope: undefined, scp: ['tools:call', 'calls:operate'] }, ['call', 'operate']],
  [{ scope: 'operate tools:operate sessions:operate calls:* calls:operates' }, []],
  [{ scope: 'openid tools:callx TOOLS:CALL' }, []],
  [{ scope: undefined }, []],
  [{ scope: ['tools:call'] }, ['call']],
  [{ scope: { 'tools:call': true } }, []],
] as const)('scopes say what a token may do: %j', async ([claims, operations]) => {
  expect(operationsOf(await knownBy(claims))).toEqual(operations);
});

test.for([
  ['tools:call', ['echo', 'read_file', 'github_search']],
  ['tools:call tool:echo', ['echo']],
  ['tool:echo tool:github_*', ['echo', 'github_search']],
  ['tool:*', ['echo', 'read_file', 'github_search']],
  ['tool:', []],
  ['tool:caf\u00e9', []],
] as const)('the scopes %j allow the tools %j', async ([scope, tools]) => {
  const caller = await knownBy({ scope });
  expect(['echo', 'read_file', 'github_search'].filter(caller.mayUse)).toEqual(tools);
  expect(caller.tools).toBe(tools.length === 3 ? 'all' : 'some');
});

test('the tenant may stand in another claim, and the audience in a list', async () => {
  const claims = { tenant: undefined, 'https://example.com/org': 'Team-1', aud: ['other', 'recourse'] };
  expect((await knownBy(claims, { tenantClaim: 'https://example.com/org' })).tenant).toBe('Team-1');
});

test('requests are counted by issuer, tenant and subject, none of which can be read from it', async () => {
  const one = await knownBy({ sub: 'ada@example.com' });
  const same = await knownBy({ sub: 'ada@example.com', scope: 'tools:call' });
  const other = await knownBy({ sub: 'ada@example.com', tenant: 'beta' });
  expect(one.rateKey).toBe(same.rateKey);
  expect(one.rateKey).not.toBe(other.rateKey);
  expect(one.rateKey).not.toContain('ada');
});

const SECOND = Math.floor(Date.now() / 1000);

test.for<readonly [string, Readonly<Record<string, unknown>>, string]>([
  ['another issuer', { iss: 'https://evil.example' }, 'invalid_token'],
  ['no issuer', { iss: undefined }, 'invalid_token'],
  ['another audience', { aud: 'another-service' }, 'invalid_token'],
  ['no audience', { aud: undefined }, 'invalid_token'],
  ['an end an hour ago', { exp: SECOND - 3600 }, 'expired'],
  ['no end', { exp: undefined }, 'invalid_token'],
  ['an end that is a text', { exp: '9999999999' }, 'invalid_token'],
  ['a beginning in an hour', { nbf: SECOND + 3600, exp: SECOND + 7200 }, 'invalid_token'],
  ['no subject', { sub: undefined }, 'invalid_token'],
  ['an empty subject', { sub: '' }, 'invalid_token'],
  ['a subject that is a number', { sub: 7 }, 'invalid_token'],
  ['no tenant', { tenant: undefined }, 'invalid_token'],
  ['a tenant that is a number', { tenant: 7 }, 'invalid_token'],
  ['a list of tenants', { tenant: ['acme'] }, 'invalid_token'],
  ['an empty tenant', { tenant: '' }, 'invalid_token'],
  ['the reserved tenant', { tenant: 'anonymous' }, 'invalid_token'],
  ['a tenant with a colon', { tenant: 'acme:x' }, 'invalid_token'],
  ['a tenant with a line break', { tenant: 'acme\n' }, 'invalid_token'],
])('a token with %s is refused', async ([, claims, reason]) => {
  const authenticate = authenticateBy(await startIssuer(KEY));
  expect(toOutcome(await authenticate(await sign(KEY, claims)))).toBe(reason);
});

test('clocks may differ by a few seconds', async () => {
  const authenticate = authenticateBy(await startIssuer(KEY));
  const now = Math.floor(Date.now() / 1000);
  expect(toOutcome(await authenticate(await sign(KEY, { nbf: now + 5 })))).toBe('known');
  expect(toOutcome(await authenticate(await sign(KEY, { exp: now - 1 })))).toBe('known');
  expect(toOutcome(await authenticate(await sign(KEY, { exp: now - 60 })))).toBe('expired');
});

test('the tenant is a claim of the token, not a member that every object has', async () => {
  const authenticate = authenticateBy(await startIssuer(KEY), { tenantClaim: 'constructor' });
  expect(toOutcome(await authenticate(await sign(KEY)))).toBe('invalid_token');
});

test('signatures that prove nothing are refused: none, the public key as a secret, another key, a changed token', async () => {
  const authenticate = authenticateBy(await startIssuer(KEY));
  const good = await sign(KEY);
  const [header = '', claims = '', signature = ''] = good.split('.');
  const secret = new TextEncoder().encode(await exportSPKI(KEY.publicKey));
  const { SignJWT } = await import('jose');
  const asSecret = new SignJWT(toClaims()).setProtectedHeader({ alg: 'HS256', kid: 'key-1' }).sign(secret);
  const stranger = { ...(await makeIssuerKey('key-1')), kid: 'key-1' };
  const forged = Buffer.from(JSON.stringify({ ...toClaims(), tenant: 'beta' })).toString('base64url');
  const tokens = [
    forge({ alg: 'none' }, toClaims()),
    forge({ alg: 'none', kid: 'key-1' }, toClaims(), signature),
    forge({ alg: 'NONE', kid: 'key-1' }, toClaims()),
    await asSecret,
    await sign(stranger),
    await sign(stranger, {}, { jwk: { kty: 'EC' }, jku: 'http://127.0.0.1:1/' }),
    `${header}.${forged}.${signature}`,
    `${header}.${claims}.`,
    `${header}.${claims}.${signature.slice(0, -4)}AAAA`,
    forge({ alg: 'ES256', kid: 'key-1', crit: ['x'], x: 1 }, toClaims(), signature),
    forge('x', toClaims(), signature),
    forge({ alg: 'ES256', kid: 'key-1' }, 'no object', signature),
    forge({ alg: 'RS256', kid: 'key-1' }, toClaims(), signature),
  ];
  for (const token of tokens) expect(toOutcome(await authenticate(token)), token).toBe('invalid_token');
  expect(toOutcome(await authenticate(good))).toBe('known');
});

test('a key that is rotated in is asked for when a token names it, and one that is taken out is refused', async () => {
  const [first, second] = [await makeIssuerKey('first'), await makeIssuerKey('second')];
  const issuer = await startIssuer(first);
  const authenticate = authenticateBy(issuer, {}, { unknownKeyMs: 0, pauseMs: 0 });
  expect(toOutcome(await authenticate(await sign(first)))).toBe('known');
  expect(toOutcome(await authenticate(await sign(second)))).toBe('invalid_token');
  await issuer.publish(second);
  expect(toOutcome(await authenticate(await sign(second)))).toBe('known');
  expect(toOutcome(await authenticate(await sign(first)))).toBe('invalid_token');
});

test('invented key ids cost the issuer no question each', async () => {
  const issuer = await startIssuer(KEY);
  const authenticate = authenticateBy(issuer);
  expect(toOutcome(await authenticate(await sign(KEY)))).toBe('known');
  const stranger = await makeIssuerKey('x');
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, place) => sign({ ...stranger, kid: `x${place}` })));
  const found = await Promise.all(tokens.map(authenticate));
  expect(new Set(found.map(toOutcome))).toEqual(new Set(['invalid_token']));
  expect(issuer.asked()).toBe(1);
});

test('keys are asked for again beside the requests, so that one that is taken out is refused without a restart', async () => {
  const next = await makeIssuerKey('next');
  const issuer = await startIssuer(KEY);
  const authenticate = authenticateBy(issuer, {}, { refreshMs: 20, pauseMs: 0 });
  const token = await sign(KEY);
  expect(toOutcome(await authenticate(token))).toBe('known');
  await issuer.publish(next);
  await expect
    .poll(async () => toOutcome(await authenticate(token)), { timeout: timeLimit(15_000) })
    .toBe('invalid_token');
});

test.for<readonly [string, Parameters<Issuer['answerBy']>[0]]>([
  ['fails', (response) => void response.writeHead(500).end('{"keys":[]}')],
  ['sends to another address', (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['answers no JSON', (response) => void response.end('<html>')],
  ['answers no key set', (response) => void response.end('{"keys":7}')],
  ['hangs up', (response) => void response.destroy()],
  ['never answers', () => undefined],
  ['never ends its answer', (response) => void response.write('{"keys":[')],
])('while an issuer %s nobody can be told, and it is asked once for all who wait', async ([, answer]) => {
  const issuer = await startIssuer(KEY);
  issuer.answerBy(answer);
  const authenticate = authenticateBy(issuer, {}, { timeoutMs: 250, pauseMs: 60_000 });
  const token = await sign(KEY);
  const found = await Promise.all(Array.from({ length: 20 }, () => authenticate(token)));
  expect(new Set(found.map(toOutcome))).toEqual(new Set(['unavailable']));
  expect(issuer.asked()).toBe(1);
  // It was asked a moment ago: who comes now is told so at once.
  expect(toOutcome(await authenticate(token))).toBe('unavailable');
  expect(issuer.asked()).toBe(1);
});

test('an issuer that comes back is believed again, and a token that needs no key is refused meanwhile', async () => {
  const issuer = await startIssuer(KEY);
  issuer.answerBy((response) => void response.writeHead(503).end());
  const authenticate = authenticateBy(issuer, {}, { pauseMs: 0 });
  expect(toOutcome(await authenticate(await sign(KEY)))).toBe('unavailable');
  expect(toOutcome(await authenticate(forge({ alg: 'none' }, toClaims())))).toBe('invalid_token');
  await issuer.publish(KEY);
  expect(toOutcome(await authenticate(await sign(KEY)))).toBe('known');
});

test('the keys that were had last hold while the issuer is away, but not for ever', async () => {
  const issuer = await startIssuer(KEY);
  const terms = { refreshMs: 0, pauseMs: 0, timeoutMs: 250 };
  const patient = authenticateBy(issuer, {}, terms);
  const brief = authenticateBy(issuer, {}, { ...terms, maxAgeMs: 0 });
  const token = await sign(KEY);
  expect([toOutcome(await patient(token)), toOutcome(await brief(token))]).toEqual(['known', 'known']);
  await issuer.stop();
  expect([toOutcome(await patient(token)), toOutcome(await brief(token))]).toEqual(['known', 'unavailable']);
});

test('what has the form of a token is told from other keys', () => {
  expect(['eyJh.eyJz.sig_-1', 'eyJh.eyJz.', 'ey..'].map(isTokenShaped)).toEqual([true, true, true]);
  expect(['rcs_abc', 'a.b.c', 'eyJh.eyJz', 'eyJh.eyJz.a.b', 'eyJh.ey Jz.x', ''].map(isTokenShaped)).toEqual(
    Array(6).fill(false),
  );
});
