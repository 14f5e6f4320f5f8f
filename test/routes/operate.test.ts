import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { expect, test } from 'vitest';
import { createApiKeys } from '#src/auth/api-keys.ts';
import { type Authenticate, createAuthenticate } from '#src/auth/callers.ts';
import { createIssuerKeys, createTokenAuthentication } from '#src/auth/tokens.ts';
import { makeIssuerKey, sign, startIssuer } from '#test/auth/issuer-lab.ts';
import { startSessionRoutes } from './session-routes-lab.ts';

const PATH = '/decisions/:id';

/** A route that demands `operate`, on a real socket: what it answers for a credential, and what its handler was asked. */
const startOperated = async (authenticate: Authenticate) => {
  const decided: string[] = [];
  const { ask } = await startSessionRoutes({
    authenticate,
    addRoutes: (app) => {
      app.post<{ Params: { id: string } }>(PATH, { config: { operation: 'operate' } }, async (request, reply) => {
        decided.push(request.params.id);
        return reply.code(204).send();
      });
      app.get(PATH, async (_request, reply) => reply.code(204).send());
    },
  });
  const send = (method: 'GET' | 'POST', credential: string | null, body = '') => {
    const type = body === '' ? {} : { 'content-type': 'application/json' };
    const headers = credential === null ? type : { ...type, authorization: `Bearer ${credential}` };
    return ask('/decisions/7', { method, headers, body });
  };
  return { decided, send };
};

const KEYS = createAuthenticate(
  createApiKeys({
    entries: [
      toKeyEntry('acme', 'k-default'),
      toKeyEntry('acme', 'k-agent', 'may=call|read|reset'),
      toKeyEntry('acme', 'k-operate', 'may=operate'),
      toKeyEntry('acme', 'k-all', 'may=call|read|reset|operate'),
    ],
    file: null,
    onReload: () => undefined,
    time: Date.now,
  }),
  null,
);

const ISSUER_KEY = await makeIssuerKey('key-1');

const createTokens = async (): Promise<Authenticate> => {
  const { url } = await startIssuer(ISSUER_KEY);
  const keysOf = createIssuerKeys({ url: new URL(url), now: () => performance.now() });
  const rules = { issuer: 'https://issuer.example', audience: 'recourse', tenantClaim: 'tenant' };
  return createAuthenticate(null, createTokenAuthentication({ keysOf, ...rules }));
};

const keyed = (key: string) => async () => ({ authenticate: KEYS, credential: key });
const signed = (scope: string) => async () => ({
  authenticate: await createTokens(),
  credential: await sign(ISSUER_KEY, { scope }),
});

test.for([
  ['a key without may=', keyed('k-default')],
  ['a key that may do all else', keyed('k-agent')],
  ['a token without its scope', signed('tools:call sessions:read sessions:reset')],
] as const)('a route that demands operate is refused to %s', async ([, arrange]) => {
  const { authenticate, credential } = await arrange();
  const { decided, send } = await startOperated(authenticate);
  // No JSON: who may not come in is told so, and not what is wrong with the body.
  const { status, body } = await send('POST', credential, '{');
  expect([status, decided]).toEqual([403, []]);
  expect(JSON.parse(body)).toMatchObject({
    code: 'operation_not_allowed',
    detail: 'This key may not make decisions of operators. Use a key with the operation operate.',
  });
  // Another method of the path has the right that its own route asks for.
  expect((await send('GET', credential)).status).toBe(204);
});

test.for([
  ['a key whose may= names it alone', keyed('k-operate')],
  ['a key whose may= names all', keyed('k-all')],
  ['a token with its scope', signed('calls:operate')],
  [
    'everybody where nothing is configured',
    async () => ({ authenticate: createAuthenticate(null, null), credential: null }),
  ],
] as const)('a route that demands operate lets in %s', async ([, arrange]) => {
  const { authenticate, credential } = await arrange();
  const { decided, send } = await startOperated(authenticate);
  expect((await send('POST', credential, '{}')).status).toBe(204);
  expect(decided).toEqual(['7']);
});

test('a key that may operate alone may do nothing else', async () => {
  const { send } = await startOperated(KEYS);
  expect((await send('GET', 'k-operate')).status).toBe(403);
  expect((await send('POST', 'nobody')).status).toBe(401);
});
