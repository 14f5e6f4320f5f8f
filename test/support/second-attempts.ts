import type { Reporter, TestModule } from 'vitest/node';

/**
 * Names at the end of a run the tests that failed and then passed. One such test in a run met a busy machine; one that is
 * named run after run is wrong about its deadline, or has found something.
 */
export const createSecondAttemptsReporter = (): Reporter => ({
  onTestRunEnd: (modules) => {
    const flaky = modules.flatMap(toFlakyTests);
    if (flaky.length === 0) return;
    process.stderr.write(`\n${flaky.length} passed only when tried again:\n`);
    for (const line of flaky) process.stderr.write(`  ${line}\n`);
  },
});

const toFlakyTests = (module: TestModule): readonly string[] =>
  [...module.children.allTests('passed')]
    .filter((test) => test.diagnostic()?.flaky)
    .map((test) => {
      const [error] = test.result().errors ?? [];
      return `${module.relativeModuleId} > ${test.fullName}: ${error?.message.split('\n')[0] ?? 'no error was kept'}`;
    });
