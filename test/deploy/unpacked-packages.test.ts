import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPackageSandbox, type PackageSandbox } from './package-sandbox.ts';

// Scripts that take programs of a Debian package without installing it. What only one of them does has a test file of its own.
const PACKAGES = [
  {
    name: 'bubblewrap',
    version: '0.8.0',
    programs: ['bwrap'],
    last: 'bwrap',
    refuses: (why: string) =>
      `recourse: the tests of the shell tool need bwrap and it is not there: ${why}. Install the package bubblewrap.\n`,
  },
  {
    name: 'prometheus',
    version: '2.42.0',
    programs: ['prometheus', 'promtool'],
    last: 'promtool',
    refuses: (why: string) =>
      `recourse: tests and metrics:lint need prometheus and promtool and they are not there: ${why}. Install them, or set PROMETHEUS_BIN to a directory that holds both.\n`,
  },
] as const;

const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

describe.each(PACKAGES)('$name', ({ name, version, programs, last, refuses }) => {
  const download = `download ${name}`;
  let sandbox: PackageSandbox;
  beforeEach(() => {
    sandbox = createPackageSandbox({ name, version, programs });
  });
  afterEach(() => sandbox.remove());

  test('with its programs on PATH nothing is done or said', () => {
    sandbox.offerPackage();
    for (const program of programs) sandbox.command(program, 'echo');
    expect(sandbox.ensure()).toMatchObject(SILENT);
    expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
  });

  test('the package is downloaded and unpacked, said aloud, never installed, and found the second time', () => {
    sandbox.offerPackage();
    expect(sandbox.ensure()).toMatchObject({
      status: 0,
      stdout: `recourse: getting the package ${name} with apt-get; it is unpacked into ${sandbox.cache}, nothing is installed.\n`,
      stderr: '',
    });
    expect(sandbox.ensure()).toMatchObject(SILENT);
    expect(sandbox.aptCalls()).toEqual([download]);
    expect(sandbox.kept()).toEqual(programs);
    expect(sandbox.run([join(sandbox.cache, last)])).toMatchObject({ stdout: `${last} ${version}\n` });
  });

  test('another run that finishes meanwhile does no harm', () => {
    // While this one downloads, a second one does everything.
    sandbox.offerPackage(`[ -n "$INNER" ] || INNER=1 sh "$SANDBOX/scripts/ensure-${name}.sh" >/dev/null`);
    expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
    expect(sandbox.aptCalls()).toEqual([download, download]);
    expect(sandbox.kept()).toEqual(programs);
    expect(sandbox.run([join(sandbox.cache, last)])).toMatchObject({ stdout: `${last} ${version}\n` });
  });

  test('package lists are fetched only after a download failed without them, by sudo where it takes root', () => {
    sandbox.command('id', 'echo 1000');
    sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', 'echo sudo >>"$SANDBOX/calls"', 'exec "$@"');
    sandbox.offerPackage(
      'case "$*" in download*) [ -f "$SANDBOX/lists" ] || exit 100;; *update*) echo >"$SANDBOX/lists";; esac',
    );
    expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
    expect(sandbox.aptCalls()).toEqual([download, 'sudo', UPDATE, download]);
  });

  test('where apt-get fails its last lines are shown, one sentence says what is missing, and nothing is left behind', () => {
    sandbox.offerPackage(`echo "E: Unable to locate package ${name}"`, 'exit 100');
    expect(sandbox.ensure()).toMatchObject({
      status: 1,
      stderr: `E: Unable to locate package ${name}\n${refuses(`apt-get could not download the package ${name} (the last lines are above)`)}`,
    });
    expect(sandbox.kept()).toEqual([]);
  });

  test('a package that cannot be unpacked, and one whose program does not start, are not taken', () => {
    sandbox.offerPackage();
    sandbox.command('dpkg-deb', 'echo "dpkg-deb: error: not a Debian archive" >&2', 'exit 2');
    expect(sandbox.ensure()).toMatchObject({
      status: 1,
      stderr: `dpkg-deb: error: not a Debian archive\n${refuses(`the package ${name} could not be unpacked (the last lines are above)`)}`,
    });
    const missing = `${last}: error while loading shared libraries: libcap.so.2`;
    sandbox.unpackWith(`echo "echo ${missing} >&2; exit 127" >>"$3/usr/bin/${last}"`);
    expect(sandbox.ensure()).toMatchObject({
      status: 1,
      stderr: `${last} ${version}\n${missing}\n${refuses(`the ${last} of the package does not start (the last lines are above)`)}`,
    });
    expect(sandbox.kept()).toEqual([]);
  });

  test('a machine without apt-get is told so', () => {
    expect(sandbox.ensure()).toMatchObject({
      status: 1,
      stdout: '',
      stderr: refuses('apt-get and dpkg-deb, with which it could be got, are not here either'),
    });
  });
});
