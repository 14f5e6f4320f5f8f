import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * How many times slower than two processes on two quiet cores `workers` processes are here and now, from 1 to 4. Time limits of tests
 * are multiplied by it (test/support/time-limit.ts). TEST_TIME_FACTOR, where it is set, is the answer.
 */
export const measureMachine = async (workers: number): Promise<number> => {
  const given = Number(process.env['TEST_TIME_FACTOR'] ?? Number.NaN);
  if (given >= 1) return Math.min(given, MAX_FACTOR);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await measureRound(workers));
  const median = rounds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
  const factor = Math.min(Math.max(Math.round((median / QUIET_MS) * 10) / 10, 1), MAX_FACTOR);
  console.log(
    `time limits of tests × ${factor}: a fixed job took ${Math.round(median)} ms here, ${QUIET_MS} ms on a quiet machine`,
  );
  return factor;
};

const MAX_FACTOR = 4;
const ROUNDS = 3;
// As many processes at once as there are workers that run tests: they start, and compute for some time.
const JOB = `
  const { createHash } = require('node:crypto');
  const bytes = Buffer.alloc(2 ** 25);
  for (let n = 0; n < 5; n++) createHash('sha256').update(bytes).digest();
`;
// The median of ten runs of two processes on two cores that did nothing else.
const QUIET_MS = 140;

const measureRound = async (workers: number): Promise<number> => {
  const startedAt = performance.now();
  const children = Array.from({ length: workers }, () => spawn(process.execPath, ['-e', JOB], { stdio: 'ignore' }));
  await Promise.all(children.map((child) => once(child, 'exit')));
  return performance.now() - startedAt;
};
