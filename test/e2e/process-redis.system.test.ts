import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { callService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';

let failures = 0;

/** A failing call, another one each time: the same again and again would be a loop. */
const fail = (url: string, session = 's') => {
  failures += 1;
  const call = { name: 'read_file', arguments: { path: `no such thing ${failures}` } };
  return callService(url, [call], { session_id: session });
};

// On a machine under full load a first answer of Redis may take longer than it is waited for.
const untilRedisServes = async (url: string): Promise<void> => {
  const until = performance.now() + 15_000;
  for (let n = 0; performance.now() < until; n += 1) {
    const [result] = await fail(url, `before ${n}`);
    if (result?.retry?.mode === 'redis') return;
  }
  throw new Error('Budgets were not in Redis after 15 s.');
};

const readinessOf = async (url: string): Promise<unknown> => (await fetch(`${url}/ready`)).json();

const untilReadySays = async (url: string, status: string): Promise<void> => {
  const until = performance.now() + 15_000;
  while (performance.now() < until)
    if (JSON.stringify(await readinessOf(url)).startsWith(`{"status":"${status}"`)) return;
  throw new Error(`/ready did not say ${status} within 15 s.`);
};

test('with Redis away it serves and says degraded, also before the first batch', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  await redis.kill();
  const running = await startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  await untilReadySays(running.url, 'degraded');

  expect(await fail(running.url)).toMatchObject([{ outcome: 'retry', retry: { allowed: true, mode: 'local' } }]);
  const degraded = await fetch(`${running.url}/ready`);
  expect(degraded.status).toBe(200);
  expect(await degraded.json()).toEqual({
    status: 'degraded',
    store: { kind: 'redis', status: 'down' },
    tools: 6,
    missing: [],
    files: [],
    upstreams: [],
  });
});

test('once Redis is there it is ready by itself, and budgets are kept there from then on', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  await redis.kill();
  const running = await startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  expect(await fail(running.url)).toMatchObject([{ retry: { mode: 'local', used: 0 } }]);
  expect(await fail(running.url)).toMatchObject([{ retry: { mode: 'local', used: 1 } }]);

  await redis.restart();
  await untilReadySays(running.url, 'ready');
  await untilRedisServes(running.url);
  expect(await readinessOf(running.url)).toEqual({
    status: 'ready',
    store: { kind: 'redis', status: 'up' },
    tools: 6,
    missing: [],
    files: [],
    upstreams: [],
  });
  // With what was counted here meanwhile.
  expect(await fail(running.url)).toMatchObject([{ retry: { mode: 'redis', used: 2 } }]);
});

test('budgets that Redis keeps outlive the process', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  const first = await startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  await untilRedisServes(first.url);
  await fail(first.url);
  expect(await fail(first.url)).toMatchObject([{ retry: { used: 1, remaining: 2, mode: 'redis' } }]);
  first.send('SIGTERM', 'service');
  expect(await first.exited).toEqual({ code: 0, signal: null });

  const second = await startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  await untilRedisServes(second.url);
  expect(await fail(second.url)).toMatchObject([{ retry: { used: 2, remaining: 1, mode: 'redis' } }]);
});

test('SIGTERM ends it in good order while Redis is away', async () => {
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  await redis.kill();
  const running = await startProcess({ by: 'node', environment: { REDIS_URL: redis.url } });
  await fail(running.url);
  running.send('SIGTERM', 'service');
  expect(await running.exited).toEqual({ code: 0, signal: null });
});
