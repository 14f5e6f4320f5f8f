import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createScriptSandbox, ROOT, type ScriptSandbox } from './script-sandbox.ts';

let sandbox: ScriptSandbox;
beforeEach(() => {
  sandbox = createScriptSandbox('scripts/repeat-failed.ts', 'scripts/count-tests.ts', 'package.json');
  sandbox.write('node_modules/.cache/recourse/keep', '');
  sandbox.write('test/unstable.txt', '# none\n');
  symlinkSync(join(ROOT, 'node_modules/zod'), join(sandbox.root, 'node_modules/zod'));
  sandbox.command('node', `exec ${process.execPath} "$@"`);
});
afterEach(() => sandbox.remove());

const path = (name: string): string => join(sandbox.root, `test/${name}.test.ts`);
const toResult = (name: string, status: string) => ({
  name: path(name),
  status,
  assertionResults: [{ status: 'passed' }, { status }],
});

type Unhandled = { readonly file: string | null; readonly message: string };
const leaveReport = (tier: string, failed: readonly string[], unhandled: readonly Unhandled[] = []): void => {
  const testResults = [toResult('good', 'passed'), ...failed.map((name) => toResult(name, 'failed'))];
  sandbox.write(`node_modules/.cache/recourse/${tier}-report.json`, JSON.stringify({ testResults }));
  sandbox.write(`node_modules/.cache/recourse/${tier}-report.errors.json`, JSON.stringify(unhandled));
};

/** A vitest in which these files pass when they run alone. Each run leaves a line in `runs`. */
const passAlone = (...names: readonly string[]): void => {
  const cases = names.map((name) => {
    const report = JSON.stringify({ testResults: [toResult(name, 'passed')] });
    return `*${name}.test.ts) echo '${report}' >node_modules/.cache/recourse/$TEST_REPORT.json ;;`;
  });
  sandbox.command('vitest', 'echo "$*" >>runs', 'case "$*" in', ...cases, '*) exit 1 ;;', 'esac');
};

const repeat = (tiers: readonly string[], environment: Readonly<Record<string, string>> = { CI: 'true' }) => {
  const { status, stderr } = sandbox.run(['node', 'scripts/repeat-failed.ts', ...tiers], environment);
  const reports = ['test-report', 'system-report'].map((name) => `node_modules/.cache/recourse/${name}.json`);
  const counted = sandbox
    .run(['node', 'scripts/count-tests.ts', `${status}`, ...reports])
    .stdout.trim()
    .split('\n');
  const read = sandbox.run(['cat', 'runs']).stdout.trim();
  return { status, stderr, counted, runs: read === '' ? [] : read.split('\n') };
};

test('a file that failed runs once more in its tier, alone, and counts as passed and unstable if it passes then', () => {
  leaveReport('test', ['shaky']);
  leaveReport('system', ['slow']);
  passAlone('shaky', 'slow');
  expect(repeat(['fast', 'system'])).toMatchObject({
    status: 0,
    runs: ['run --project fast test/shaky.test.ts', 'run --project system test/slow.test.ts'],
    counted: ['unstable: test/shaky.test.ts', 'unstable: test/slow.test.ts', '8 passed, 0 failed'],
  });
});

test('a file that failed on Node 24 runs once more on Node 24', () => {
  leaveReport('node24', ['shaky']);
  passAlone('shaky');
  const node24 = 'node_modules/.cache/recourse/node24/node_modules/.bin/node';
  sandbox.write(node24, '#!/bin/sh\nshift\nexec vitest on-24 "$@"\n');
  sandbox.run(['chmod', '+x', node24]);
  expect(repeat(['node24'])).toMatchObject({ status: 0, runs: ['on-24 run --project fast test/shaky.test.ts'] });
});

test('a file that fails again has failed', () => {
  leaveReport('test', ['broken']);
  leaveReport('system', []);
  passAlone();
  expect(repeat(['fast'])).toMatchObject({
    status: 1,
    stderr: 'test/broken.test.ts failed twice\n',
    counted: ['5 passed, 1 failed'],
  });
});

test('four unstable files are too many: none of the tier in which the fourth is found runs again', () => {
  leaveReport('test', ['a', 'b']);
  leaveReport('system', ['c', 'd']);
  passAlone('a', 'b', 'c', 'd');
  const { status, runs, counted } = repeat(['fast', 'system']);
  expect({ status, runs: runs.length }).toEqual({ status: 1, runs: 2 });
  expect(counted.at(-1)).toBe('10 passed, 2 failed');
});

test('a file that is named in test/unstable.txt gets no second run', () => {
  const today = new Date().toISOString().slice(0, 10);
  sandbox.write('test/unstable.txt', `# why\n${today} test/shaky.test.ts the port was taken\n`);
  leaveReport('test', ['shaky']);
  leaveReport('system', []);
  passAlone('shaky');
  expect(repeat(['fast'])).toMatchObject({ status: 1, runs: [], counted: ['5 passed, 1 failed'] });
});

test.each([
  ['older than 14 days', '2026-01-02 test/x.test.ts the port was taken', 'older than 14 days'],
  ['without a cause', '2026-01-02 test/x.test.ts', 'not "YYYY-MM-DD FILE CAUSE"'],
  ['without a date', 'test/x.test.ts the port was taken', 'not "YYYY-MM-DD FILE CAUSE"'],
])('a line of test/unstable.txt that is %s fails the run, also one in which all passed', (_, line, words) => {
  sandbox.write('test/unstable.txt', `${line}\n`);
  const { status, stderr } = repeat([]);
  expect({ status, says: stderr.includes(words) }).toEqual({ status: 1, says: true });
});

test('an error outside of any test belongs to its file, and fails the run where it has none', () => {
  leaveReport('test', [], [{ file: path('good'), message: 'late' }]);
  leaveReport('system', [], [{ file: null, message: 'a worker has died' }]);
  passAlone('good');
  expect(repeat(['fast']).status).toBe(0);
  expect(repeat(['fast', 'system'])).toMatchObject({ status: 1, stderr: 'system: a worker has died\n' });
});

test('a tier that failed without a failed file has failed', () => {
  leaveReport('test', []);
  leaveReport('system', []);
  passAlone();
  expect(repeat(['fast'])).toMatchObject({ status: 1, stderr: 'fast failed, and its report names no file\n' });
});

test('outside of CI nothing runs again', () => {
  leaveReport('test', ['shaky']);
  leaveReport('system', []);
  passAlone('shaky');
  expect(repeat(['fast'], {})).toMatchObject({ status: 1, runs: [], counted: ['5 passed, 1 failed'] });
});

test('the list of this checkout can be read', () => {
  sandbox.write('test/unstable.txt', readFileSync(join(ROOT, 'test/unstable.txt'), 'utf8'));
  expect(repeat([], { CI: 'true' }).stderr).not.toContain('YYYY-MM-DD');
});
