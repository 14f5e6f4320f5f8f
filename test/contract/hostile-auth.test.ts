import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AccessAnswer, askAs, postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { type RawAnswer, sendRaw, toPostText } from '@recourse/test-support/raw-http.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const start = async (environment: Readonly<Record<string, string>>): Promise<RunningService> => {
  const service = await startService(environment);
  onTestFinished(service.stop);
  return service;
};

const writeKeys = (lines: readonly string[]): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'keys');
  writeFileSync(file, lines.join('\n'));
  return file;
};

const RELOADED = { timeout: timeLimit(15_000), interval: 50 };
const CALL = { calls: [{ name: 'echo', arguments: { text: 'x' } }] };
const BODY = JSON.stringify(CALL);
const refused = (reason: string): string => `recourse_access_refused_total{reason="${reason}"}`;

const withoutIds = ({ status, headers, body }: RawAnswer) => ({
  status,
  headers: [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id'),
  body: body.replace(/"request_id":"[\w-]{16,64}"/, '"request_id":"#"'),
});

/**
 * That the time tells nothing either is not measured, for a test would measure the machine: every key is compared with
 * every hash by `timingSafeEqual`, whatever was sent, and the hash of a guess is as far from that of its neighbour as
 * from any other.
 */
test('a missing, an unknown, a nearly right and an expired key get one answer, to the last header', async () => {
  const service = await start({
    API_KEYS: `${toKeyEntry('acme', 'key-of-acme')},${toKeyEntry('beta', 'old', 'expires=2020-01-01')}`,
  });
  const ask = async (headers: readonly (readonly [string, string])[]) =>
    withoutIds(await sendRaw(service.port, toPostText(BODY, headers)));
  const missing = await ask([]);
  expect(missing.status).toBe(401);
  expect(missing.headers).toContainEqual(['www-authenticate', 'Bearer']);
  for (const key of ['nobody', 'key-of-acmf', 'key-of-acme2', 'old', 'x'.repeat(9000), 'eyJh.eyJz.x']) {
    expect(await ask([['Authorization', `Bearer ${key}`]])).toEqual(missing);
    expect(await ask([['X-API-Key', key]])).toEqual(missing);
  }
  expect(await service.metric(refused('missing'))).toBe(1);
  expect(await service.metric(refused('unknown'))).toBe(10);
  expect(await service.metric(refused('expired'))).toBe(2);
  expect(JSON.stringify(service.logLines())).not.toContain('key-of-acme');
});

test('a key is refused from its expiry on, while the service runs', async () => {
  const soon = new Date(Date.now() + 1500).toISOString();
  const service = await start({ API_KEYS: toKeyEntry('acme', 'k', `expires=${soon}`) });
  await expect.poll(async () => (await postAs(service, 'k', CALL)).status, RELOADED).toBe(401);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(soon));
});

const ROUTES = [
  ['POST', '/tool-calls', 'call'],
  ['GET', '/tool-calls/0123456789abcdef', 'call'],
  ['GET', '/tools', 'call'],
  ['GET', '/tools/echo', 'call'],
  ['HEAD', '/tools', 'call'],
  ['GET', '/sessions/s', 'read'],
  ['HEAD', '/sessions/s', 'read'],
  ['DELETE', '/sessions/s', 'reset'],
  ['DELETE', '/sessions/s/budgets', 'reset'],
  ['DELETE', '/sessions/s/budgets/echo', 'reset'],
] as const;

const OPERATIONS = ['call', 'read', 'reset', 'operate'];

test.for(ROUTES)('%s %s needs the operation %s, and nothing else', async ([method, path, needed]) => {
  const service = await start({
    API_KEYS: OPERATIONS.map((may) => toKeyEntry('acme', `k-${may}`, `may=${may}`)).join(','),
  });
  const ask = async (may: string): Promise<Pick<AccessAnswer, 'status' | 'code'>> => {
    // HEAD has no body, and so no problem in it.
    if (method === 'HEAD') {
      const headers = { authorization: `Bearer k-${may}` };
      return { status: (await fetch(`${service.url}${path}`, { method, headers })).status, code: null };
    }
    return askAs(service, `k-${may}`, path, { method, ...(method === 'POST' ? { body: CALL } : {}) });
  };
  for (const may of OPERATIONS) {
    const { status, code } = await ask(may);
    if (may === needed) expect(status, may).not.toBe(403);
    else expect([status, code], may).toEqual([403, method === 'HEAD' ? null : 'operation_not_allowed']);
  }
  expect(await service.metric(refused('operation'))).toBe(3);
});

test('a key that may only read sessions reads nothing of a body', async () => {
  const service = await start({ API_KEYS: toKeyEntry('acme', 'k', 'may=read') });
  const answer = await sendRaw(service.port, toPostText('{', [['X-API-Key', 'k']]));
  expect(answer.status).toBe(403);
  expect(JSON.parse(answer.body)).toMatchObject({
    code: 'operation_not_allowed',
    detail: 'This key may not call tools. Use a key with the operation call.',
  });
});

