import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { createSecondAttemptsReporter } from './test/support/second-attempts.ts';

// Here `recourse` is its sources, as in tsconfig.json. Of the others those that Node has: files for bundlers (`module`) import
// without extensions, which Node cannot load.
const conditions = ['@recourse/source', 'node', 'development|production'];

export default defineConfig({
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: tests send signals, start servers and break things that a process must not share.
    pool: 'forks',
    // As many as the cores of a small CI machine: more would measure the scheduler where a test watches a deadline.
    maxWorkers: 2,
    // A whole service starts in some tests, a property runs 2 000 times in others; a test that hangs ends here.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Real services wait 50 ms for a real Redis, and browsers and compilers run beside them on two cores: of thousands of
    // tests one in some runs meets a machine that is too busy. It is tried again, and the end of the run names it.
    retry: 2,
    watch: false,
    // As `npm start` has it. Tool hosts start in half the time.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/recourse/compiled') },
    // `test.only` would make a run pass that has not run everything.
    allowOnly: false,
    // .ci/run counts from this report.
    reporters: [
      'default',
      createSecondAttemptsReporter(),
      ['json', { outputFile: 'node_modules/.cache/recourse/test-report.json' }],
    ],
  },
});
