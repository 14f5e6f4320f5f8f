import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

const SERVER = 'echo "Redis server v=7.0.15 sha=00000000:0"';
// An apt-get that notes how it was called, and brings the package as Debian does.
const APT_NOTES = 'echo "$*" >>calls';
const APT_BRINGS_TOOLS = `case "$*" in *install*) printf '#!/bin/sh\\n%s\\n' '${SERVER}' >bin/redis-check-rdb; chmod +x bin/redis-check-rdb;; esac`;
const INSTALL = '-o DPkg::Lock::Timeout=120 -y install --no-install-recommends redis-tools';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-redis.sh');
  sandbox.command('id', 'echo 0');
});
afterEach(() => sandbox.remove());

const ensure = (environment: Readonly<Record<string, string>> = {}): Ran =>
  sandbox.run(['sh', 'scripts/ensure-redis.sh'], environment);
const link = (): string => join(sandbox.root, 'node_modules/.cache/recourse/redis-server');
const aptCalls = (): string[] => readFileSync(join(sandbox.root, 'calls'), 'utf8').trim().split('\n');
const REFUSED = 'Install one, or set REDIS_URL to a redis made for tests.\n';

test('with REDIS_URL, or a redis-server on PATH, nothing is done or said', () => {
  expect(ensure({ REDIS_URL: 'redis://127.0.0.1:6379' })).toMatchObject({ status: 0, stdout: '', stderr: '' });
  sandbox.command('redis-server', SERVER);
  expect(ensure()).toMatchObject({ status: 0, stdout: '', stderr: '' });
});

test('redis-tools is installed alone, said aloud, and linked under the name of the server', () => {
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_TOOLS);
  expect(ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: installing the package redis-tools with apt-get: its redis-server runs the tests, no daemon is started.\nrecourse: the tests use ${sandbox.root}/bin/redis-check-rdb, under the name ${link()}\n`,
    stderr: '',
  });
  expect(aptCalls()).toEqual([INSTALL]);
  expect(readlinkSync(link())).toBe(join(sandbox.root, 'bin/redis-check-rdb'));
});

test('the second time the link is found, and apt-get is not called again', () => {
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_TOOLS);
  ensure();
  expect(ensure({ REDIS_URL: '' })).toMatchObject({ status: 0, stdout: '', stderr: '' });
  expect(aptCalls()).toEqual([INSTALL]);
});

test('a link whose target has gone is made anew', () => {
  sandbox.command('redis-check-rdb', SERVER);
  ensure();
  sandbox.run(['rm', 'bin/redis-check-rdb']);
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_TOOLS);
  expect(ensure()).toMatchObject({ status: 0 });
  expect(aptCalls()).toEqual([INSTALL]);
});

test('package lists are fetched only after an installation failed without them', () => {
  sandbox.command(
    'apt-get',
    APT_NOTES,
    'case "$*" in *install*) [ -f lists ] || exit 100;; *update*) cat /dev/null >lists;; esac',
    APT_BRINGS_TOOLS,
  );
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([INSTALL, UPDATE, INSTALL]);
});

test('where apt-get fails its last lines are shown, and one sentence says what is missing', () => {
  sandbox.command('apt-get', 'echo "E: Unable to locate package redis-tools"', 'exit 100');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package redis-tools\nrecourse: the tests need a redis-server and there is none: apt-get could not install redis-tools (its last lines are above). ${REFUSED}`,
  });
});

test('a user without root installs through sudo, and only if that asks for no password', () => {
  sandbox.command('id', 'echo 1000');
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_TOOLS);
  const refused = {
    status: 1,
    stdout: '',
    stderr: `recourse: the tests need a redis-server and there is none: installing it takes root, or sudo without a password. ${REFUSED}`,
  };
  expect(ensure()).toMatchObject(refused);
  sandbox.command('sudo', 'exit 1');
  expect(ensure()).toMatchObject(refused);
  sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', '[ "$1" = true ] || exec "$@"');
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([INSTALL]);
});

test('a machine without apt-get is told so', () => {
  expect(ensure()).toMatchObject({
    status: 1,
    stdout: '',
    stderr: `recourse: the tests need a redis-server and there is none: apt-get, which could install it, is not here either. ${REFUSED}`,
  });
});

test('a redis-check-rdb that is no server is not taken for one', () => {
  sandbox.command('redis-check-rdb', 'echo "Usage: redis-check-rdb <rdb-file-name>"');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `recourse: the tests need a redis-server and there is none: ${sandbox.root}/bin/redis-check-rdb does not start as one (Usage: redis-check-rdb <rdb-file-name>). ${REFUSED}`,
  });
  expect(() => readlinkSync(link())).toThrow('ENOENT');
});
