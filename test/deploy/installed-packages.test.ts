import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

// Scripts that install what a test needs by apt-get. What only one of them does has a test file of its own.
const PACKAGES = [
  {
    script: 'ensure-chromium.sh',
    name: 'chromium',
    command: 'chromium',
    works: 'exit 0',
    installs:
      'recourse: installing the package chromium with apt-get: the tests of the console look at it in a real browser.\n',
    lacks: 'brought no command of that name',
    refuses: (why: string) =>
      `recourse: the tests of the console need a chromium and there is none: ${why}. Install one, or set CHROMIUM_BIN to a browser like it.\n`,
  },
  {
    script: 'ensure-slowhttptest.sh',
    name: 'slowhttptest',
    command: 'slowhttptest',
    works: 'exit 0',
    installs:
      'recourse: installing the package slowhttptest with apt-get: tests attack the service with its slow clients.\n',
    lacks: 'brought no command of that name',
    refuses: (why: string) =>
      `recourse: the tests of slow clients need slowhttptest and it is not there: ${why}. Install the package slowhttptest.\n`,
  },
  {
    script: 'ensure-redis.sh',
    name: 'redis-tools',
    command: 'redis-check-rdb',
    works: 'echo "Redis server v=7.0.15 sha=00000000:0"',
    installs:
      'recourse: installing the package redis-tools with apt-get: its redis-server runs the tests, no daemon is started.\n',
    lacks: 'brought no redis-check-rdb',
    refuses: (why: string) =>
      `recourse: the tests need a redis-server and there is none: ${why}. Install one, or set REDIS_URL to a redis made for tests.\n`,
  },
] as const;

const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

describe.each(PACKAGES)('$script', ({ script, name, command, works, installs, lacks, refuses }) => {
  const install = `-o DPkg::Lock::Timeout=120 -y install --no-install-recommends ${name}`;
  const bringsIt = `case "$*" in *install*) printf '#!/bin/sh\\n%s\\n' '${works}' >bin/${command}; chmod +x bin/${command};; esac`;
  let sandbox: ScriptSandbox;
  beforeEach(() => {
    sandbox = createScriptSandbox(`scripts/${script}`, 'scripts/debian-package.sh');
    sandbox.command('id', 'echo 0');
  });
  afterEach(() => sandbox.remove());

  const ensure = (): Ran => sandbox.run(['sh', `scripts/${script}`]);
  /** An apt-get that notes how it was called, and does these lines. */
  const offerApt = (...lines: readonly string[]): void => sandbox.command('apt-get', 'echo "$*" >>calls', ...lines);
  const aptCalls = (): string[] => {
    const path = join(sandbox.root, 'calls');
    return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  };

  test('the package is installed without what it only recommends, said aloud, and the second time it is found', () => {
    offerApt(bringsIt);
    const { status, stdout, stderr } = ensure();
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.startsWith(installs)).toBe(true);
    expect(ensure()).toMatchObject(SILENT);
    expect(aptCalls()).toEqual([install]);
  });

  test('package lists are fetched only after an installation failed without them', () => {
    offerApt('case "$*" in *install*) [ -f lists ] || exit 100;; *update*) cat /dev/null >lists;; esac', bringsIt);
    expect(ensure()).toMatchObject({ status: 0, stderr: '' });
    expect(aptCalls()).toEqual([install, UPDATE, install]);
  });

  test('where apt-get fails its last lines are shown, and one sentence says what is missing', () => {
    offerApt(`echo "E: Unable to locate package ${name}"`, 'exit 100');
    expect(ensure()).toMatchObject({
      status: 1,
      stderr: `E: Unable to locate package ${name}\n${refuses(`apt-get could not install ${name} (its last lines are above)`)}`,
    });
  });

  test('a package that does not bring the program is not taken for it', () => {
    offerApt('exit 0');
    expect(ensure()).toMatchObject({ status: 1, stderr: refuses(`the package ${name} ${lacks}`) });
  });

  test('a user without root installs through sudo, and only if that asks for no password', () => {
    sandbox.command('id', 'echo 1000');
    offerApt(bringsIt);
    const refused = {
      status: 1,
      stdout: '',
      stderr: refuses('installing it takes root, or sudo without a password'),
    };
    expect(ensure()).toMatchObject(refused);
    sandbox.command('sudo', 'exit 1');
    expect(ensure()).toMatchObject(refused);
    sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', '[ "$1" = true ] || exec "$@"');
    expect(ensure()).toMatchObject({ status: 0, stderr: '' });
    expect(aptCalls()).toEqual([install]);
  });

  test('a machine without apt-get is told so', () => {
    expect(ensure()).toMatchObject({
      status: 1,
      stdout: '',
      stderr: refuses('apt-get, which could install it, is not here either'),
    });
  });
});
