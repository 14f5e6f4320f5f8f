import { expect, test } from 'vitest';
import { parseRetryAfter } from '#src/egress/response-status.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['60', 60_000],
  [' 60 ', 60_000],
  ['0', 0],
  ['9999999999', 86_400_000],
  ['Sat, 21 Nov 2026 12:00:05 GMT', 5_000],
  ['Sat, 21 Nov 2026 11:59:00 GMT', 0],
  ['Mon, 21 Nov 2033 12:00:00 GMT', 86_400_000],
])('%j asks for a wait of %d ms', (header, ms) => {
  expect(parseRetryAfter(header, NOW_MS)).toBe(ms);
});

test.each([undefined, '', 'soon', '-5', '1.5', '1e3', '0x10', 'NaN', '2026-11-21', 'Xxx, 99 Xxx 2026 12:00:00 GMT'])(
  '%j asks for nothing',
  (header) => {
    expect(parseRetryAfter(header, NOW_MS)).toBeUndefined();
  },
);
