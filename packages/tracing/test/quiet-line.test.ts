import { createQuietLine } from 'recourse-server/internal/telemetry/repeated-lines.ts';
import { expect, test } from 'vitest';

test('a line is written at once and then every ten seconds, with how many were left out', () => {
  let now = 5;
  const written: unknown[] = [];
  let made = 0;
  const line = createQuietLine<{ reason: string }>({ write: (fields) => void written.push(fields), now: () => now });
  const say = (reason: string): void =>
    line(() => {
      made += 1;
      return { reason };
    });
  say('first');
  say('second');
  now += 9_999;
  say('third');
  expect(written).toEqual([{ reason: 'first' }]);
  now += 1;
  say('fourth');
  say('fifth');
  now += 10_000;
  say('sixth');
  expect(written).toEqual([
    { reason: 'first' },
    { reason: 'fourth', equal_lines_left_out: 2 },
    { reason: 'sixth', equal_lines_left_out: 1 },
  ]);
  expect(made).toBe(3);
});