test('a key that comes too often is told when it may come again; others are not held back', async () => {
  const service = await start({
    API_KEYS: `${toKeyEntry('acme', 'slow', 'rate=2/h')},${toKeyEntry('acme', 'free')}`,
  });
  // Whoever says that it is somebody else is still itself.
  const spoofed = (place: number) => ({ 'x-forwarded-for': `10.0.0.${place}`, forwarded: `for=10.0.0.${place}` });
  const statuses: number[] = [];
  for (const place of [1, 2, 3]) statuses.push((await postAs(service, 'slow', CALL, spoofed(place))).status);
  expect(statuses).toEqual([200, 200, 429]);
  const limited = await askAs(service, 'slow', '/sessions/s');
  expect([limited.status, limited.code]).toEqual([429, 'rate_limited']);
  expect(limited.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  expect((await postAs(service, 'free', CALL)).status).toBe(200);
  expect(await service.metric('recourse_rate_limited_total')).toBe(2);
});

test('while anonymous requests are counted by the address of the connection, whatever headers say', async () => {
  const service = await start({ RATE_LIMIT: '2/h' });
  const statuses: number[] = [];
  for (const place of [1, 2, 3]) {
    const headers = [['X-Forwarded-For', `10.0.0.${place}`] as const, ['X-Real-IP', `10.0.0.${place}`] as const];
    statuses.push((await sendRaw(service.port, toPostText(BODY, headers))).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
});

test('whoever is refused for its key is not counted, and health and documents never are', async () => {
  const service = await start({ RATE_LIMIT: '1/h', API_KEYS: toKeyEntry('acme', 'k') });
  for (const path of ['/live', '/ready', '/openapi.json', '/docs'])
    for (let times = 0; times < 2; times += 1) expect((await fetch(`${service.url}${path}`)).status).toBe(200);
  expect((await postAs(service, 'wrong', CALL)).status).toBe(401);
  expect((await postAs(service, 'k', CALL)).status).toBe(200);
  expect((await postAs(service, 'k', CALL)).status).toBe(429);
});

test('keys of a file are followed: a revoked one is refused, a new one let in, and a broken file changes nothing', async () => {
  const file = writeKeys([toKeyEntry('acme', 'old')]);
  const service = await start({ API_KEYS_FILE: file });
  expect((await postAs(service, 'old', CALL)).status).toBe(200);
  writeFileSync(file, `${toKeyEntry('acme', 'new')}\nacme=secret\n`);
  await expect.poll(() => service.logLines().filter(({ level }) => level === 50), RELOADED).toHaveLength(1);
  const [line] = service.logLines().filter(({ level }) => level === 50);
  expect(line).toMatchObject({
    msg: 'invalid API_KEYS_FILE, keeping the previous keys',
    mistakes: [
      'line 2 must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one',
    ],
  });
  expect([(await postAs(service, 'old', CALL)).status, (await postAs(service, 'new', CALL)).status]).toEqual([
    200, 401,
  ]);
  writeFileSync(file, `${toKeyEntry('acme', 'new')}\n${toKeyEntry('beta', 'b')}\n`);
  await expect.poll(async () => (await postAs(service, 'new', CALL)).status, RELOADED).toBe(200);
  expect((await postAs(service, 'old', CALL)).status).toBe(401);
  expect(await service.metric('recourse_api_keys')).toBe(2);
  expect(await service.metric('recourse_api_key_reloads_total{result="taken"}')).toBe(1);
  expect(await service.metric('recourse_api_key_reloads_total{result="refused"}')).toBe(1);
});

test('where all keys are taken out of the file nobody is let in, least of all as anonymous', async () => {
  const file = writeKeys([toKeyEntry('acme', 'old')]);
  const service = await start({ API_KEYS_FILE: file });
  writeFileSync(file, '# nobody\n');
  await expect.poll(async () => (await postAs(service, 'old', CALL)).status, RELOADED).toBe(401);
  expect((await postAs(service, null, CALL)).status).toBe(401);
});

test('a page from another origin is refused, also with a right key', async () => {
  const service = await start({ API_KEYS: toKeyEntry('acme', 'k') });
  const headers = [
    ['X-API-Key', 'k'],
    ['Origin', 'https://evil.example'],
  ] as const;
  const answer = await sendRaw(service.port, toPostText(BODY, headers));
  expect([answer.status, JSON.parse(answer.body).code]).toEqual([403, 'forbidden_origin']);
  expect(await service.metric(refused('origin'))).toBe(1);
});

test('while draining, each request is told what it may do next', async () => {
  const service = await start({ API_KEYS: toKeyEntry('acme', 'k') });
  service.drain();
  const detailOf = ({ text }: AccessAnswer): unknown => JSON.parse(text).detail;
  expect(detailOf(await postAs(service, 'k', CALL))).toBe('The service is stopping. Send the batch again.');
  expect(detailOf(await askAs(service, 'k', '/tools'))).toBe('The service is stopping. Retry in a moment.');
  expect(detailOf(await askAs(service, 'k', '/sessions/s'))).toBe('The service is stopping. Retry in a moment.');
});
