import { postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';
import { makeIssuerKey, sign, startIssuer } from '#test/auth/issuer-lab.ts';

const VARIABLES = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'] as const;

/** A service of its own process with proxies in its environment, and what it fetched by a key and by a token. */
const fetchBehindProxies = async (more: Readonly<Record<string, string>>) => {
  const proxy = await startHttpTarget(answering(502, {}, 'from the proxy'));
  const target = await startHttpTarget(answering(200, { 'content-type': 'text/plain' }, 'straight'));
  const issuerKey = await makeIssuerKey('key-1');
  const issuer = await startIssuer(issuerKey);
  const service = await startProcess({
    by: 'node',
    environment: {
      ...Object.fromEntries(VARIABLES.map((name) => [name, proxy.origin])),
      ...more,
      FETCH_ALLOW_PRIVATE: 'true',
      API_KEYS: toKeyEntry('acme', 'k'),
      JWT_JWKS_URL: issuer.url,
      JWT_ISSUER: 'https://issuer.example',
      JWT_AUDIENCE: 'recourse',
    },
  });
  const body = { calls: [{ name: 'fetch_url', arguments: { url: `${target.origin}/page` } }] };
  const contentFor = async (credential: string): Promise<unknown> => {
    const { status, text } = await postAs(service, credential, body);
    return status === 200 ? ToolCallsResponse.parse(JSON.parse(text)).results[0]?.value : status;
  };
  const byKey = await contentFor('k');
  const byToken = await contentFor(await sign(issuerKey));
  return { byKey, byToken, issuer, proxied: proxy.requests.map(({ path }) => path), connections: proxy.connections() };
};

test(
  'proxies of the environment are asked for nothing: not for a URL of a model, not for the keys of tokens',
  async () => {
    const { byKey, byToken, issuer, connections } = await fetchBehindProxies({});
    expect(byKey).toMatchObject({ content: 'straight' });
    expect(byToken).toMatchObject({ content: 'straight' });
    expect(issuer.asked()).toBe(1);
    expect(connections).toBe(0);
  },
  timeLimit(60_000),
);

test(
  'where Node is told to use them, keys of tokens are asked for through them, and what a model names still is not',
  async () => {
    const { byKey, byToken, issuer, proxied } = await fetchBehindProxies({ NODE_USE_ENV_PROXY: '1' });
    expect(byKey).toMatchObject({ content: 'straight' });
    // This proxy has no keys: nobody is let in by what it says instead.
    expect(byToken).toBe(503);
    expect(proxied).toEqual([issuer.url]);
    expect(issuer.asked()).toBe(0);
  },
  timeLimit(60_000),
);
