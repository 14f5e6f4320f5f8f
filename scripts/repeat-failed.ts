import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import * as z from 'zod';

/**
 * In CI, runs each test file that failed once more, alone, after everything else. A file that passes then counts as passed
 * and is marked `unstable` in its tier's report, from which scripts/count-tests.ts prints it.
 * Usage: node scripts/repeat-failed.ts <tier that failed>…
 * Exit code: 0 = every failure is explained by a file that passed alone, and the rules below hold; else 1.
 */
const REPORTS = 'node_modules/.cache/recourse';
const UNSTABLE = 'test/unstable.txt';
// More than a busy machine explains.
const MAX_UNSTABLE = 3;
const MAX_AGE_DAYS = 14;
const DAY_MS = 86_400_000;

/** A tier's report, and the command that runs one file of it. */
const TIERS: Readonly<Record<string, { readonly report: string; readonly command: readonly string[] }>> = {
  fast: { report: 'test-report', command: ['vitest', 'run', '--project', 'fast'] },
  system: { report: 'system-report', command: ['vitest', 'run', '--project', 'system'] },
  node24: {
    report: 'node24-report',
    command: [
      'node_modules/.cache/recourse/node24/node_modules/.bin/node',
      'node_modules/vitest/vitest.mjs',
      ...['run', '--project', 'fast'],
    ],
  },
};

const FileResult = z.looseObject({
  name: z.string(),
  status: z.string(),
  assertionResults: z.array(z.looseObject({ status: z.string() })),
});
const Report = z.looseObject({ testResults: z.array(FileResult) });
type FileResult = z.infer<typeof FileResult>;
/** Errors outside of any test; `file` is null where the runner cannot tell whose it is. */
const Unhandled = z.array(z.object({ file: z.string().nullable(), message: z.string() }));

const read = <T>(schema: z.ZodType<T>, path: string): T => schema.parse(JSON.parse(readFileSync(path, 'utf8')));

const hasFailed = (file: FileResult): boolean =>
  file.status === 'failed' || file.assertionResults.some(({ status }) => status === 'failed');

/** A file's line: `2026-11-28 test/x.test.ts the cause`. It gets no second run until it is removed. */
const readKnown = (today: number): { readonly files: readonly string[]; readonly mistakes: readonly string[] } => {
  const lines = readFileSync(UNSTABLE, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const files: string[] = [];
  const mistakes: string[] = [];
  for (const line of lines) {
    const [date = '', file = '', ...cause] = line.trim().split(/\s+/);
    files.push(file);
    const ageDays = (today - Date.parse(`${date}T00:00:00Z`)) / DAY_MS;
    if (!(ageDays >= -1) || cause.length === 0)
      mistakes.push(`${UNSTABLE}: not "YYYY-MM-DD FILE CAUSE", or a date in the future: ${line}`);
    else if (ageDays > MAX_AGE_DAYS)
      mistakes.push(`${UNSTABLE}: older than ${MAX_AGE_DAYS} days, mend the test and remove the line: ${line}`);
  }
  return { files, mistakes };
};

/** Runs the failed files of a tier again, alone, and writes what they gave into its report. Returns what stays wrong. */
const repeatTier = (tier: string, known: readonly string[], unstable: string[]): readonly string[] => {
  const { report: name, command } = TIERS[tier] ?? fail(`there is no tier ${tier}`);
  const path = `${REPORTS}/${name}.json`;
  const report = read(Report, path);
  const unhandled = read(Unhandled, `${REPORTS}/${name}.errors.json`);
  const ownerless = unhandled.filter(({ file }) => file === null).map(({ message }) => `${tier}: ${message}`);
  const blamed = new Set(unhandled.map(({ file }) => file));
  const failed = report.testResults.filter((file) => hasFailed(file) || blamed.has(file.name));
  if (failed.length === 0 && ownerless.length === 0) return [`${tier} failed, and its report names no file`];
  // They would take the time of as many runs, and no result of theirs could make the run pass.
  if (unstable.length + failed.length > MAX_UNSTABLE)
    return [`${tier}: ${failed.length} files failed, none is repeated`];
  const wrong = failed.flatMap((file) => {
    const path = relative(process.cwd(), file.name);
    if (known.includes(path)) return [`${path} is named in ${UNSTABLE}: it is not repeated`];
    console.log(`failed, runs once more, alone: ${path}`);
    if (!passesAlone(command, path, file)) return [`${path} failed twice`];
    unstable.push(path);
    return [];
  });
  writeFileSync(path, JSON.stringify(report));
  return [...ownerless, ...wrong];
};

/** Whether the file passes in a run of its own. Its result in the report becomes that of the run where it does. */
const passesAlone = ([program = '', ...words]: readonly string[], path: string, file: FileResult): boolean => {
  const env = { ...process.env, TEST_REPORT: 'repeated-report' };
  if (spawnSync(program, [...words, path], { stdio: 'inherit', env }).status !== 0) return false;
  const again = read(Report, `${REPORTS}/repeated-report.json`).testResults.find(({ name }) => name === file.name);
  Object.assign(file, again, { unstable: true });
  return again !== undefined;
};

const fail = (message: string): never => {
  throw new Error(message);
};

const repeatAll = (tiers: readonly string[]): readonly string[] => {
  const { files, mistakes } = readKnown(Date.now());
  const unstable: string[] = [];
  return [...mistakes, ...tiers.flatMap((tier) => repeatTier(tier, files, unstable))];
};

const tiers = process.argv.slice(2);
// At a desk a failed test is looked at, not repeated.
const wrong = process.env['CI'] ? repeatAll(tiers) : tiers.map((tier) => `${tier} failed`);
for (const line of wrong) console.error(line);
process.exitCode = wrong.length === 0 ? 0 : 1;
