import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPackageSandbox, type PackageSandbox } from './package-sandbox.ts';

const DOWNLOAD = 'download prometheus';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: PackageSandbox;
beforeEach(() => {
  sandbox = createPackageSandbox({ name: 'prometheus', version: '2.42.0', programs: ['prometheus', 'promtool'] });
});
afterEach(() => sandbox.remove());

const refusal = (why: string): string =>
  `recourse: tests and metrics:lint need prometheus and promtool and they are not there: ${why}. Install them, or set PROMETHEUS_BIN to a directory that holds both.\n`;
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

test('with both on PATH, or in the directory of PROMETHEUS_BIN, nothing is done or said', () => {
  expect(sandbox.ensure({ PROMETHEUS_BIN: join(sandbox.root, 'bin') })).toMatchObject({ status: 1 });
  sandbox.command('prometheus', 'echo');
  sandbox.command('promtool', 'echo');
  expect(sandbox.ensure()).toMatchObject(SILENT);
  expect(sandbox.ensure({ PROMETHEUS_BIN: join(sandbox.root, 'bin') })).toMatchObject(SILENT);
});

test('a PROMETHEUS_BIN that lacks one is said, and nothing else is tried in its place', () => {
  sandbox.offerPackage();
  sandbox.command('promtool', 'echo');
  const directory = join(sandbox.root, 'bin');
  expect(sandbox.ensure({ PROMETHEUS_BIN: directory })).toMatchObject({
    status: 1,
    stdout: '',
    stderr: refusal(`the directory ${directory}, which PROMETHEUS_BIN names, lacks one`),
  });
  expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
});

test('the package is downloaded and unpacked, said aloud, and never installed', () => {
  sandbox.offerPackage();
  expect(sandbox.ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: getting the package prometheus with apt-get; it is unpacked into ${sandbox.cache}, nothing is installed.\n`,
    stderr: '',
  });
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD]);
  expect(sandbox.kept()).toEqual(['prometheus', 'promtool']);
  expect(sandbox.run([join(sandbox.cache, 'promtool')])).toMatchObject({ stdout: 'promtool 2.42.0\n' });
});

test('the second time they are found, and apt-get is not called again', () => {
  sandbox.offerPackage();
  sandbox.ensure();
  expect(sandbox.ensure({ PROMETHEUS_BIN: '' })).toMatchObject(SILENT);
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD]);
});

test.each(['prometheus', 'promtool'])('where %s alone is missing, both are got again', (name) => {
  sandbox.offerPackage();
  sandbox.ensure();
  sandbox.run(['rm', join(sandbox.cache, name)]);
  expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(sandbox.kept()).toEqual(['prometheus', 'promtool']);
});

test('another run that finishes meanwhile does no harm', () => {
  // While this one downloads, a second one does everything.
  sandbox.offerPackage('[ -n "$INNER" ] || INNER=1 sh "$SANDBOX/scripts/ensure-prometheus.sh" >/dev/null');
  expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(sandbox.aptCalls()).toEqual([DOWNLOAD, DOWNLOAD]);
  expect(sandbox.kept()).toEqual(['prometheus', 'promtool']);
  expect(sandbox.run([join(sandbox.cache, 'prometheus')])).toMatchObject({ stdout: 'prometheus 2.42.0\n' });
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
  sandbox.offerPackage('echo "E: Unable to locate package prometheus"', 'exit 100');
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package prometheus\n${refusal('apt-get could not download the package prometheus (the last lines are above)')}`,
  });
  expect(sandbox.kept()).toEqual([]);
});

test('a package that cannot be unpacked, and one whose programs do not start, are not taken', () => {
  sandbox.offerPackage();
  sandbox.command('dpkg-deb', 'echo "dpkg-deb: error: not a Debian archive" >&2', 'exit 2');
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `dpkg-deb: error: not a Debian archive\n${refusal('the package prometheus could not be unpacked (the last lines are above)')}`,
  });
  sandbox.unpackWith('echo "exit 126" >>"$3/usr/bin/promtool"');
  expect(sandbox.ensure()).toMatchObject({
    status: 1,
    stderr: `promtool 2.42.0\n${refusal('the promtool of the package does not start (the last lines are above)')}`,
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
