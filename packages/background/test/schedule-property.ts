import * as fc from 'fast-check';
import { expect } from 'vitest';
import { checkSchedule } from './check-schedule.ts';
import { anyStep, playSchedule } from './run-schedule.ts';
import { startScheduleLab } from './schedule-lab.ts';

/** Plays random schedules, on Redis or in one process; a case that fails prints its seed and its schedule. */
export const checkSchedules = async (redisUrl: string | null, numRuns: number): Promise<void> => {
  const lab = await startScheduleLab(redisUrl);
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      await checkSchedule(lab, await playSchedule(lab, steps));
    }),
    // A shorter case is found again by its seed, and takes longer to find than the test may.
    { numRuns, endOnFailure: true },
  );
  // Of most batches.
  expect(lab.receiver.received.length).toBeGreaterThan(numRuns);
};
