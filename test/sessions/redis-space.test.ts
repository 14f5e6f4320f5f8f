import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { createRedisClient } from '#src/sessions/redis-client.ts';
import { createRedisSpace } from '#src/sessions/redis-space.ts';
import type { Keepable, StoreFill } from '#src/store/store-observer.ts';
import { fillRedis } from '#test/support/fill-redis.ts';
import { startRedisServer } from '#test/support/redis-server.ts';
import { timeLimit } from '#test/support/time-limit.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };
const MIB = 1024 * 1024;
const KINDS = [
  'journals',
  'results',
  'pending_results',
  'arguments',
  'deliveries',
] as const satisfies readonly Keepable[];

/** The space of a Redis of its own, and a connection to it. */
const startSpace = async (settings: readonly string[] = [], user = '') => {
  const server = await startRedisServer({ settings });
  onTestFinished(server.stop);
  const direct = new Redis(server.url);
  onTestFinished(() => direct.disconnect());
  const client = createRedisClient(server.url.replace('//', `//${user}`), 1000);
  onTestFinished(client.disconnect);
  const seen: { fill: StoreFill | null; notKept: Keepable[]; errors: unknown[] } = {
    fill: null,
    notKept: [],
    errors: [],
  };
  const space = createRedisSpace({
    client,
    memoryBytes: 64 * MIB,
    observer: {
      filled: (fill) => {
        seen.fill = fill;
      },
      notKept: (what) => void seen.notKept.push(what),
    },
    onFailed: (error) => void seen.errors.push(error),
  });
  const start = (): void => {
    client.onError(() => undefined);
    client.connect();
    space.start();
    onTestFinished(space.stop);
  };
  return { direct, space, seen, start, kept: () => KINDS.filter(space.mayKeep) };
};

test('a Redis that fills keeps less and less, and all again when memory is freed', async () => {
  const { direct, seen, start, kept } = await startSpace(['--maxmemory', '32mb']);
  expect(kept()).toEqual(KINDS);
  start();
  await expect.poll(() => seen.fill, WAIT).toMatchObject({ max: 32 * MIB, policy: 'noeviction' });
  await fillRedis(direct, 0.71);
  await expect.poll(() => seen.fill?.used, WAIT).toBeGreaterThan(0.7 * 32 * MIB);
  expect(kept()).toEqual(KINDS);
  expect(seen.notKept).toEqual([]);
  await fillRedis(direct, 0.77);
  await expect.poll(kept, WAIT).toEqual(['pending_results', 'arguments', 'deliveries']);
  expect(new Set(seen.notKept)).toEqual(new Set(['journals', 'results']));
  await fillRedis(direct, 0.87);
  await expect.poll(kept, WAIT).toEqual([]);
  await direct.flushall();
  const freedAt = performance.now();
  await expect.poll(kept, WAIT).toEqual(KINDS);
  expect(performance.now() - freedAt).toBeLessThan(timeLimit(2000));
  expect(seen.errors).toEqual([]);
});

test('a Redis without a limit is full by the setting, and what it does then is told', async () => {
  const { direct, seen, start, kept } = await startSpace(['--maxmemory-policy', 'allkeys-lru']);
  start();
  await expect.poll(() => seen.fill, WAIT).toMatchObject({ max: 64 * MIB, policy: 'allkeys-lru' });
  await fillRedis(direct, 0.87, 64 * MIB);
  await expect.poll(kept, WAIT).toEqual([]);
});

test('of a Redis that does not tell its memory all is kept, and the failure is told', async () => {
  const { direct, seen, start, kept } = await startSpace([], 'user:secret@');
  await direct.acl('SETUSER', 'user', 'on', '>secret', '~*', '+@all');
  start();
  await expect.poll(() => seen.fill, WAIT).toMatchObject({ max: 64 * MIB });
  await direct.acl('SETUSER', 'user', '-info');
  await expect.poll(() => String(seen.errors[0]), WAIT).toContain('NOPERM');
  expect(kept()).toEqual(KINDS);
});
