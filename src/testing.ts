// What a test of a tool imports as `recourse-server/testing`.
// biome-ignore lint/performance/noBarrelFile: the public entry for tests; they must not know where things lie.
export { createTester } from './testing/create-tester.ts';
export type {
  BatchOptions,
  CallOptions,
  TestArguments,
  TestCall,
  TestClock,
  Tester,
  TesterOptions,
  TestFailure,
  TestLogLine,
  TestResult,
  TestSession,
  TestSuccess,
} from './testing/tester.ts';
export { RefusedBatchError } from './testing/tester.ts';
