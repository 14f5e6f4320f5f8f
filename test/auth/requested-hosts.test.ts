import { sendRaw, toPostText, toRequestText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  return service;
};

const GOOD = '{"calls":[{"name":"echo","arguments":{"text":"x"}}]}';

// What a page of http://evil.example sends with a GET: no Origin, and no Fetch Metadata, for its address is not trustworthy.
const BROWSER = ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0'] as const;
const PATHS = ['/tools', '/sessions/s', '/metrics', '/live', '/openapi.json', '/docs', '/console'];

const statusesOf = async (
  service: RunningService,
  headers: readonly (readonly [string, string])[],
): Promise<readonly number[]> => {
  const answers = PATHS.map((path) => sendRaw(service.port, toRequestText(`GET ${path}`, headers)));
  return (await Promise.all(answers)).map(({ status }) => status);
};

const ALL_REFUSED = [403, 403, 403, 403, 403, 403, 403];
const ALL_SERVED = [200, 200, 200, 200, 200, 200, 200];

test.each([
  'rebound.example',
  'rebound.example:8080',
  'localhost.rebound.example',
  '127.0.0.1.rebound.example',
  'rebound.example:127.0.0.1',
  'localhost@rebound.example',
  '[::1].rebound.example',
  '[::2]',
  '10.0.0.1',
  '0.0.0.0',
  '',
])('while anonymous on loopback nothing is read by who asks for the Host %j, browser or not', async (host) => {
  const service = await start({ ALLOWED_ORIGINS: 'https://app.example.com' });
  for (const more of [[], [BROWSER], [['Origin', 'https://app.example.com'] as const]])
    expect(await statusesOf(service, [['Host', host], ...more])).toEqual(ALL_REFUSED);
  const { status, body } = await sendRaw(service.port, toPostText(GOOD, [['Host', host]]));
  expect([status, JSON.parse(body).code]).toEqual([403, 'forbidden_origin']);
});

test.each(['localhost', 'LocalHost:8080', '127.0.0.1', '127.1.2.3:65535', '[::1]', '[::1]:8080'])(
  'while anonymous on loopback a browser that asks for the Host %s is served',
  async (host) => {
    expect(await statusesOf(await start(), [['Host', host], BROWSER])).toEqual(ALL_SERVED);
  },
);

test('while anonymous where others reach it, a service is asked by its own name by everybody but browsers', async () => {
  const service = await start({ HOST: '0.0.0.0', ALLOW_ANONYMOUS: 'true' });
  const host = ['Host', 'recourse.internal:8080'] as const;
  expect(await statusesOf(service, [host])).toEqual(ALL_SERVED);
  expect(await statusesOf(service, [host, ['User-Agent', 'Prometheus/3.5.0']])).toEqual(ALL_SERVED);
  expect(await statusesOf(service, [host, BROWSER])).toEqual(ALL_REFUSED);
  expect(await statusesOf(service, [host, ['Sec-Fetch-Site', 'none']])).toEqual(ALL_REFUSED);
  expect(await statusesOf(service, [['Host', 'localhost:8080'], BROWSER])).toEqual(ALL_SERVED);
});

test('who asks for no host at all, as HTTP/1.0 may, is served unless it is a browser', async () => {
  const service = await start();
  const ask = async (headers: string): Promise<number> =>
    (await sendRaw(service.port, `GET /tools HTTP/1.0\r\nConnection: keep-alive\r\n${headers}\r\n`)).status;
  expect([await ask(''), await ask('User-Agent: Mozilla/5.0\r\n')]).toEqual([200, 403]);
});
