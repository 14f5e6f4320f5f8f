import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { containerOf } from './kubernetes-pods-lab.ts';
import { ROOT } from './script-sandbox.ts';

const Compose = z.object({ services: z.object({ redis: z.object({ command: z.array(z.string()) }) }) });
const { services } = Compose.parse(parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }));

// Compose writes a $ that is not its own twice.
const OF_COMPOSE = services.redis.command.map((word) => word.replaceAll('$$', '$'));
const OF_KUBERNETES = [...containerOf('redis').command, ...containerOf('redis').args];

const PASSWORD = 'of-this-test-alone';

/** Redis as a container starts it, at a socket and in a directory of this test's own. */
const start = async ([program = '', ...words]: readonly string[]) => {
  const { root } = makeDirectory();
  const socket = join(root, 'socket');
  const own = ['--dir', root, '--port', '0', '--unixsocket', socket];
  // Where a container has its disk.
  const given = words.map((word) => (word === '/data' ? root : word));
  // Last, where scripts/ensure-redis.sh puts it.
  const path = `${process.env['PATH']}:${join(ROOT, 'node_modules/.cache/recourse')}`;
  const env = { PATH: path, REDISCLI_AUTH: PASSWORD };
  const server = spawn(program, [...given, ...own], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill('SIGKILL'));
  const ready = Promise.withResolvers<void>();
  server.stdout.on('data', (text) => /ready to accept connections/i.test(String(text)) && ready.resolve());
  server.on('exit', () => ready.reject(new Error('Redis has ended.')));
  await ready.promise;
  return { server, socket };
};

const connect = (path: string, password?: string): Redis => {
  const redis = new Redis({ path, lazyConnect: true, ...(password === undefined ? {} : { password }) });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  return redis;
};

test.each([
  ['docker-compose.yml', OF_COMPOSE],
  ['the StatefulSet', OF_KUBERNETES],
])(
  'the Redis of %s lets in who has the password, which no command line shows, and ends when it is told to',
  async (_, command) => {
    const { server, socket } = await start(command);
    await expect(connect(socket).get('x')).rejects.toThrow('NOAUTH');
    const redis = connect(socket, PASSWORD);
    expect(await redis.set('x', '1')).toBe('OK');
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain(PASSWORD);
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  },
  timeLimit(20_000),
);
