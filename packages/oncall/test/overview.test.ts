import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { askAs, postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createActor, fail } from '@recourse/test-support/keyed-client.ts';
import { redisForTests, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { unclear } from 'recourse-server';
import { expect, onTestFinished, test } from 'vitest';
import { Overview } from '#src/contract/contract.ts';

const POLL = { timeout: timeLimit(20_000) };

const start = async (environment: Readonly<Record<string, string>> = {}) => {
  const pay = createActor('pay', {}, fail);
  const list = createActor('list');
  const service = await startService(environment, [pay.tool, list.tool]);
  onTestFinished(service.stop);
  const read = async (key: string | null = null): Promise<Overview> =>
    Overview.parse(JSON.parse((await askAs(service, key, '/overview')).text));
  return { ...service, read };
};

const callsOf = ({ figures }: Overview) => figures.tools.map(({ tool, calls, failures }) => [tool, calls, failures]);
const CALLS = {
  calls: [
    { name: 'pay', arguments: {} },
    { name: 'list', arguments: {} },
  ],
};

test('the overview counts calls and failures, and says what fails now', async () => {
  const service = await start();
  const [failed] = await service.call([...CALLS.calls, { name: 'nope', arguments: {} }]);
  const overview = await service.read();
  expect(overview.figures.total).toMatchObject({ calls: 3, failures: 2, p50_ms: expect.any(Number) });
  expect(callsOf(overview)).toEqual([
    ['pay', 1, 1],
    ['_unknown', 1, 1],
    ['list', 1, 0],
  ]);
  expect(overview.figures.minutes).toHaveLength(60);
  expect(overview.figures.failures).toMatchObject([
    { tool: 'pay', code: 'tool_exception', fault: 'tool', failures: 1, is_now: true },
    { tool: '_unknown', code: 'unknown_tool', fault: 'caller', failures: 1, is_now: true },
  ]);
  expect(overview.figures.failures[0]?.reference).toBe(failed?.error?.reference);
  expect(overview).toMatchObject({ unknown: { total: 0 }, approvals: { total: 0 }, store: { kind: 'memory' } });
});

test('a tenant sees its own calls, a key those of its tools, and who may not read nothing', async () => {
  const keys = [
    toKeyEntry('acme', 'all', 'may=call|read'),
    toKeyEntry('acme', 'some', 'may=read tools=list'),
    toKeyEntry('acme', 'caller', 'may=call'),
    toKeyEntry('other', 'stranger'),
  ];
  const service = await start({ API_KEYS: keys.join(',') });
  await postAs(service, 'all', CALLS);
  expect(callsOf(await service.read('all'))).toEqual([
    ['pay', 1, 1],
    ['list', 1, 0],
  ]);
  const some = await service.read('some');
  expect(callsOf(some)).toEqual([['list', 1, 0]]);
  expect(some.figures).toMatchObject({ total: { calls: 1, failures: 0 }, failures: [], faults: {} });
  expect((await service.read('stranger')).figures.total.calls).toBe(0);
  expect(await askAs(service, 'caller', '/overview')).toMatchObject({ status: 403, code: 'operation_not_allowed' });
  expect(await askAs(service, null, '/overview')).toMatchObject({ status: 401 });
  expect(await askAs(service, 'all', '/overview', { method: 'POST' })).toMatchObject({ status: 405 });
});

/** A stream of overviews; `next` gives the one after the last, null at its end. */
const openStream = async (url: string, key: string | null, accept = 'application/x-ndjson') => {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const headers = { accept, ...(key === null ? {} : { authorization: `Bearer ${key}` }) };
  const answer = await fetch(`${url}/overview`, { headers, signal: stop.signal });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const nextLine = async (): Promise<string | null> => {
    while (!text.includes('\n')) {
      const { value, done } = (await reader?.read().catch(() => null)) ?? { value: undefined, done: true };
      if (done) return null;
      text += value ?? '';
    }
    const end = text.indexOf('\n');
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return line;
  };
  const next = async (): Promise<Overview | null> => {
    const line = await nextLine();
    if (line === null) return null;
    const { event, data } = JSON.parse(line);
    return event === 'snapshot' ? Overview.parse(data) : next();
  };
  return { answer, next, nextLine };
};

test('a stream begins with the overview, and sends it again when something has changed', async () => {
  const service = await start();
  const stream = await openStream(service.url, null);
  expect(stream.answer.headers.get('content-type')).toBe('application/x-ndjson');
  expect((await stream.next())?.figures.total.calls).toBe(0);
  await service.call(CALLS.calls);
  let latest = await stream.next();
  // It may have been read between two of the calls.
  while (latest?.figures.total.calls !== 2) latest = await stream.next();
  expect(callsOf(latest)).toHaveLength(2);
  service.drain();
  expect(await stream.nextLine()).toBe(null);
});

test('as server-sent events the same', async () => {
  const service = await start();
  const { answer, nextLine } = await openStream(service.url, null, 'text/event-stream');
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const lines = [await nextLine(), await nextLine(), await nextLine(), await nextLine(), await nextLine()];
  expect(lines.slice(0, 4)).toEqual(['retry: 2000', '', 'event: snapshot', 'id: 1']);
  expect(Overview.parse(JSON.parse(lines[4]?.replace('data: ', '') ?? '')).figures.total.calls).toBe(0);
});

test('a stream goes on for a key that may only read, and ends when the key loses a tool of it', async () => {
  const { root } = makeDirectory();
  const file = join(root, 'keys');
  writeFileSync(file, `${toKeyEntry('acme', 'reader', 'may=read tools=list|pay')}\n`);
  const service = await start({ API_KEYS_FILE: file });
  const stream = await openStream(service.url, 'reader');
  expect((await stream.next())?.figures.total.calls).toBe(0);
  writeFileSync(file, `${toKeyEntry('acme', 'reader', 'may=read tools=list|pay rate=600/m')}\n`);
  await expect.poll(() => service.logLines().filter(({ msg }) => msg === 'API keys reloaded').length, POLL).toBe(1);
  const other = await openStream(service.url, 'reader');
  expect(await other.next()).not.toBe(null);
  writeFileSync(file, `${toKeyEntry('acme', 'reader', 'may=read tools=list')}\n`);
  expect(await stream.nextLine()).toBe(null);
  expect(await other.nextLine()).toBe(null);
});

test('what one replica has counted the overview of another shows', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const environment = { REDIS_URL: redis.url, API_KEYS: toKeyEntry('acme', 'key') };
  const replicas = await Promise.all([1, 2, 3].map(() => start(environment)));
  const [one, two, three] = replicas;
  if (one === undefined || two === undefined || three === undefined) throw new Error('Three were asked for.');
  const ready = async ({ url }: { readonly url: string }) => JSON.parse(await (await fetch(`${url}/ready`)).text());
  for (const replica of replicas)
    await expect.poll(() => ready(replica), POLL).toMatchObject({ store: { status: 'up' } });
  await Promise.all([one, two].map((replica) => postAs(replica, 'key', CALLS)));
  await expect
    .poll(async () => callsOf(await three.read('key')), POLL)
    .toEqual([
      ['pay', 2, 2],
      ['list', 2, 0],
    ]);
  expect((await three.read('key')).figures.failures).toMatchObject([
    { tool: 'pay', code: 'tool_exception', failures: 2, is_now: true },
  ]);
});

