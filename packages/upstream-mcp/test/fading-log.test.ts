import { expect, onTestFinished, test, vi } from 'vitest';
import { createFadingLog } from '#src/limited-log.ts';

test('what fails again and again is logged after pauses that double up to 64 times the first, and at once after it worked', () => {
  const logged: unknown[] = [];
  let minute = 0;
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const nothing = () => undefined;
  const log = createFadingLog(
    {
      debug: nothing,
      info: nothing,
      warn: (_message, fields) => void logged.push([minute, fields?.['not_logged'] ?? 0]),
      error: nothing,
    },
    'it fails',
    60_000,
  );
  for (minute = 0; minute < 200; minute += 1) {
    vi.setSystemTime(minute * 60_000);
    log.failed('the same');
  }
  vi.setSystemTime(minute * 60_000);
  expect(logged).toEqual([
    [0, 0],
    [1, 0],
    [3, 1],
    [7, 3],
    [15, 7],
    [31, 15],
    [63, 31],
    [127, 63],
    [191, 63],
  ]);

  log.worked();
  log.failed('the same');
  expect(logged.at(-1)).toEqual([200, 0]);
});
