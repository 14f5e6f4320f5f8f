import { join } from 'node:path';
import { askAs, postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder } from '@recourse/test-support/config-lab.ts';
import { createKeyedClient, freshName, whenConnected } from '@recourse/test-support/keyed-client.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { Redis } from 'ioredis';
import { defineTool } from 'recourse-server/tools/define-tool';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { ToolReports } from '#src/contract/contract.ts';

const CANARY = 'canary-4711-value';

const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effects: 'write',
  retries: 1,
  input: z.strictObject({
    amount: z.number().max(100),
    currency: z.enum(['EUR', 'USD']).optional(),
    lines: z.array(z.object({ price: z.number() })).optional(),
    labels: z.record(z.string(), z.number()).optional(),
    note: z
      .string()
      .refine(() => false, { error: ({ input }) => `cannot be ${String(input)}` })
      .optional(),
  }),
  run: ({ amount }) => amount,
});
const look = defineTool({
  name: 'look_up',
  description: 'Looks.',
  effects: 'read',
  input: z.object({ q: z.string() }),
  run: () => 'found',
});

const read = async (service: { readonly url: string }, key: string | null = null, query = ''): Promise<ToolReports> => {
  const { status, text } = await askAs(service, key, `/reports/tools${query}`);
  expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
  return ToolReports.parse(JSON.parse(text));
};
const toolOf = ({ tools }: ToolReports, name: string) => tools.find(({ tool }) => tool === name);

const start = async (environment: Readonly<Record<string, string>> = {}) => {
  const service = await startService(environment, [pay, look]);
  onTestFinished(service.stop);
  return { ...service, ...createKeyedClient(service.url) };
};

test('argument errors are counted by path and rule, once for each call, without what a model wrote', async () => {
  const service = await start();
  const wrong = [
    { amount: CANARY },
    { amount: 500 },
    { amount: 1, currency: CANARY },
    { amount: 1, lines: [{ price: 1 }, { price: CANARY }, { price: null }] },
    { amount: 1, labels: { [CANARY]: 'x' } },
    { amount: 1, [CANARY]: 1 },
    { amount: 1, note: CANARY },
    {},
  ];
  await service.call(wrong.map((args) => ({ name: 'pay', arguments: args })));
  const report = await read(service);
  const { calls, failures, codes, arguments: rules } = toolOf(report, 'pay') ?? {};
  expect({ calls, failures, codes }).toEqual({
    calls: 8,
    failures: 8,
    codes: [{ code: 'invalid_arguments', fault: 'caller', failures: 8 }],
  });
  expect(rules?.map(({ path, rule, failures }) => `${path}: ${rule} ${failures}`).toSorted()).toEqual([
    '*: unknown parameter 1',
    'amount: a number 1',
    'amount: a number of at most 100 1',
    'amount: required 1',
    'currency: one of "EUR", "USD" 1',
    'labels.*: a number 1',
    'lines.[].price: a number 1',
    'note: a rule of the tool 1',
  ]);
  expect(JSON.stringify(report)).not.toContain(CANARY);
});

test('names that no tool has are listed with the nearest one, whatever they are', async () => {
  const service = await start();
  const names = ['lookup', 'lookup', '__proto__', 'x'.repeat(100), '<b>\u202e\n', 'constructor'];
  for (const name of names) await service.call([{ name, arguments: {} }]);
  const { unknown_names: unknown, tools } = await read(service);
  expect(unknown[0]).toEqual({ name: 'lookup', calls: 2, nearest: 'look_up' });
  expect(unknown).toContainEqual({ name: '__proto__', calls: 1, nearest: null });
  expect(unknown).toHaveLength(5);
  for (const { name } of unknown) expect(name.length).toBeLessThanOrEqual(64);
  expect(tools.map(({ tool, calls }) => ({ tool, calls }))).toEqual([{ tool: '_unknown', calls: 6 }]);
});

test('a session that recovers is counted with its rounds, one that is blocked once', async () => {
  const service = await start();
  const [recovers, gives_up] = [freshName(), freshName()];
  const call = (session_id: string, q: unknown) =>
    service.call([{ name: 'look_up', arguments: { q } }], { session_id });
  await call(recovers, 1);
  await call(recovers, 2);
  // Of one batch the tool recovers once.
  const right = { name: 'look_up', arguments: { q: 'right' } };
  await service.call([right, right, { name: 'look_up', arguments: { q: 'other' } }], { session_id: recovers });
  const bad = { name: 'pay', arguments: {} };
  // Two calls at once use up the one retry together, and what is refused then is no other session.
  for (let round = 0; round < 4; round += 1) await service.call([bad, bad], { session_id: gives_up });
  const report = await read(service);
  expect(toolOf(report, 'look_up')).toMatchObject({ recovered: { sessions: 1, mean_rounds: 2 }, gave_up: 0 });
  expect(toolOf(report, 'pay')).toMatchObject({ recovered: { sessions: 0, mean_rounds: null }, gave_up: 1 });
});

