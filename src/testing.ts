// What a test of a tool imports as `recourse/testing`.
// biome-ignore lint/performance/noBarrelFile: the public entry for tests; they must not know where things lie.
export {
  type CallOptions,
  createTester,
  type TestArguments,
  type Tester,
  type TesterOptions,
  type TestSession,
} from './testing/create-tester.ts';
export { RefusedBatchError } from './testing/refused-batch-error.ts';
export type { BatchOptions, TestCall } from './testing/run-batch.ts';
export type { TestClock } from './testing/test-clock.ts';
export type { TestLogLine } from './testing/test-log.ts';
export type { TestFailure, TestResult, TestSuccess } from './testing/test-result.ts';
