import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

// An apt-get that notes how it was called, and a package that is no more than its name.
const APT_NOTES = 'echo "$*" >>"$SANDBOX/calls"';
const APT_DOWNLOADS = 'case "$*" in download*) echo package >bubblewrap_0.8.0-2_amd64.deb;; esac';
// A dpkg-deb that unpacks the program where Debian has it.
const UNPACKS = [
  '[ "$(head -n 1 "$2")" = package ] || exit 2',
  'mkdir -p "$3/usr/bin"',
  'echo "#!/bin/sh" >"$3/usr/bin/bwrap"; echo "echo bubblewrap 0.8.0" >>"$3/usr/bin/bwrap"; chmod +x "$3/usr/bin/bwrap"',
];
const DOWNLOAD = 'download bubblewrap';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-bubblewrap.sh', 'scripts/debian-package.sh');
  sandbox.command('id', 'echo 0');
  sandbox.command('mv', 'exec /bin/mv "$@"');
});
afterEach(() => sandbox.remove());

const ensure = (environment: Readonly<Record<string, string>> = {}): Ran =>
  sandbox.run(['sh', 'scripts/ensure-bubblewrap.sh'], { SANDBOX: sandbox.root, ...environment });
const offerPackage = (...lines: readonly string[]): void => {
  sandbox.command('apt-get', APT_NOTES, ...lines, APT_DOWNLOADS);
  sandbox.command('dpkg-deb', ...UNPACKS);
};
const cache = (): string => join(sandbox.root, 'node_modules/.cache/recourse/bubblewrap');
const aptCalls = (): readonly string[] => readFileSync(join(sandbox.root, 'calls'), 'utf8').trim().split('\n');
const refusal = (why: string): string =>
  `recourse: the tests of the shell tool need bwrap and it is not there: ${why}. Install the package bubblewrap.\n`;
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

test('with one on PATH nothing is done or said', () => {
  offerPackage();
  sandbox.command('bwrap', 'echo');
  expect(ensure()).toMatchObject(SILENT);
  expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
});

test('the package is downloaded and unpacked, said aloud, and never installed', () => {
  offerPackage();
  expect(ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: getting the package bubblewrap with apt-get; it is unpacked into ${cache()}, nothing is installed.\n`,
    stderr: '',
  });
  expect(aptCalls()).toEqual([DOWNLOAD]);
  expect(readdirSync(cache())).toEqual(['bwrap']);
  expect(sandbox.run([join(cache(), 'bwrap')])).toMatchObject({ stdout: 'bubblewrap 0.8.0\n' });
});

test('the second time it is found, and apt-get is not called again', () => {
  offerPackage();
  ensure();
  expect(ensure()).toMatchObject(SILENT);
  expect(aptCalls()).toEqual([DOWNLOAD]);
});

test('another run that finishes meanwhile does no harm', () => {
  // While this one downloads, a second one does everything.
  offerPackage('[ -n "$INNER" ] || INNER=1 sh "$SANDBOX/scripts/ensure-bubblewrap.sh" >/dev/null');
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(cache())).toEqual(['bwrap']);
});

test('package lists are fetched only after a download failed without them, by sudo where it takes root', () => {
  sandbox.command('id', 'echo 1000');
  sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', 'echo sudo >>"$SANDBOX/calls"', 'exec "$@"');
  offerPackage('case "$*" in download*) [ -f "$SANDBOX/lists" ] || exit 100;; *update*) echo >"$SANDBOX/lists";; esac');
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([DOWNLOAD, 'sudo', UPDATE, DOWNLOAD]);
});

test('where apt-get fails its last lines are shown, one sentence says what is missing, and nothing is left behind', () => {
  offerPackage('echo "E: Unable to locate package bubblewrap"', 'exit 100');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package bubblewrap\n${refusal('apt-get could not download the package bubblewrap (the last lines are above)')}`,
  });
  expect(readdirSync(cache())).toEqual([]);
});

test('a package that cannot be unpacked, and one whose program does not start, are not taken', () => {
  offerPackage();
  sandbox.command('dpkg-deb', 'echo "dpkg-deb: error: not a Debian archive" >&2', 'exit 2');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `dpkg-deb: error: not a Debian archive\n${refusal('the package bubblewrap could not be unpacked (the last lines are above)')}`,
  });
  const missing = 'bwrap: error while loading shared libraries: libcap.so.2';
  sandbox.command('dpkg-deb', ...UNPACKS, `echo "echo ${missing} >&2; exit 127" >>"$3/usr/bin/bwrap"`);
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `bubblewrap 0.8.0\n${missing}\n${refusal('the bwrap of the package does not start (the last lines are above)')}`,
  });
  expect(readdirSync(cache())).toEqual([]);
});

test('a machine without apt-get is told so', () => {
  expect(ensure()).toMatchObject({
    status: 1,
    stdout: '',
    stderr: refusal('apt-get and dpkg-deb, with which it could be got, are not here either'),
  });
});
