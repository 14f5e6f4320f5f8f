import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { formatTraceparent, parseTraceparent } from '#src/routes/traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

const WELL_FORMED = [
  [`00-${TRACE}-${SPAN}-01`, 1, `00-${TRACE}-${SPAN}-01`],
  [`00-${TRACE}-${SPAN}-00`, 0, `00-${TRACE}-${SPAN}-00`],
  [`00-${TRACE}-${SPAN}-03`, 3, `00-${TRACE}-${SPAN}-03`],
  [`00-${TRACE}-${SPAN}-ff`, 255, `00-${TRACE}-${SPAN}-ff`],
  [`01-${TRACE}-${SPAN}-01`, 1, `00-${TRACE}-${SPAN}-01`],
  [`cc-${TRACE}-${SPAN}-ff-what-will-be`, 1, `00-${TRACE}-${SPAN}-01`],
  [`fe-${TRACE}-${SPAN}-02-`, 0, `00-${TRACE}-${SPAN}-00`],
] as const;

test.each(WELL_FORMED)('%s is read', (header, traceFlags, passedOn) => {
  const parsed = parseTraceparent(header);
  expect(parsed).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags });
  expect(parsed === null ? null : formatTraceparent(parsed)).toBe(passedOn);
});

const MALFORMED = [
  '',
  'garbage',
  '00',
  `${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-001`,
  `00-${TRACE}-${SPAN}-0g`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01-`,
  `00-${TRACE}-${SPAN}-01 `,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  `ff-${TRACE}-${SPAN}-01-more`,
  `0-${TRACE}-${SPAN}-01`,
  `000-${TRACE}-${SPAN}-01`,
  `cc-${TRACE}-${SPAN}-01more`,
  `cc-${TRACE}-${SPAN}-01.more`,
  `CC-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN.toUpperCase()}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${TRACE}0-${SPAN}-01`,
  `00-${TRACE}-${SPAN.slice(1)}-01`,
  `00-${TRACE}-${SPAN}0-01`,
  `00_${TRACE}_${SPAN}_01`,
  `00-${'g'.repeat(32)}-${SPAN}-01`,
  `00-${'１'.repeat(32)}-${SPAN}-01`,
];

test.each(MALFORMED)('%j is no traceparent', (header) => {
  expect(parseTraceparent(header)).toBeNull();
});

test('a request without the header has none', () => {
  expect(parseTraceparent(undefined)).toBeNull();
});

test('a header as long as headers get is read at once', () => {
  const before = performance.now();
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-01${'-'.repeat(60_000)}`)).toBeNull();
  expect(parseTraceparent('0'.repeat(60_000))).toBeNull();
  expect(performance.now() - before).toBeLessThan(timeLimit(1000));
});
