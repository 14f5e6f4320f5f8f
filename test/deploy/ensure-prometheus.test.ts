import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

// An apt-get that notes how it was called, and a package that is no more than its name.
const APT_NOTES = 'echo "$*" >>"$SANDBOX/calls"';
const APT_DOWNLOADS = 'case "$*" in download*) echo package >prometheus_2.42.0_amd64.deb;; esac';
// A dpkg-deb that unpacks two programs where Debian has them.
const UNPACKS = [
  '[ "$(head -n 1 "$2")" = package ] || exit 2',
  'mkdir -p "$3/usr/bin"',
  'for name in prometheus promtool; do',
  '  echo "#!/bin/sh" >"$3/usr/bin/$name"; echo "echo $name 2.42.0" >>"$3/usr/bin/$name"; chmod +x "$3/usr/bin/$name"',
  'done',
];
const DOWNLOAD = 'download prometheus';
const UPDATE = '-o DPkg::Lock::Timeout=120 -y update';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-prometheus.sh', 'scripts/debian-package.sh');
  sandbox.command('id', 'echo 0');
  sandbox.command('mv', 'exec /bin/mv "$@"');
});
afterEach(() => sandbox.remove());

const ensure = (environment: Readonly<Record<string, string>> = {}): Ran =>
  sandbox.run(['sh', 'scripts/ensure-prometheus.sh'], { SANDBOX: sandbox.root, ...environment });
const offerPackage = (...lines: readonly string[]): void => {
  sandbox.command('apt-get', APT_NOTES, ...lines, APT_DOWNLOADS);
  sandbox.command('dpkg-deb', ...UNPACKS);
};
const cache = (): string => join(sandbox.root, 'node_modules/.cache/recourse/prometheus');
const aptCalls = (): readonly string[] => readFileSync(join(sandbox.root, 'calls'), 'utf8').trim().split('\n');
const refusal = (why: string): string =>
  `recourse: tests and metrics:lint need prometheus and promtool and they are not there: ${why}. Install them, or set PROMETHEUS_BIN to a directory that holds both.\n`;
const SILENT = { status: 0, stdout: '', stderr: '' } as const;

test('with both on PATH, or in the directory of PROMETHEUS_BIN, nothing is done or said', () => {
  expect(ensure({ PROMETHEUS_BIN: join(sandbox.root, 'bin') })).toMatchObject({ status: 1 });
  sandbox.command('prometheus', 'echo');
  sandbox.command('promtool', 'echo');
  expect(ensure()).toMatchObject(SILENT);
  expect(ensure({ PROMETHEUS_BIN: join(sandbox.root, 'bin') })).toMatchObject(SILENT);
});

test('a PROMETHEUS_BIN that lacks one is said, and nothing else is tried in its place', () => {
  offerPackage();
  sandbox.command('promtool', 'echo');
  const directory = join(sandbox.root, 'bin');
  expect(ensure({ PROMETHEUS_BIN: directory })).toMatchObject({
    status: 1,
    stdout: '',
    stderr: refusal(`the directory ${directory}, which PROMETHEUS_BIN names, lacks one`),
  });
  expect(existsSync(join(sandbox.root, 'calls'))).toBe(false);
});

test('the package is downloaded and unpacked, said aloud, and never installed', () => {
  offerPackage();
  expect(ensure()).toMatchObject({
    status: 0,
    stdout: `recourse: getting the package prometheus with apt-get; it is unpacked into ${cache()}, nothing is installed.\n`,
    stderr: '',
  });
  expect(aptCalls()).toEqual([DOWNLOAD]);
  expect(readdirSync(cache()).sort()).toEqual(['prometheus', 'promtool']);
  expect(sandbox.run([join(cache(), 'promtool')])).toMatchObject({ stdout: 'promtool 2.42.0\n' });
});

test('the second time they are found, and apt-get is not called again', () => {
  offerPackage();
  ensure();
  expect(ensure({ PROMETHEUS_BIN: '' })).toMatchObject(SILENT);
  expect(aptCalls()).toEqual([DOWNLOAD]);
});

test.each(['prometheus', 'promtool'])('where %s alone is missing, both are got again', (name) => {
  offerPackage();
  ensure();
  sandbox.run(['rm', join(cache(), name)]);
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(readdirSync(cache()).sort()).toEqual(['prometheus', 'promtool']);
});

test('another run that finishes meanwhile does no harm', () => {
  // While this one downloads, a second one does everything.
  offerPackage('[ -n "$INNER" ] || INNER=1 sh "$SANDBOX/scripts/ensure-prometheus.sh" >/dev/null');
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([DOWNLOAD, DOWNLOAD]);
  expect(readdirSync(cache()).sort()).toEqual(['prometheus', 'promtool']);
  expect(sandbox.run([join(cache(), 'prometheus')])).toMatchObject({ stdout: 'prometheus 2.42.0\n' });
});

test('package lists are fetched only after a download failed without them, by sudo where it takes root', () => {
  sandbox.command('id', 'echo 1000');
  sandbox.command('sudo', '[ "$1" = -n ] || exit 1', 'shift', 'echo sudo >>"$SANDBOX/calls"', 'exec "$@"');
  offerPackage('case "$*" in download*) [ -f "$SANDBOX/lists" ] || exit 100;; *update*) echo >"$SANDBOX/lists";; esac');
  expect(ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(aptCalls()).toEqual([DOWNLOAD, 'sudo', UPDATE, DOWNLOAD]);
});

test('where apt-get fails its last lines are shown, one sentence says what is missing, and nothing is left behind', () => {
  offerPackage('echo "E: Unable to locate package prometheus"', 'exit 100');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `E: Unable to locate package prometheus\n${refusal('apt-get could not download the package prometheus (the last lines are above)')}`,
  });
  expect(readdirSync(cache())).toEqual([]);
});

test('a package that cannot be unpacked, and one whose programs do not start, are not taken', () => {
  offerPackage();
  sandbox.command('dpkg-deb', 'echo "dpkg-deb: error: not a Debian archive" >&2', 'exit 2');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `dpkg-deb: error: not a Debian archive\n${refusal('the package prometheus could not be unpacked (the last lines are above)')}`,
  });
  sandbox.command('dpkg-deb', ...UNPACKS, 'echo "exit 126" >>"$3/usr/bin/promtool"');
  expect(ensure()).toMatchObject({
    status: 1,
    stderr: `promtool 2.42.0\n${refusal('the promtool of the package does not start (the last lines are above)')}`,
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
