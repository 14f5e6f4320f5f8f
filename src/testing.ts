// What a test of a tool imports as `recourse-server/testing`.
// biome-ignore lint/performance/noBarrelFile: the public entry for tests; they must not know where things lie.
export { createTester } from '@recourse/testing/create-tester';
export type {
  BatchOptions,
  CallOptions,
  Loss,
  SoughtEffect,
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
  TestVerdict,
} from '@recourse/testing/tester';
export { RefusedBatchError } from '@recourse/testing/tester';
