import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

// An apt-get that notes how it was called, and brings the package as Debian does.
const APT_NOTES = 'echo "$*" >>calls';
const APT_BRINGS_IT =
  'case "$*" in *install*) printf \'#!/bin/sh\\n\' >bin/slowhttptest; chmod +x bin/slowhttptest;; esac';
const INSTALL = '-o DPkg::Lock::Timeout=120 -y install --no-install-recommends slowhttptest';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-slowhttptest.sh');
  sandbox.command('id', 'echo 0');
});
afterEach(() => sandbox.remove());

const ensure = (): Ran => sandbox.run(['sh', 'scripts/ensure-slowhttptest.sh']);
const aptCalls = (): string[] => readFileSync(join(sandbox.root, 'calls'), 'utf8').trim().split('\n');
const SILENT = { status: 0, stdout: '', stderr: '' };
const refusal = (why: string): string =>
  `recourse: the tests of slow clients need slowhttptest and it is not there: ${why}. Install the package slowhttptest.\n`;

test('with one on PATH nothing is done or said', () => {
  sandbox.command('apt-get', APT_NOTES, 'exit 100');
  sandbox.command('slowhttptest');
  expect(ensure()).toMatchObject(SILENT);
  expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
});

test('it is installed without what it only recommends, said aloud, and the second time it is found', () => {
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_IT);
  expect(ensure()).toMatchObject({
    status: 0,
    stdout:
      'recourse: installing the package slowhttptest with apt-get: tests attack the service with its slow clients.\n',
    stderr: '',
  });
  expect(ensure()).toMatchObject(SILENT);
  expect(aptCalls()).toEqual([INSTALL]);
});

test('package lists are fetched only after an installation failed without them', () => {
  sandbox.command(
    'apt-get',
    APT_NOTES,
    'case "$*" in *install*) [ -f lists ] || exit 100;; *update*) cat /dev/null >lists;; esac',
    APT_BRINGS_IT,
  );
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([INSTALL, UPDATE, INSTALL]);
});

test('where apt-get fails its last lines are shown, and one sentence says what is missing', () => {
  sandbox.command('apt-get', 'echo "E: Unable to locate package slowhttptest"', 'exit 100');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package slowhttptest\n${refusal('apt-get could not install slowhttptest (its last lines are above)')}`,
  });
});

test('a package that brings no slowhttptest is not taken for one', () => {
  sandbox.command('apt-get', 'exit 0');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: refusal('the package slowhttptest brought no command of that name'),
  });
});

test('a user without root installs through sudo, and only if that asks for no password', () => {
  sandbox.command('id', 'echo 1000');
  sandbox.command('apt-get', APT_NOTES, APT_BRINGS_IT);
  const refused = {
    status: 1,
    stdout: '',
    stderr: refusal('installing it takes root, or sudo without a password'),
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
    stderr: refusal('apt-get, which could install it, is not here either'),
  });
});
