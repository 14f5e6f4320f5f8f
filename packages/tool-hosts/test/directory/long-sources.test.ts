import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { explainFailed, findProblems } from '#src/directory/find-problems.ts';
import { createLoadProblem } from '#src/directory/load-problem.ts';
import { findExpectedVariables } from '#src/hosted-files.ts';

// Each text is read inside the service: at 40 000 repeats a pattern that tries again from every place took 2 to 18 s.
const toFile = (text: string) => ({ path: '/tools/a.ts', root: '/tools', sources: new Map([['/tools/a.ts', text]]) });
const REPEATS = 40_000;
const GAP = `import${' '.repeat(REPEATS)}x`;

const LIMIT = timeLimit(2000);

test('a long gap behind `import` does not hold up the search for variables', () => {
  const begun = performance.now();
  expect(findExpectedVariables(toFile(`${GAP} 'KEY'`), () => true)).toEqual(['KEY']);
  expect(performance.now() - begun).toBeLessThan(LIMIT);
});

test('a long gap behind `import` does not hold up the search for an import that fails', () => {
  const message = "Cannot find package 'left' imported from /tools/a.ts";
  const thrown = { name: 'Error', message, code: null, tool: null, member: null, place: null };
  const begun = performance.now();
  expect(explainFailed(toFile(`${GAP}\nimport 'left';`), { reason: '', thrown })?.place).toEqual({
    path: '/tools/a.ts',
    line: 2,
    column: 8,
  });
  expect(performance.now() - begun).toBeLessThan(LIMIT);
});

test('a long line does not hold up the search for an export', () => {
  const found = { tools: [], imported: [], unexported: [], lookalikes: [{ exportName: 'late', tool: null }] };
  const begun = performance.now();
  const file = toFile(`${'export '.repeat(REPEATS)}\nexport const late = {};`);
  expect(findProblems(file, { kind: 'loaded', ...found }, () => true).map(({ line }) => line)).toEqual([2]);
  expect(performance.now() - begun).toBeLessThan(LIMIT);
});

test('a long line is not shown: half a secret is not redacted', () => {
  const place = { path: '/tools/a.ts', line: 2, column: 3 };
  const shown = (line: string) => createLoadProblem(toFile(`\n  ${line}`), { message: '', place }).excerpt;
  expect(shown('y'.repeat(120))).toBe(`${'y'.repeat(120)}\n^`);
  expect(shown('y'.repeat(121))).toBeNull();
});
