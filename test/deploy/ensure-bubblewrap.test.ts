import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPackageSandbox, type PackageSandbox } from './package-sandbox.ts';

const DOWNLOAD = 'download bubblewrap';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: PackageSandbox;
beforeEach(() => {
  sandbox = createPackageSandbox({ name: 'bubblewrap', version: '0.8.0', programs: ['bwrap'] });
});
afterEach(() => sandbox.remove());

const refusal = (why: string): string =>
  `recourse: the tests of the shell tool need bwrap and it is not there: ${why}. Install the package bubblewrap.\n`;
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

test('with one on PATH nothing is done or said', () => {
  sandbox.offerPackage();
  sandbox.command('bwrap', 'echo');
  expect(sandbox.ensure()).toMatchObject(SILENT);
  expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
});

test('the package is downloaded and unpacked, said aloud, and never installed', () => {
  sandbox.offerPackage();
  expect(sandbox.ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: getting the package bubblewrap with apt-get; it is unpacked into ${sandbox.cache}, nothing is installed.\n`,
    stderr: '',
  });
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD]);
  expect(sandbox.kept()).toEqual(['bwrap']);
  expect(sandbox.run([join(sandbox.cache, 'bwrap')])).toMatchObject({ stdout: 'bwrap 0.8.0\n' });
});

test('the second time it is found, and apt-get is not called again', () => {
  sandbox.offerPackage();
  sandbox.ensure();
  expect(sandbox.ensure()).toMatchObject(SILENT);
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD]);
});

test('another run that finishes meanwhile does no harm', () => {
  // While this one downloads, a second one does everything.
  sandbox.offerPackage('[ -n "$INNER" ] || INNER=1 sh "$SANDBOX/scripts/ensure-bubblewrap.sh" >/dev/null');
  expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(sandbox.kept()).toEqual(['bwrap']);
});

test('package lists are fetched only after a download failed without them, by sudo where it takes root', () => {
  sandbox.command('id', 'echo 1000');
  sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', 'echo sudo >>"$SANDBOX/calls"', 'exec "$@"');
  sandbox.offerPackage(
    'case "$*" in download*) [ -f "$SANDBOX/lists" ] || exit 100;; *update*) echo >"$SANDBOX/lists";; esac',
  );
  expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD, 'sudo', UPDATE, DOWNLOAD]);
});

test('where apt-get fails its last lines are shown, one sentence says what is missing, and nothing is left behind', () => {
  sandbox.offerPackage('echo "E: Unable to locate package bubblewrap"', 'exit 100');
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package bubblewrap\n${refusal('apt-get could not download the package bubblewrap (the last lines are above)')}`,
  });
  expect(sandbox.kept()).toEqual([]);
});

test('a package that cannot be unpacked, and one whose program does not start, are not taken', () => {
  sandbox.offerPackage();
  sandbox.command('dpkg-deb', 'echo "dpkg-deb: error: not a Debian archive" >&2', 'exit 2');
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `dpkg-deb: error: not a Debian archive\n${refusal('the package bubblewrap could not be unpacked (the last lines are above)')}`,
  });
  const missing = 'bwrap: error while loading shared libraries: libcap.so.2';
  sandbox.unpackWith(`echo "echo ${missing} >&2; exit 127" >>"$3/usr/bin/bwrap"`);
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `bwrap 0.8.0\n${missing}\n${refusal('the bwrap of the package does not start (the last lines are above)')}`,
  });
  expect(sandbox.kept()).toEqual([]);
});

test('a machine without apt-get is told so', () => {
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stdout: '',
    stderr: refusal('apt-get and dpkg-deb, with which it could be got, are not here either'),
  });
});
