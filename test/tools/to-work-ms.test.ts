import { expect, test } from 'vitest';
import { toWorkMs } from '#src/tools/tool.ts';

test.each([
  { timeoutMs: 2_147_483_647, workMs: 2_147_481_647 },
  { timeoutMs: 60_000, workMs: 58_000 },
  { timeoutMs: 30_000, workMs: 28_000 },
  { timeoutMs: 10_000, workMs: 9_000 },
  { timeoutMs: 1_000, workMs: 750 },
  { timeoutMs: 400, workMs: 200 },
  { timeoutMs: 3, workMs: 2 },
  { timeoutMs: 1, workMs: 1 },
])('of the $timeoutMs ms of a call its work may take $workMs', ({ timeoutMs, workMs }) => {
  expect(toWorkMs(timeoutMs)).toBe(workMs);
});
