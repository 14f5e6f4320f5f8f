import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, ROOT, type ScriptSandbox } from './script-sandbox.ts';

const REPORT = 'node_modules/.cache/recourse/test-report.json';
const SYSTEM_REPORT = 'node_modules/.cache/recourse/system-report.json';
const NODE24_REPORT = 'node_modules/.cache/recourse/node24-report.json';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('.ci/run', 'scripts/check-node.sh', 'scripts/count-tests.ts', 'package.json');
  sandbox.write('node_modules/.package-lock.json', '{}');
  symlinkSync(join(ROOT, 'node_modules/zod'), join(sandbox.root, 'node_modules/zod'));
  // The machine's own node is too old; the pinned one comes with the installation.
  sandbox.command('node', 'echo v20.20.2');
  sandbox.write('node_modules/.bin/node', '');
  sandbox.run(['rm', 'node_modules/.bin/node']);
  symlinkSync(process.execPath, join(sandbox.root, 'node_modules/.bin/node'));
});
afterEach(() => sandbox.remove());

type File = { readonly status: string; readonly tests: readonly string[] };
const report = (...files: readonly File[]): string =>
  JSON.stringify({
    testResults: files.map(({ status, tests }) => ({
      name: '/x.test.ts',
      status,
      assertionResults: tests.map((each) => ({ status: each })),
    })),
  });

// Of the runs that a test is not about.
const ONE_PASSED = report({ status: 'passed', tests: ['passed'] });

/** An npm whose verification leaves these reports and ends with this code. */
const npm = (fast: string, code = 0, system = ONE_PASSED, node24 = ONE_PASSED): void => {
  sandbox.write('fast', fast);
  sandbox.write('system', system);
  sandbox.write('node24', node24);
  const leave = `cat fast >${REPORT}; cat system >${SYSTEM_REPORT}; cat node24 >${NODE24_REPORT}; exit ${code}`;
  sandbox.command('npm', 'echo "npm $*"', `if [ "$1" = run ]; then ${leave}; fi`);
};
const run = () => {
  sandbox.run(['mkdir', '-p', 'node_modules/.cache/recourse']);
  const { status, stdout } = sandbox.run(['.ci/run']);
  return { status, lines: stdout.trim().split('\n') };
};

test('a clean installation and verify run, and the last line counts what all three runs reported', () => {
  npm(report({ status: 'passed', tests: ['passed', 'passed'] }, { status: 'passed', tests: ['passed', 'skipped'] }));
  expect(run()).toEqual({ status: 0, lines: ['npm ci', 'npm run verify', '5 passed, 0 failed'] });
});

test('failed tests are counted and fail the run', () => {
  npm(report({ status: 'failed', tests: ['passed', 'failed', 'failed'] }), 1);
  expect(run()).toMatchObject({ status: 1, lines: { 2: '3 passed, 2 failed' } });
});

test('every suite that did not load counts as a failure, beside failed tests', () => {
  const notLoaded = { status: 'failed', tests: [] };
  npm(report({ status: 'failed', tests: ['passed', 'failed'] }, notLoaded, notLoaded), 1);
  expect(run()).toMatchObject({ status: 1, lines: { 2: '3 passed, 3 failed' } });
});

test('a run that failed outside of any test is a failure', () => {
  npm(report({ status: 'passed', tests: ['passed'] }), 1);
  expect(run()).toMatchObject({ status: 1, lines: { 2: '3 passed, 1 failed' } });
});

test('a run in which nothing passed is a failure', () => {
  npm(report(), 0, report(), report());
  expect(run()).toMatchObject({ status: 1, lines: { 2: '0 passed, 1 failed' } });
});

test.each([
  ['of the fast tier', report(), ONE_PASSED, ONE_PASSED],
  ['of the system tier', ONE_PASSED, report(), ONE_PASSED],
  ['on Node 24', ONE_PASSED, ONE_PASSED, report()],
])('a run in which no test %s passed is a failure', (_, fast, system, node24) => {
  npm(fast, 0, system, node24);
  expect(run()).toMatchObject({ status: 1, lines: { 2: '2 passed, 1 failed' } });
});

test('failed tests of the system tier are counted, too', () => {
  npm(ONE_PASSED, 1, report({ status: 'failed', tests: ['passed', 'failed'] }));
  expect(run()).toMatchObject({ status: 1, lines: { 2: '3 passed, 1 failed' } });
});

test('the reports of an earlier run do not count', () => {
  sandbox.write(REPORT, ONE_PASSED);
  sandbox.write(SYSTEM_REPORT, ONE_PASSED);
  sandbox.write(NODE24_REPORT, ONE_PASSED);
  sandbox.command('npm', '[ "$1" = ci ]');
  expect(run()).toEqual({ status: 1, lines: ['0 passed, 1 failed'] });
});

test('a failed installation ends the run with a count, too', () => {
  sandbox.command('npm', 'rm -rf node_modules; exit 1');
  expect(run()).toEqual({ status: 1, lines: ['0 passed, 1 failed'] });
});
