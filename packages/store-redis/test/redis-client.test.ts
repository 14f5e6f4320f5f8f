import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { type RedisServer, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRedisClient, type RedisClient } from '#src/redis-client.ts';

let server: RedisServer;
let client: RedisClient;

beforeEach(async () => {
  server = await startRedisServer();
  client = createRedisClient(server.url);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
});

afterEach(async () => {
  client.disconnect();
  await server.stop();
});

const block = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until) Math.sqrt(until);
};

test('an answer that came while the event loop was busy is no time-out', async () => {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const answer = client.call('PING');
    // It is written at the end of this turn.
    await new Promise((resolve) => setImmediate(resolve));
    block(150);
    expect(await answer).toBe('PONG');
  }
});

test('without an answer a command fails, and the next one does not wait for it', async () => {
  server.pause();
  await expect(client.call('PING')).rejects.toThrow('Command timed out');
  const startedAt = performance.now();
  await expect(Promise.all([client.call('PING'), client.call('PING')])).rejects.toThrow('Command timed out');
  // Far less than the 73 s that ioredis takes by itself.
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(5_000));
});

test('of two commands each waits its own time for an answer', async () => {
  server.pause();
  const older = client.call('PING').catch(() => performance.now());
  await new Promise((resolve) => setTimeout(resolve, 30));
  const startedAt = performance.now();
  const younger = client.call('PING').catch(() => performance.now());
  expect(Number(await younger) - startedAt).toBeGreaterThan(45);
  expect(Number(await older)).toBeLessThan(Number(await younger));
});

test('commands of one turn of the event loop are one write', async () => {
  const chunks: Buffer[] = [];
  const proxy = createServer((from) => {
    const to = connect(server.port);
    from.on('data', (chunk) => void (typeof chunk === 'string' ? undefined : chunks.push(chunk))).pipe(to);
    to.pipe(from);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const other = createRedisClient(`redis://127.0.0.1:${port}`);
  const ready = new Promise<void>((resolve) => other.onReady(resolve));
  other.connect();
  await ready;
  chunks.length = 0;
  const numbers = Array.from({ length: 20 }, (_, place) => String(place));
  expect(await Promise.all(numbers.map((number) => other.call('ECHO', number)))).toEqual(numbers);
  expect(chunks).toHaveLength(1);
  other.disconnect();
  proxy.close();
});

test("an answer that comes after its command has failed is nobody's: later ones get their own", async () => {
  server.pause();
  await expect(client.call('ECHO', 'late')).rejects.toThrow('Command timed out');
  server.resume();
  const echo = () => client.call('ECHO', 'next').catch(String);
  await expect.poll(echo, { timeout: timeLimit(10_000) }).toBe('next');
});

test('while nothing is connected a command fails at once', async () => {
  const lost = new Promise<void>((resolve) => client.onLost(resolve));
  await server.kill();
  await lost;
  await expect(client.call('PING')).rejects.toThrow();
});

test('disconnecting is not a loss', async () => {
  const redis = await connectToRedis(server.url);
  const losses: string[] = [];
  client.onLost(() => losses.push('lost'));
  client.disconnect();
  // Once the server has let it go, an answer of the server comes after the end of its connection.
  await expect
    .poll(async () =>
      String(await redis.client('LIST'))
        .trim()
        .split('\n'),
    )
    .toHaveLength(1);
  await redis.echo('later');
  redis.disconnect();
  expect(losses).toEqual([]);
});

test('disconnecting ends what is under way', async () => {
  server.pause();
  const pending = client.call('PING');
  client.disconnect();
  await expect(pending).rejects.toThrow();
});

test('a server that became a replica is connected to anew, for another may be the master: once a second at most', async () => {
  const redis = await connectToRedis(server.url);
  await redis.replicaof('127.0.0.1', 1);
  redis.disconnect();
  const readyAt: number[] = [];
  client.onReady(() => readyAt.push(performance.now()));
  const write = () => client.call('SET', 'a', 'b').catch(String);
  expect(await write()).toMatch('READONLY');
  const count = async (): Promise<number> => {
    await write();
    return readyAt.length;
  };
  await expect.poll(count, { timeout: timeLimit(20_000), interval: 2 }).toBe(4);
  const [first = 0] = readyAt;
  expect((readyAt.at(-1) ?? 0) - first).toBeGreaterThan(2000);
});
