import { createHash } from 'node:crypto';
import { type ExpectedProblem, expectProblem, expectResults, post } from '@recourse/test-support/check-answer.ts';
import { type RawAnswer, sendRaw, toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

const start = async (
  environment: Readonly<Record<string, string>> = {},
  tools: readonly Tool[] = [],
): Promise<RunningService> => {
  const service = await startService(environment, tools);
  onTestFinished(service.stop);
  return service;
};

const GOOD = '{"calls":[{"name":"echo","arguments":{"text":"x"}}]}';
const KEY = 'key-of-acme';
const API_KEYS = `acme=${createHash('sha256').update(KEY).digest('hex')}`;

const UNAUTHORIZED: ExpectedProblem = {
  status: 401,
  title: 'Unauthorized',
  code: 'unauthorized',
  detail: 'Send a valid key as Authorization: Bearer … or X-API-Key.',
};

test('no key, an unknown key and a wrong one are refused in the same words', async () => {
  const service = await start({ API_KEYS });
  const wrong: readonly Readonly<Record<string, string>>[] = [
    {},
    { authorization: `Bearer ${KEY.slice(0, -1)}` },
    { authorization: `Bearer ${KEY}x` },
    { authorization: 'Bearer' },
    { authorization: `Basic ${KEY}` },
    { authorization: KEY },
    { authorization: `Bearer ${KEY} ${KEY}` },
    { authorization: `Bearer ${' '.repeat(8000)}` },
    { 'x-api-key': '' },
    { 'x-api-key': 'acme' },
    { 'x-api-key': API_KEYS },
    { authorization: 'Bearer wrong', 'x-api-key': KEY },
  ];
  for (const headers of wrong) {
    const answer = await post(service.url, GOOD, headers);
    expectProblem(answer, UNAUTHORIZED);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  }
});

test('a right key is taken from either header', async () => {
  const service = await start({ API_KEYS });
  for (const headers of [{ authorization: `Bearer ${KEY}` }, { authorization: `bearer  ${KEY}` }, { 'x-api-key': KEY }])
    expect(expectResults(await post(service.url, GOOD, headers), 1)[0]?.success).toBe(true);
});

test('without a key nothing is read: a body that is too large or broken is a 401 too', async () => {
  const service = await start({ API_KEYS });
  for (const body of ['{', 'x'.repeat(2_000_000)])
    expectProblem(await sendRaw(service.port, toPostText(body)), UNAUTHORIZED);
});

test('the catalogue needs a key, health and metrics do not', async () => {
  const service = await start({ API_KEYS });
  const statuses = await Promise.all(
    ['/tools', '/tools/echo', '/live', '/ready', '/metrics', '/openapi.json'].map(
      async (path) => (await fetch(`${service.url}${path}`)).status,
    ),
  );
  expect(statuses).toEqual([401, 401, 200, 200, 200, 200]);
});

const FORBIDDEN: ExpectedProblem = {
  status: 403,
  title: 'Forbidden',
  code: 'forbidden_origin',
  detail:
    'Requests from this origin or for this host are refused. Add the origin to ALLOWED_ORIGINS; without keys use a loopback host.',
};

const send = (service: RunningService, headers: readonly (readonly [string, string])[]): Promise<RawAnswer> =>
  sendRaw(service.port, toPostText(GOOD, headers));

test.each([
  'https://evil.example',
  'null',
  '',
  'http://localhost.evil.example',
  'http://127.0.0.1.evil.example',
  'http://evil.example#http://localhost',
  'http://localhost@evil.example',
  'https://app.example.com.evil.example',
  'http://app.example.com',
  'file://',
])('a page from the origin %j may not call', async (origin) => {
  const service = await start({ ALLOWED_ORIGINS: 'https://app.example.com' });
  expectProblem(await send(service, [['Origin', origin]]), FORBIDDEN);
});

test.each(['https://app.example.com', 'http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:8080'])(
  'a page from the origin %s may call, and gets no CORS header',
  async (origin) => {
    const service = await start({ ALLOWED_ORIGINS: 'https://app.example.com' });
    const answer = await send(service, [['Origin', origin]]);
    expect(expectResults(answer, 1)[0]?.success).toBe(true);
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  },
);

const REBOUND = [
  ['Host', 'rebound.example:8080'],
  ['Sec-Fetch-Site', 'same-origin'],
] as const;

test('while anonymous, a browser that asked for another host than loopback is refused: DNS rebinding', async () => {
  const service = await start();
  expectProblem(await send(service, REBOUND), FORBIDDEN);
  const spoofed = [
    ['X-Forwarded-Host', 'localhost'],
    ['X-Forwarded-For', '127.0.0.1'],
    ['Forwarded', 'host=localhost'],
  ];
  expectProblem(
    await send(service, [...REBOUND, ...spoofed.map(([name = '', value = '']) => [name, value] as const)]),
    FORBIDDEN,
  );
  for (const host of ['localhost', 'LOCALHOST:8080', '127.0.0.1:1', '[::1]:8080'])
    expectResults(
      await send(service, [
        ['Host', host],
        ['Sec-Fetch-Site', 'none'],
      ]),
      1,
    );
});

test('a name that is rebound is no way around a key: without one it is refused as anywhere', async () => {
  const service = await start({ API_KEYS });
  expectProblem(await send(service, REBOUND), UNAUTHORIZED);
});

test('a foreign origin is refused whether there are keys or not, and whether the key is right or not', async () => {
  const origin = ['Origin', 'https://evil.example'] as const;
  expectProblem(await send(await start(), [origin]), FORBIDDEN);
  const service = await start({ API_KEYS });
  expectProblem(await send(service, [origin]), FORBIDDEN);
  expectProblem(await send(service, [origin, ['X-API-Key', KEY]]), FORBIDDEN);
  // Nor may a page read what needs no key.
  expectProblem(await sendRaw(service.port, toRequestText('GET /openapi.json', [origin])), FORBIDDEN);
});

test('whoever has a key may use any name of the service', async () => {
  const known = await start({ API_KEYS });
  expectResults(await send(known, [...REBOUND, ['X-API-Key', KEY]]), 1);
  expectResults(
    await send(known, [
      ['Host', 'recourse.internal'],
      ['User-Agent', 'Mozilla/5.0'],
      ['X-API-Key', KEY],
    ]),
    1,
  );
});

test('forwarding headers change nothing and are believed by nobody', async () => {
  const service = await start();
  const answer = await send(service, [
    ['X-Forwarded-For', '10.0.0.1, 1.2.3.4'],
    ['X-Forwarded-Proto', 'gopher'],
    ['X-Forwarded-Host', 'evil.example'],
    ['X-Real-IP', '169.254.169.254'],
    ['traceparent', '00-zz-zz-zz'],
  ]);
  expect(expectResults(answer, 1)[0]?.success).toBe(true);
  expect(JSON.stringify(service.logLines())).not.toMatch(/10\.0\.0\.1|evil\.example|169\.254/);
});

test('while draining, new batches are refused and told when to come again; the running one is answered', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    effects: 'read',
    input: z.object({}),
    run: () => {
      entered.resolve();
      return release.promise;
    },
  });
  const service = await start({}, [wait]);
  const running = post(service.url, '{"order":"sequential","calls":[{"name":"wait"},{"name":"wait"}]}');
  await entered.promise;
  service.drain();
  const refused = await post(service.url, GOOD);
  expectProblem(refused, {
    status: 503,
    title: 'Service Unavailable',
    code: 'draining',
    detail: 'The service is stopping. Send the batch again.',
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(
    await Promise.all(['/live', '/ready'].map(async (path) => (await fetch(`${service.url}${path}`)).status)),
  ).toEqual([200, 503]);
  release.resolve();
  const [first, second] = expectResults(await running, 2);
  expect(first).toMatchObject({ success: true, value: null });
  expect(second).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    message: 'Not executed: the service is shutting down. Send this call again in a few seconds.',
    error: { code: 'shutting_down' },
    retry: null,
  });
});
