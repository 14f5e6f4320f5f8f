import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { answering, createInstantClock, failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { FROM_SOURCES } from '@recourse/test-support/node-flags.ts';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { isPublicAddress } from '@recourse/toolkit-kit/egress/address-policy';
import { expect, onTestFinished, test } from 'vitest';
import { createFetchUrl, type FetchUrlOptions } from '#src/fetch-url.ts';

const createTool = (options: Partial<FetchUrlOptions> = {}) => {
  const { tool, close } = createFetchUrl({ privateAddresses: 'refuse', ...options });
  onTestFinished(close);
  return tool;
};

/** Answers each look-up with the next list of addresses, the last one again and again. */
const lookupOf = (...answers: readonly (readonly string[])[]) => {
  const asked: string[] = [];
  const lookup = async (hostname: string): Promise<readonly string[]> => {
    asked.push(hostname);
    return answers[Math.min(asked.length, answers.length) - 1] ?? [];
  };
  return { asked, lookup };
};

test.each([
  '127.0.0.1',
  'localhost',
  'LOCALHOST.',
  'app.localhost',
  '0x7f.1',
  '0x7f000001',
  '2130706433',
  '0177.0.0.1',
  '127.1',
  '0',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '①②⑦.0.0.1',
  '127。0。0。1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[0:0:0:0:0:0:7f00:1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.0.1',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
])('%s is refused and nothing is sent', async (host) => {
  const target = await startHttpTarget(answering(200, {}, 'secret'));
  const url = `http://${host}:${target.port}/`;
  expect(await failureOf(runTool(createTool(), { url }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${new URL(url).href}' was not fetched: its address is not public. Use a public URL.`,
  });
  expect(target.connections()).toBe(0);
});

test.each([
  ['a private address', ['10.0.0.1']],
  ['a loopback address', ['127.0.0.1']],
  ['a public and then a private address', ['93.184.215.14', '127.0.0.1']],
  ['a private and then a public address', ['127.0.0.1', '93.184.215.14']],
  ['a public IPv4 and a private IPv6 address', ['93.184.215.14', 'fd00:ec2::254']],
  ['a text that is no address', ['localhost']],
])('a name with %s is refused and nothing is sent', async (_, addresses) => {
  const target = await startHttpTarget(answering(200, {}, 'secret'));
  const { lookup } = lookupOf(addresses);
  expect(await failureOf(runTool(createTool({ lookup }), { url: `http://name.test:${target.port}/` }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL 'http://name.test:${target.port}/' was not fetched: its address is not public. Use a public URL.`,
  });
  expect(target.connections()).toBe(0);
});

// No public host is reachable from a test: here 127.0.0.1 plays one, and everything else is judged as always.
const isPublic = (address: string): boolean => address === '127.0.0.1' || isPublicAddress(address);

test('the connection goes to the address that was checked: no second look-up can change it', async () => {
  const target = await startHttpTarget(answering(200, { connection: 'close' }, 'public'));
  const { asked, lookup } = lookupOf(['127.0.0.1'], ['169.254.169.254']);
  const tool = createTool({ lookup, isPublic });
  const url = `http://rebind.test:${target.port}/`;
  expect(await runTool(tool, { url })).toMatchObject({ content: 'public' });
  expect(asked).toEqual(['rebind.test']);
  expect(await failureOf(runTool(tool, { url }))).toMatchObject({
    message: `URL '${url}' was not fetched: its address is not public. Use a public URL.`,
  });
  expect(target.connections()).toBe(1);
});

test('a name that is rebound between two attempts is refused at the second', async () => {
  const target = await startHttpTarget((response) => response.destroy());
  const { asked, lookup } = lookupOf(['127.0.0.1'], ['10.0.0.1']);
  const tool = createTool({ lookup, isPublic, clock: createInstantClock() });
  expect(await failureOf(runTool(tool, { url: `http://rebind.test:${target.port}/` }))).toMatchObject({
    message: `URL 'http://rebind.test:${target.port}/' was not fetched: its address is not public. Use a public URL.`,
  });
  expect(asked).toEqual(['rebind.test', 'rebind.test']);
  expect(target.connections()).toBe(1);
});

test.each([
  ['http://169.254.169.254/latest/meta-data/', 'http://169.254.169.254/latest/meta-data/'],
  ['http://[::ffff:7f00:1]/', 'http://[::ffff:7f00:1]/'],
  ['http://[::1]/', 'http://[::1]/'],
  ['//2130706434/', 'http://127.0.0.2/'],
  ['http://inside.test/', 'http://inside.test/'],
])('a public page that redirects to %s is refused at that hop', async (location, shown) => {
  const target = await startHttpTarget(answering(302, { location }));
  const lookup = async (hostname: string) => [hostname === 'public.test' ? '127.0.0.1' : '10.1.2.3'];
  const url = `http://public.test:${target.port}/`;
  expect(await failureOf(runTool(createTool({ lookup, isPublic }), { url }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${url}' redirects to '${shown}', whose address is not public. Use a public URL.`,
  });
  expect(target.requests).toHaveLength(1);
});

test.each([
  ['file:///etc/passwd', 'file:///etc/passwd', 'only http and https URLs can be fetched'],
  ['gopher://127.0.0.1:70/_x', 'gopher://127.0.0.1:70/_x', 'only http and https URLs can be fetched'],
  ['data:text/html,x', 'data:text/html,x', 'only http and https URLs can be fetched'],
  ['ftp://127.0.0.1/', 'ftp://127.0.0.1/', 'only http and https URLs can be fetched'],
  ['javascript:alert(1)', 'javascript:alert(1)', 'only http and https URLs can be fetched'],
  ['http://user:hunter2@example.com/', 'http://…@example.com/', 'a URL must not contain a user name or password'],
  ['http://token@example.com/', 'http://…@example.com/', 'a URL must not contain a user name or password'],
  ['http://example.com:25/', 'http://example.com:25/', 'port 25 is not allowed (only 80, 443, and 1024 or above)'],
])('%s is refused before anything is looked up', async (url, shown, why) => {
  const { asked, lookup } = lookupOf(['93.184.215.14']);
  expect(await failureOf(runTool(createTool({ lookup }), { url }))).toMatchObject({
    name: 'RetryableToolError',
    message: `URL '${shown}' was not fetched: ${why}. Use a public http or https URL.`,
  });
  expect(asked).toEqual([]);
});

test.each([
  ['example.com/page', 'example.com/page'],
  ['http://', 'http://'],
  ['http://user:hunter2@', 'http://…@'],
  ['not a\nURL\u202e', 'not a\\u000aURL\\u202e'],
])('%j is no URL, and the message shows it without harm', async (url, shown) => {
  expect(await failureOf(runTool(createTool(), { url }))).toMatchObject({
    name: 'RetryableToolError',
    message: `'${shown}' is not a URL. Send an absolute one, for example https://example.com/page.`,
  });
});

test('the proxies of the environment are ignored, also where Node itself is told to use them', async () => {
  const proxy = await startHttpTarget(answering(200, {}, 'through the proxy'));
  const target = await startHttpTarget(answering(200, {}, 'straight'));
  const script = `
    import { createFetchUrl } from ${JSON.stringify(new URL('../src/fetch-url.ts', import.meta.url).href)};
    const { tool, close } = createFetchUrl({ privateAddresses: 'allow' });
    const { invocation } = await tool.prepare({ url: ${JSON.stringify(target.origin)} });
    console.log((await invocation.run({ signal: new AbortController().signal })).content);
    await close();`;
  const variables = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy'];
  const env = { ...Object.fromEntries(variables.map((name) => [name, proxy.origin])), NODE_USE_ENV_PROXY: '1' };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...FROM_SOURCES, '--input-type=module', '--eval', script],
    {
      env,
      timeout: timeLimit(20_000),
    },
  );
  expect(stdout).toBe('straight\n');
  expect(proxy.connections()).toBe(0);
});
