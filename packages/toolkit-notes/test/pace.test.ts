import { expect, test } from 'vitest';
import { createPace } from '#src/indexing/note-index.ts';

/** A pace on a clock of its own; each rest takes as long as is said. */
const startPace = () => {
  const clock = { ms: 0 };
  let restMs = 0;
  const pace = createPace(
    () => clock.ms,
    async () => {
      clock.ms += restMs;
    },
  );
  return {
    clock,
    isDue: pace.isDue,
    rest: (ms: number) => {
      restMs = ms;
      return pace.rest();
    },
  };
};

/** How long the work goes on before the next rest. */
const sliceOf = ({ clock, isDue }: ReturnType<typeof startPace>): number => {
  const startedMs = clock.ms;
  while (!isDue()) clock.ms += 1;
  return clock.ms - startedMs;
};

test('work that nobody interrupts rests every 3 ms', async () => {
  const pace = startPace();
  expect(sliceOf(pace)).toBe(3);
  await pace.rest(0);
  expect(sliceOf(pace)).toBe(3);
});

test('searches without a pause leave a third of the time to the work, and only as long as they come', async () => {
  const pace = startPace();
  await pace.rest(16);
  expect(sliceOf(pace)).toBe(8);
  await pace.rest(2);
  expect(sliceOf(pace)).toBe(3);
});
