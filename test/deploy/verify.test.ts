import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, ROOT, type ScriptSandbox } from './script-sandbox.ts';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox(
    'scripts/verify.sh',
    'scripts/count-tests.ts',
    'scripts/repeat-failed.ts',
    'package.json',
  );
  sandbox.write('node_modules/.cache/recourse/keep', '');
  sandbox.write('test/unstable.txt', '');
  symlinkSync(join(ROOT, 'node_modules/zod'), join(sandbox.root, 'node_modules/zod'));
  sandbox.command('node', `exec ${process.execPath} "$@"`);
});
afterEach(() => sandbox.remove());

const REPORT = JSON.stringify({
  testResults: [
    { name: '/x.test.ts', status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'passed' }] },
  ],
});

/** An npm of which these scripts fail, and whose three runs of tests leave a report of two tests each. */
const verify = (
  ...failing: readonly string[]
): { readonly status: number | null; readonly lines: readonly string[] } => {
  sandbox.write('report', REPORT);
  sandbox.command(
    'npm',
    'echo "npm $*"',
    'if [ "$*" = test ]; then cat report >node_modules/.cache/recourse/test-report.json; fi',
    'if [ "$*" = "run test:system" ]; then cat report >node_modules/.cache/recourse/system-report.json; fi',
    'if [ "$*" = "run test:node24" ]; then cat report >node_modules/.cache/recourse/node24-report.json; fi',
    ...failing.map((words) => `if [ "$*" = "${words}" ]; then exit 1; fi`),
  );
  const { status, stdout } = sandbox.run(['sh', 'scripts/verify.sh']);
  return { status, lines: stdout.trim().split('\n') };
};

const CHECKS = ['npm run lint', 'npm run types', 'npm run drift', 'npm run openapi:lint'];
const TESTS = ['npm test', 'npm run test:system', 'npm run test:node24'];

test('it runs every check, both tiers and the tests on Node 24, and counts them all in its last line', () => {
  const lines = [...CHECKS, ...TESTS, '6 passed, 0 failed'];
  expect(verify()).toEqual({ status: 0, lines });
});

test('a check that fails ends it before any test', () => {
  expect(verify('run types')).toEqual({ status: 1, lines: [...CHECKS.slice(0, 2), '0 passed, 1 failed'] });
});

test('where the first tier fails the others run all the same', () => {
  const lines = [...CHECKS, ...TESTS, '6 passed, 1 failed'];
  expect(verify('test')).toEqual({ status: 1, lines });
});
