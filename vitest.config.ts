import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import type { Reporter } from 'vitest/node';
import { measureMachine } from './scripts/measure-machine.ts';

// Here `recourse-server` is its sources, as in tsconfig.json. Of the others those that Node has: files for bundlers (`module`) import
// without extensions, which Node cannot load.
const conditions = ['@recourse/source', 'node', 'development|production'];

const TESTS = ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'];
const SYSTEM = ['test/**/*.system.test.ts', 'packages/*/test/**/*.system.test.ts'];

const REPORT = join(import.meta.dirname, 'node_modules/.cache/recourse', process.env['TEST_REPORT'] ?? 'test-report');

/** What the runner's report leaves out: errors outside of any test. */
const unhandledErrors: Reporter = {
  onTestRunEnd: (_modules, errors) => {
    const lines = errors.map(({ message, VITEST_TEST_PATH: file = null }) => ({ file, message }));
    writeFileSync(`${REPORT}.errors.json`, JSON.stringify(lines));
  },
};

// One more than a small CI machine has cores, for tests wait for processes and timers a third of their time. More would measure the
// scheduler where a test watches a deadline.
const WORKERS = 3;
const factor = await measureMachine(WORKERS);

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    // Processes, not threads: tests send signals, start servers and break things that a process must not share.
    pool: 'forks',
    // For what Node loads itself, and for the workers it starts.
    execArgv: ['-C', '@recourse/source'],
    maxWorkers: WORKERS,
    // Tests of one file that wait together: each starts services of its own.
    maxConcurrency: 3,
    // A whole service starts in some tests, a property runs 2 000 times in others; a test that hangs ends here.
    testTimeout: 30_000 * factor,
    hookTimeout: 30_000 * factor,
    expect: { poll: { timeout: 1000 * factor } },
    watch: false,
    env: {
      // As `npm start` has it. Tool hosts start in half the time.
      NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/recourse/compiled'),
      TEST_TIME_FACTOR: `${factor}`,
    },
    // `test.only` would make a run pass that has not run everything.
    allowOnly: false,
    reporters: [
      'default',
      // Counted by scripts/count-tests.ts. Not by --outputFile: what stands here wins.
      ['json', { outputFile: `${REPORT}.json` }],
      unhandledErrors,
    ],
    projects: [
      // `npm test`. A worker runs many files: they share the modules of src, and no state.
      { extends: true, test: { name: 'fast', include: TESTS, exclude: SYSTEM, isolate: false } },
      // `npm run test:system`: browsers, Prometheus, kill -9, chaos, attackers, images, whole machines of services.
      { extends: true, test: { name: 'system', include: SYSTEM } },
    ],
  },
});
