import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService, startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { shareCollection } from '#src/telemetry/metrics.ts';

const start = async (settings: Readonly<Record<string, string>>) => {
  const service = await startService(settings);
  onTestFinished(() => service.stop());
  return service;
};

const KEY = 'the-key-of-this-test';
const API_KEYS = `acme=${createHash('sha256').update(KEY).digest('hex')}`;
const LAST_WORDS = "process.stderr.write('last words of a server\\n'); process.exit(3);";

const readUpstream = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<string> => {
  const answer = await fetch(`${url}/ready`, { headers });
  expect(answer.status).toBe(200);
  return JSON.stringify(await answer.json());
};

const startWithDeadServer = async (settings: Readonly<Record<string, string>>) => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-quiet-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'c.json');
  const dead = { command: process.execPath, args: ['-e', LAST_WORDS] };
  await writeFile(path, JSON.stringify({ mcpServers: { dead } }));
  return start({ API_KEYS, CONFIG_FILE: path, ...settings });
};

test('without a good key /ready names upstreams and how they stand, and with one why', async () => {
  const { url } = await startWithDeadServer({});
  const key = { authorization: `Bearer ${KEY}` };
  await vi.waitFor(async () => expect(await readUpstream(url, key)).toContain('last words of a server'), 20_000);
  for (const headers of [{}, { authorization: 'Bearer another' }]) {
    const text = await readUpstream(url, headers);
    expect(text).toContain('{"name":"mcp:dead","status":"down","reason":null,"tools":0}');
    expect(text).not.toContain('last words');
  }
});

test('without a good key /ready says how it stands, and with one which files do not load and why, and which tools are missing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recourse-quiet-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'pay.ts'), "throw new Error('quoted');");
  const { url } = await start({ API_KEYS, TOOLS_DIR: folder, TOOLS_REQUIRED: 'pay', TOOL_HOSTS_MIN: '0' });
  const read = async (headers: Readonly<Record<string, string>>): Promise<unknown> =>
    (await fetch(`${url}/ready`, { headers })).json();
  expect(await read({})).toMatchObject({ status: 'tools_missing', missing: [], files: [] });
  expect(await read({ authorization: `Bearer ${KEY}` })).toMatchObject({
    missing: ['pay'],
    files: [{ file: 'pay.ts', line: 1, message: 'Error: quoted' }],
  });
});

test('on OPS_PORT /ready says why without a key', async () => {
  const { opsUrl } = await startWithDeadServer({ OPS_PORT: '0' });
  await vi.waitFor(async () => expect(await readUpstream(opsUrl)).toContain('last words of a server'), 20_000);
});

test.each(['/docs', '/docs/', '/docs/static/index.html', '/docs/static/swagger-ui-bundle.js', '/console'])(
  '%s is sent with a policy: nothing from elsewhere, no script in the page, no frame around it, no sniffing',
  async (path) => {
    const { url } = await start({});
    const answer = await fetch(url + path);
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
    const policy = answer.headers.get('content-security-policy') ?? '';
    for (const directive of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy.split('; ')).toContain(directive);
    expect(policy).not.toContain('unsafe-eval');
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  },
);

test('DOCS=false leaves the documentation out, and nothing else', async () => {
  const { url } = await start({ DOCS: 'false' });
  const statusOf = async (path: string): Promise<number> => (await fetch(url + path)).status;
  for (const path of ['/docs', '/docs/', '/docs/json', '/openapi.json'])
    expect([path, await statusOf(path)]).toEqual([path, 404]);
  for (const path of ['/console', '/tools', '/ready', '/metrics'])
    expect([path, await statusOf(path)]).toEqual([path, 200]);
});

test('two scrapes within a second are one collection', async () => {
  const { url } = await startProcess({ by: 'node' });
  const scrape = async (): Promise<string> => (await fetch(`${url}/metrics`)).text();
  const first = await scrape();
  await callService(url, [{ name: 'echo', arguments: { text: 'counted later' } }]);
  expect(await scrape()).toBe(first);
  await vi.waitFor(async () => expect(await scrape()).toMatch(/recourse_tool_calls_total{tool="echo".*} 1\n/), 5000);
});

test('a collection that is under way is waited for, is shared for a second after its end, and one that fails is not kept', async () => {
  const clock = { now: 0 };
  const begun: PromiseWithResolvers<string>[] = [];
  const read = shareCollection(
    () => {
      const collection = Promise.withResolvers<string>();
      begun.push(collection);
      return collection.promise;
    },
    () => clock.now,
  );
  const both = [read(), read()];
  clock.now = 5000;
  both.push(read());
  begun[0]?.resolve('one');
  expect(await Promise.all(both)).toEqual(['one', 'one', 'one']);
  clock.now = 5999;
  expect(await read()).toBe('one');
  clock.now = 6000;
  const failing = read();
  begun[1]?.reject(new Error('cannot be had'));
  await expect(failing).rejects.toThrow('cannot be had');
  const next = read();
  begun[2]?.resolve('three');
  expect(await next).toBe('three');
  expect(begun).toHaveLength(3);
});

const ISSUER = { JWT_JWKS_URL: 'http://127.0.0.1:9/keys' };

test.each([
  [{ ...ISSUER, JWT_ISSUER: 'https://issuer.example' }, ['JWT_AUDIENCE']],
  [{ ...ISSUER, JWT_AUDIENCE: 'recourse' }, ['JWT_ISSUER']],
  [{ ...ISSUER, JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'recourse' }, []],
])(
  'tokens that are checked for one of issuer and audience alone are warned of at the start: %o',
  async (settings, names) => {
    const service = await start(settings);
    const warnings = service.logLines().filter(({ level, msg }) => level === 40 && String(msg).includes('tokens'));
    expect(warnings.map(({ setting }) => setting)).toEqual(names);
  },
);