test('a report shows its own tenant alone, and tools that the key may use', async () => {
  const service = await start({
    API_KEYS: [
      toKeyEntry('acme', 'acme-key'),
      toKeyEntry('acme', 'limited-key', 'tools=look_*'),
      toKeyEntry('other', 'other-key'),
      toKeyEntry('acme', 'caller-key', 'may=call'),
    ].join(','),
  });
  const calls = [
    { name: 'pay', arguments: {} },
    { name: 'look_up', arguments: {} },
    { name: 'pays', arguments: {} },
    { name: 'look_ups', arguments: {} },
  ];
  await postAs(service, 'acme-key', { calls });
  const seen = async (key: string) => {
    const { tools, unknown_names: unknown } = await read(service, key);
    return [
      tools.map(({ tool }) => tool).toSorted(),
      unknown.map(({ name, nearest }) => `${name} ${nearest}`).toSorted(),
    ];
  };
  expect(await seen('acme-key')).toEqual([
    ['_unknown', 'look_up', 'pay'],
    ['look_ups look_up', 'pays pay'],
  ]);
  expect(await seen('limited-key')).toEqual([['look_up'], ['look_ups look_up']]);
  expect(await seen('other-key')).toEqual([[], []]);
  expect(await askAs(service, 'caller-key', '/reports/tools')).toMatchObject({ status: 403 });
  expect(await askAs(service, null, '/reports/tools')).toMatchObject({ status: 401 });
});

test('a wrong since is refused, one before yesterday means all that is kept', async () => {
  const service = await start();
  await service.call([{ name: 'look_up', arguments: {} }]);
  for (const query of ['?since=yesterday', '?since=', '?until=2026-01-01T00:00:00Z', '?since=2026-01-01'])
    expect(await askAs(service, null, `/reports/tools${query}`)).toMatchObject({ status: 400, code: 'invalid_query' });
  const all = await read(service, null, '?since=2000-01-01T00:00:00%2B02:00');
  expect(toolOf(all, 'look_up')?.calls).toBe(1);
  const hours = (Date.parse(all.until) - Date.parse(all.since)) / 3_600_000;
  expect(hours).toBeGreaterThanOrEqual(24);
  expect(hours).toBeLessThan(25);
  expect((await read(service, null, `?since=${new Date(Date.now() + 90_000_000).toISOString()}`)).tools).toHaveLength(
    1,
  );
});

test('replicas add up, what one has written outlives it, and no value reaches the store', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const replicas = await Promise.all([1, 2, 3].map(() => startService({ REDIS_URL: redis.url }, [pay, look])));
  const [one, two, three] = replicas;
  if (one === undefined || two === undefined || three === undefined) throw new Error('three were started');
  await Promise.all(replicas.map((service) => whenConnected(createKeyedClient(service.url))));
  const wrong = [{ amount: CANARY }, { amount: 1, [CANARY]: 1 }, { amount: 1, labels: { [CANARY]: CANARY } }];
  for (const service of replicas) await service.call(wrong.map((args) => ({ name: 'pay', arguments: args })));
  await one.stop();
  await two.stop();
  expect(toolOf(await read(three), 'pay')).toMatchObject({ calls: 9, failures: 9 });
  await three.stop();
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const keys = (await client.keys('*')).filter((key) => key.includes('report'));
  expect(keys).toHaveLength(1);
  const stored = JSON.stringify(await Promise.all(keys.map((key) => client.hgetall(key))));
  expect(stored).toContain('labels.*');
  expect(stored).not.toContain(CANARY);
});

test('what is damaged in the store counts as nothing, and is written anew', async () => {
  const redis = await redisForTests();
  onTestFinished(redis.stop);
  const environment = { REDIS_URL: redis.url };
  const first = await startService(environment, [look]);
  await whenConnected(createKeyedClient(first.url));
  await first.call([{ name: 'look_up', arguments: {} }]);
  await first.stop();
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const [key = ''] = (await client.keys('*')).filter((one) => one.includes('report'));
  await client.hset(key, 'r', '{"writers":[["a",1]],"names":[["x",-1]],"tools":[{"tool":"look_up"}]}');
  const second = await start(environment);
  await whenConnected(second);
  expect(toolOf(await read(second), 'look_up')).toBeUndefined();
  await second.call([{ name: 'look_up', arguments: {} }]);
  expect(toolOf(await read(second), 'look_up')?.calls).toBe(1);
});

test('a file keeps the report for the next process', async () => {
  const environment = { STORE: `sqlite:${join(await createFolder(), 'store.sqlite')}` };
  const first = await startService(environment, [look]);
  await first.call([{ name: 'look_up', arguments: {} }]);
  await first.stop();
  const second = await start(environment);
  expect(toolOf(await read(second), 'look_up')?.calls).toBe(1);
});