test('what waits for people is counted, of the tools that a key may use', async () => {
  const path = join(await createFolder(), 'recourse.config.yaml');
  writeFileSync(path, JSON.stringify({ approvals: { rules: [{ tools: 'pay', decide: 'ask' }] } }));
  const keys = [toKeyEntry('acme', 'all'), toKeyEntry('acme', 'some', 'tools=list'), toKeyEntry('other', 'stranger')];
  const transfer = createActor('transfer', { effects: 'write', reconcile: () => unclear() }, fail);
  const pay = createActor('pay', { effects: 'write' });
  const environment = { CONFIG_FILE: path, API_KEYS: keys.join(','), RECONCILE_DELAYS: '1h' };
  const service = await startService(environment, [pay.tool, transfer.tool]);
  onTestFinished(service.stop);
  const calls = ['pay', 'transfer'].map((name) => ({ name, arguments: {} }));
  await postAs(service, 'all', { session_id: 'a session', calls }, { 'idempotency-key': 'a key of the test' });
  const totalsOf = async (key: string) => {
    const { unknown, approvals } = Overview.parse(JSON.parse((await askAs(service, key, '/overview')).text));
    return [unknown.total, approvals.total];
  };
  expect(await totalsOf('all')).toEqual([1, 1]);
  expect(await totalsOf('some')).toEqual([0, 0]);
  expect(await totalsOf('stranger')).toEqual([0, 0]);
});

test('while the store is away the overview says so, and shows what this replica has counted', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const service = await start({ REDIS_URL: redis.url });
  await expect.poll(async () => (await service.read()).store.status, POLL).toBe('up');
  await service.call(CALLS.calls);
  await redis.kill();
  await expect
    .poll(async () => {
      const { store, figures, warnings } = await service.read();
      return { status: store.status, calls: figures.total.calls, warned: warnings.map(({ code }) => code) };
    }, POLL)
    .toMatchObject({ status: 'down', calls: 2, warned: expect.arrayContaining(['store_unavailable']) });
});
