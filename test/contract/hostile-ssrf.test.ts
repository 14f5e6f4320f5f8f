import { setInterval } from 'node:timers';
import { gzipSync } from 'node:zlib';
import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

// One pass over the wire: the depth of these guards is proved in test/extensions.

let service: RunningService;
/** May reach 127.0.0.1, where the servers of these tests are. */
let open: RunningService;

beforeAll(async () => {
  service = await startService();
  open = await startService({ FETCH_ALLOW_PRIVATE: 'true' });
});

afterAll(async () => {
  for (const one of [service, open]) {
    expect(await one.metric('recourse_contract_violations_total')).toBe(0);
    await one.stop();
  }
});

const toEntry = (url: string): string => JSON.stringify({ name: 'fetch_url', arguments: { url } });
const fetchUrl = (from: RunningService, url: string, more: Readonly<Record<string, unknown>> = {}) =>
  answerOne(from, { name: 'fetch_url', arguments: { url, ...more } });

const LOOPBACK = [
  '127.0.0.1',
  'localhost',
  '0x7f.1',
  '2130706433',
  '0177.0.0.1',
  '127.1',
  '0',
  '127.0.0.1.',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
];

test('no spelling of loopback is reached, and no packet is sent', async () => {
  const target = await startHttpTarget(answering(200, {}, 'the secret'));
  const urls = LOOPBACK.map((host) => `http://${host}:${target.port}/`);
  const results = await answerAmongGood(service, urls.map(toEntry));
  expect(results.map(({ outcome, message }) => [outcome, message])).toEqual(
    urls.map((url) => [
      'retry',
      `URL '${new URL(url).href}' was not fetched: its address is not public. Use a public URL.`,
    ]),
  );
  expect(target.connections()).toBe(0);
});

test.each([
  'http://169.254.169.254/latest/meta-data/',
  'http://[fd00:ec2::254]/',
  'http://100.100.100.200/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.0.1/',
])('%s is not public', async (url) => {
  const result = await fetchUrl(service, url);
  expect(result).toMatchObject({ outcome: 'retry', value: null, error: { code: 'retry_requested' } });
  expect(result.message).toBe(`URL '${url}' was not fetched: its address is not public. Use a public URL.`);
});

const ONLY_HTTP = 'was not fetched: only http and https URLs can be fetched. Use a public http or https URL.';

test.each([
  ['file:///etc/passwd', `URL 'file:///etc/passwd' ${ONLY_HTTP}`],
  ['gopher://127.0.0.1:6379/_INFO', `URL 'gopher://127.0.0.1:6379/_INFO' ${ONLY_HTTP}`],
  ['data:text/plain,x', `URL 'data:text/plain,x' ${ONLY_HTTP}`],
  ['javascript:alert(1)', `URL 'javascript:alert(1)' ${ONLY_HTTP}`],
  [
    'http://bob:hunter2@example.com/',
    "URL 'http://…@example.com/' was not fetched: a URL must not contain a user name or password. Use a public http or https URL.",
  ],
  [
    'http://example.com:25/',
    "URL 'http://example.com:25/' was not fetched: port 25 is not allowed (only 80, 443, and 1024 or above). Use a public http or https URL.",
  ],
  ['//example.com', "'//example.com' is not a URL. Send an absolute one, for example https://example.com/page."],
])('%s is refused in words', async (url, message) => {
  expect(await fetchUrl(service, url)).toMatchObject({ outcome: 'retry', value: null, message });
  expect(JSON.stringify(service.logLines())).not.toContain('hunter2');
});

test('redirects in a loop, into files and with passwords end in words', async () => {
  const target = await startHttpTarget((response, { path }) => {
    const places = new Map([
      ['/file', 'file:///etc/passwd'],
      ['/password', 'http://bob:hunter2@127.0.0.1:1/'],
    ]);
    response.writeHead(302, { location: places.get(path) ?? '/loop' }).end();
  });
  const paths = ['/loop', '/file', '/password'];
  const results = await answerAmongGood(
    open,
    paths.map((path) => toEntry(`${target.origin}${path}`)),
  );
  for (const { outcome, value, message } of results) {
    expect(outcome).toMatch(/^(retry|failed)$/);
    expect(JSON.stringify([value, message])).not.toMatch(/hunter2|root:/);
  }
  expect(target.requests.length).toBeLessThan(10);
});

test('a body that never ends, or unpacks to more and more, is cut', async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000, 'a'));
  const target = await startHttpTarget((response, { path }) => {
    if (path === '/bomb') {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(bomb);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/plain' });
    const timer = setInterval(() => response.write('x'.repeat(100_000)), 1);
    response.on('close', () => clearInterval(timer));
  });
  for (const path of ['/bomb', '/endless']) {
    const result = await fetchUrl(open, `${target.origin}${path}`, { max_bytes: 2000 });
    expect(result).toMatchObject({ success: true, value: { truncated: true } });
    expect(JSON.stringify(result.value).length).toBeLessThan(3000);
  }
  await expect.poll(target.open).toBe(0);
});

test('proxies of the environment are not asked', async () => {
  const proxy = await startHttpTarget(answering(200, {}, 'from the proxy'));
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY'];
  for (const name of names) process.env[name] = proxy.origin;
  onTestFinished(() => {
    for (const name of names) delete process.env[name];
  });
  const own = await startService({ FETCH_ALLOW_PRIVATE: 'true' });
  const target = await startHttpTarget(answering(200, { 'content-type': 'text/plain' }, 'direct'));
  expect((await fetchUrl(own, target.origin)).value).toMatchObject({ content: 'direct' });
  expect(proxy.connections()).toBe(0);
  await own.stop();
});

test('HTTP failures are told in the words of seed 001', async () => {
  const target = await startHttpTarget((response, { path }) => {
    if (path === '/busy') response.writeHead(429, { 'retry-after': '60' }).end();
    else response.writeHead(404).end();
  });
  const [missing, busy] = await answerAmongGood(open, [
    toEntry(`${target.origin}/a`),
    toEntry(`${target.origin}/busy`),
  ]);
  expect(missing?.message).toBe(`HTTP 404: URL '${target.origin}/a' not found. Try a different URL.`);
  expect(busy).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    message: 'Rate limit exceeded (429). Try again in 60 seconds or use another source.',
    error: { code: 'upstream_rate_limited', retry_after_ms: 60_000 },
  });
});
