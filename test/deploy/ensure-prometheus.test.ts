import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPackageSandbox, type PackageSandbox } from './package-sandbox.ts';

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

test.each(['prometheus', 'promtool'])('where %s alone is missing, both are got again', (name) => {
  sandbox.offerPackage();
  sandbox.ensure();
  sandbox.run(['rm', join(sandbox.cache, name)]);
  expect(sandbox.ensure()).toMatchObject({ status: 0, stderr: '' });
  expect(sandbox.kept()).toEqual(['prometheus', 'promtool']);
});
