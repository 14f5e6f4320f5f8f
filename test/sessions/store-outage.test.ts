import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { connectToRedis } from '#test/support/session-stores-under-test.ts';
import { type RunningService, startService } from '#test/support/start-service.ts';
import { startTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';

const RECOVERY = { timeout: 10_000, interval: 50 };
const STORE_UP = 'recourse_session_store_up';

const failing = defineTool({
  name: 'failing',
  description: 'Fails.',
  effects: 'read',
  retries: 1,
  input: z.object({}),
  run: () => {
    throw new Error('no');
  },
});

let server: RedisServer;
let proxy: TcpProxy;
let services: RunningService[];

beforeEach(async () => {
  services = [];
  server = await startRedisServer();
  proxy = await startTcpProxy({ to: server.port });
});

afterEach(async () => {
  for (const service of services) await service.stop();
  proxy.close();
  await server.stop();
});

const start = async (environment: Readonly<Record<string, string>> = {}): Promise<RunningService> => {
  const service = await startService({ REDIS_URL: `redis://127.0.0.1:${proxy.port}`, ...environment }, [failing]);
  services.push(service);
  return service;
};

const readiness = async ({ url }: RunningService): Promise<unknown> => {
  const answer = await fetch(`${url}/ready`);
  const body: unknown = await answer.json();
  return { status: answer.status, body };
};

const DEGRADED = { status: 200, body: { status: 'degraded', store: { mode: 'redis', status: 'down' } } };
const READY = { status: 200, body: { status: 'ready', store: { mode: 'redis', status: 'up' } } };

const fail = async (service: RunningService, session: string) => {
  const [result] = await service.call([{ name: 'failing' }], { session_id: session });
  if (result === undefined) throw new Error('There is no result.');
  return result;
};

/** The first failure that Redis counts: on a busy machine it may be late once and away for a second. */
const failInRedis = async (service: RunningService, session: string) => {
  const counted: Awaited<ReturnType<typeof fail>>[] = [];
  const isCounted = async (): Promise<boolean> => {
    const result = await fail(service, session);
    if (result.retry?.mode === 'redis') counted.push(result);
    return counted.length > 0;
  };
  await expect.poll(isCounted, RECOVERY).toBe(true);
  return counted[0];
};

const waitFor = async (service: RunningService, state: 'up' | 'down'): Promise<void> => {
  await expect.poll(() => service.metric(STORE_UP), RECOVERY).toBe(state === 'up' ? 1 : 0);
};

const cutOff = async (service: RunningService): Promise<void> => {
  proxy.refuse();
  proxy.cut();
  await waitFor(service, 'down');
};

test('with Redis refusing connections the service starts, serves, and says that it is degraded', async () => {
  proxy.refuse();
  const service = await start();
  await expect.poll(() => readiness(service), RECOVERY).toMatchObject(DEGRADED);
  expect(await service.metric(STORE_UP)).toBe(0);
  const result = await fail(service, 'one');
  expect(result.retry).toMatchObject({ allowed: true, remaining: 1, mode: 'local', scope: 'session' });
  await proxy.accept();
  await expect.poll(() => readiness(service), RECOVERY).toMatchObject(READY);
  expect(await failInRedis(service, 'one')).toMatchObject({ retry: { used: 0, remaining: 1 } });
});

test('an outage is said by /ready, metric, log and every answer, and is over when Redis is back', async () => {
  const service = await start();
  await failInRedis(service, 'warm');
  await expect.poll(() => readiness(service), RECOVERY).toMatchObject(READY);
  await cutOff(service);
  expect(await readiness(service)).toMatchObject(DEGRADED);
  expect((await fail(service, 'two')).retry).toMatchObject({ mode: 'local', used: 0 });
  expect((await fail(service, 'two')).retry).toMatchObject({ mode: 'local', used: 1, remaining: 0 });
  expect((await fail(service, 'two')).error?.code).toBe('retry_budget_exhausted');
  await proxy.accept();
  await waitFor(service, 'up');
  await expect.poll(() => readiness(service), RECOVERY).toMatchObject(READY);
  expect(await failInRedis(service, 'two')).toMatchObject({ retry: { used: 0, remaining: 1 } });
  const changes = service.logLines().filter(({ msg }) => msg === 'session store availability changed');
  expect(new Set(changes.map(({ state }) => state))).toEqual(new Set(['down', 'up']));
});

test('policy closed: calls are refused with store_unavailable, and batches without a session run', async () => {
  const service = await start({ RETRY_BUDGET_ON_STORE_DOWN: 'closed' });
  await waitFor(service, 'up');
  await cutOff(service);
  expect(await fail(service, 'three')).toMatchObject({
    outcome: 'refused',
    executed: 'no',
    error: { code: 'store_unavailable' },
    retry: null,
  });
  const [alone] = await service.call([{ name: 'failing' }]);
  expect(alone).toMatchObject({ error: { code: 'tool_exception' }, retry: { scope: 'request' } });
});

test('policy open: calls run as often as they like, and retry is null', async () => {
  const service = await start({ RETRY_BUDGET_ON_STORE_DOWN: 'open' });
  await waitFor(service, 'up');
  await cutOff(service);
  for (let round = 0; round < 4; round += 1)
    expect(await fail(service, 'four')).toMatchObject({ error: { code: 'tool_exception' }, retry: null });
});

test('no session id reaches Redis as text', async () => {
  const service = await start();
  const redis = await connectToRedis(server.url);
  await failInRedis(service, 'a{b}\u0000😀');
  const keys = await redis.keys('*');
  redis.disconnect();
  expect(keys).toHaveLength(1);
  expect(keys[0]).toMatch(/^recourse:\{anonymous:[0-9a-f]{64}\}$/);
});
