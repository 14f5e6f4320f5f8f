import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

const SERVER = 'echo "Redis server v=7.0.15 sha=00000000:0"';
const SILENT = { status: 0, stdout: '', stderr: '' };

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-redis.sh', 'scripts/debian-package.sh');
});
afterEach(() => sandbox.remove());

const ensure = (environment: Readonly<Record<string, string>> = {}): Ran =>
  sandbox.run(['sh', 'scripts/ensure-redis.sh'], environment);
const link = (): string => join(sandbox.root, 'node_modules/.cache/recourse/redis-server');

test('with REDIS_URL, or a redis-server on PATH, nothing is done or said', () => {
  expect(ensure({ REDIS_URL: 'redis://127.0.0.1:6379' })).toMatchObject(SILENT);
  sandbox.command('redis-server', SERVER);
  expect(ensure()).toMatchObject(SILENT);
});

test('a redis-check-rdb is linked under the name of the server, said aloud, and the link is found the second time', () => {
  sandbox.command('redis-check-rdb', SERVER);
  expect(ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: the tests use ${sandbox.root}/bin/redis-check-rdb, under the name ${link()}\n`,
    stderr: '',
  });
  expect(readlinkSync(link())).toBe(join(sandbox.root, 'bin/redis-check-rdb'));
  expect(ensure({ REDIS_URL: '' })).toMatchObject(SILENT);
});

test('a link whose target has gone is made anew', () => {
  sandbox.command('redis-check-rdb', SERVER);
  ensure();
  sandbox.run(['rm', 'bin/redis-check-rdb']);
  expect(ensure()).toMatchObject({ status: 1 });
  sandbox.command('redis-check-rdb', SERVER);
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
});

test('a redis-check-rdb that is no server is not taken for one', () => {
  sandbox.command('redis-check-rdb', 'echo "Usage: redis-check-rdb <rdb-file-name>"');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `recourse: the tests need a redis-server and there is none: ${sandbox.root}/bin/redis-check-rdb does not start as one (Usage: redis-check-rdb <rdb-file-name>). Install one, or set REDIS_URL to a redis made for tests.\n`,
  });
  expect(() => readlinkSync(link())).toThrow('ENOENT');
});
