import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { findRedisServer, type RedisServer, redisForTests, startRedisServer } from './redis-server.ts';
import { timeLimit } from './time-limit.ts';

const running: RedisServer[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

const start = async (settings: readonly string[] = []): Promise<RedisServer> => {
  const server = await startRedisServer({ settings });
  running.push(server);
  return server;
};

/** The first line of the answer, or the code of the error. Silence rejects. */
const ask = async (port: number, command: string, timeoutMs = 5_000): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.write(`${command}\r\n`);
    const [answer]: unknown[] = await once(socket, 'data', { signal: AbortSignal.timeout(timeoutMs) });
    return String(answer).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return 'ECONNREFUSED';
    throw error;
  } finally {
    socket.destroy();
  }
};

/** Whether the process is there; one that has ended and that nobody has looked at yet has no command line any more. */
const isRunning = (pid: number): boolean => {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) && readFileSync(file, 'utf8') !== '';
};

test('a started server answers at once, and stopping it frees its port', async () => {
  const server = await start();
  expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
  expect(await ask(server.port, 'PING')).toBe('+PONG');
  await server.stop();
  await server.stop();
  expect(await ask(server.port, 'PING')).toBe('ECONNREFUSED');
});

test('a killed server refuses connections until it is restarted, empty and on the same port', async () => {
  const server = await start();
  const firstPid = server.pid;
  expect(await ask(server.port, 'SET key value')).toBe('+OK');
  await server.kill();
  expect(await ask(server.port, 'PING')).toBe('ECONNREFUSED');
  await server.restart();
  expect(await ask(server.port, 'EXISTS key')).toBe(':0');
  expect(server.pid).not.toBe(firstPid);
});

test('a paused server keeps silent and answers once it is resumed', async () => {
  const server = await start();
  server.pause();
  await expect(ask(server.port, 'PING', 100)).rejects.toThrow('aborted');
  server.resume();
  expect(await ask(server.port, 'PING')).toBe('+PONG');
});

// Less time than the wait after which stopping turns to SIGKILL.
test('a paused server can be stopped in good order', { timeout: timeLimit(4_000) }, async () => {
  const server = await start();
  server.pause();
  await server.stop();
  expect(await ask(server.port, 'PING')).toBe('ECONNREFUSED');
});

test('further settings reach the server, and a password does not keep it from starting', async () => {
  const server = await start(['--requirepass', 'secret']);
  expect(await ask(server.port, 'AUTH secret')).toBe('+OK');
});

test('a server that cannot start rejects with what it logged', async () => {
  await expect(startRedisServer({ settings: ['--no-such-setting', '1'] })).rejects.toThrow('redis-server ended');
});

test('a server dies with the process that started it, even when that one is killed', async () => {
  const support = fileURLToPath(new URL('./redis-server.ts', import.meta.url));
  const script = `const { startRedisServer } = await import(${JSON.stringify(support)});
    const { port, pid } = await startRedisServer();
    console.log(port + ' ' + pid);
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line]: unknown[] = await once(createInterface({ input: owner.stdout }), 'line');
  const [port = 0, pid = 0] = String(line).split(' ').map(Number);
  expect(await ask(port, 'PING')).toBe('+PONG');
  owner.kill('SIGKILL');
  await once(owner, 'exit');
  // Not the port: another test's server may have it by now.
  await expect.poll(() => isRunning(pid), { timeout: timeLimit(20_000) }).toBe(false);
});

test('without a binary the tests use REDIS_URL, and without both they say what to do', async () => {
  const nowhere = { path: '/nowhere', link: '/nowhere/redis-server' };
  expect(findRedisServer(nowhere)).toBeUndefined();
  const shared = await redisForTests(nowhere, 'redis://127.0.0.1:6390/2');
  expect([shared.url, shared.own]).toEqual(['redis://127.0.0.1:6390/2', null]);
  await shared.stop();
  await expect(redisForTests(nowhere, '')).rejects.toThrow('There is no redis-server: run sh scripts/ensure-redis.sh.');
});

test('where there is a binary the tests get a server of their own, whatever REDIS_URL says', async () => {
  const redis = await redisForTests(undefined, 'redis://127.0.0.1:1');
  expect(redis.own?.url).toBe(redis.url);
  expect(await ask(redis.own?.port ?? 0, 'PING')).toBe('+PONG');
  await redis.stop();
});
