import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import * as z from 'zod';

/**
 * Prints `N passed, N failed` of vitest's JSON reports together, before it a line `unstable: FILE` for each file that passed
 * only when it ran again; exit code 1 if anything failed or nothing passed.
 * Usage: node scripts/count-tests.ts <exit code of the runs that should have written them> <report>…
 */
const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      // Set by scripts/repeat-failed.ts.
      unstable: z.boolean().default(false),
      assertionResults: z.array(z.object({ status: z.string() })),
    }),
  ),
});
type Report = z.infer<typeof Report>;
type Count = { readonly passed: number; readonly failed: number; readonly unstable: readonly string[] };

const countStatus = (file: Report['testResults'][number], status: string): number =>
  file.assertionResults.filter((test) => test.status === status).length;

/** A file that failed without a failed test did not load, crashed, or broke in a hook: it counts as one failure. */
const countReport = ({ testResults }: Report): Count => {
  let passed = 0;
  let failed = 0;
  for (const file of testResults) {
    const failedTests = countStatus(file, 'failed');
    passed += countStatus(file, 'passed');
    failed += file.status === 'failed' ? Math.max(1, failedTests) : failedTests;
  }
  const unstable = testResults.filter((file) => file.unstable).map(({ name }) => relative(process.cwd(), name));
  return { passed, failed, unstable };
};

/** No report, or one that cannot be read, means that no test ran. */
const readReport = (path: string): Count => {
  try {
    return countReport(Report.parse(JSON.parse(readFileSync(path, 'utf8'))));
  } catch (error) {
    console.error(`there is no test report: ${error instanceof Error ? error.message : error}`);
    return { passed: 0, failed: 0, unstable: [] };
  }
};

const [code = '', ...paths] = process.argv.slice(2);
const counts = paths.map(readReport);
const passed = counts.reduce((sum, count) => sum + count.passed, 0);
const failed = counts.reduce((sum, count) => sum + count.failed, 0);
// A run can fail without a failed test: in a step before the tests, or by an error outside of any test.
const counted = failed === 0 && (code !== '0' || counts.some((count) => count.passed === 0)) ? 1 : failed;
for (const file of counts.flatMap(({ unstable }) => unstable)) console.log(`unstable: ${file}`);
console.log(`${passed} passed, ${counted} failed`);
process.exitCode = counted === 0 ? 0 : 1;
