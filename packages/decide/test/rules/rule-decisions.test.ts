import { expect, test } from 'vitest';
import { toDecimal, toMillionths, toShownNumber } from '#src/policies/millionths.ts';
import {
  type CountTerms,
  confirm,
  hasSuccess,
  noteSuccess,
  type Reservation,
  readCounted,
  release,
  reserve,
  type Settlement,
  settle,
} from '#src/rules/rule-decisions.ts';
import { Count, ruleKind } from '#src/rules/rule-kind.ts';

const MINUTE_MS = 60_000;
const START = 1000 * MINUTE_MS;
const TERMS: CountTerms = { windowMs: 10 * MINUTE_MS, max: 10n, isEnforced: true };

const ask = (name: string, amount: bigint, more: Partial<Reservation> = {}): Reservation => ({
  ...{ name, amount, endsInMs: 5000, isTentative: false },
  ...more,
});
const end = (name: string, executed: Settlement['executed'], more: Partial<Settlement> = {}): Settlement => ({
  ...{ name, amount: 4n, executed, by: 'run', isWrite: true },
  ...more,
});
const sumsOf = ({ spent, held }: Count) => ({ spent, held });

/** What is asked of one record at a time, and what comes of it. */
const open = (terms: CountTerms = TERMS) => {
  const count = new Count();
  const kinds = (asked: readonly Reservation[], now: number) =>
    reserve(asked, terms)(count, now).map(({ kind }) => kind);
  return {
    count,
    kinds,
    fits: (amount: bigint, now: number): boolean => {
      const [kind] = kinds([ask('probe', amount)], now);
      release(['probe'])(count, now);
      return kind === 'held';
    },
    settle: (settlement: Settlement, now: number): void => settle(settlement, terms)(count, now),
  };
};

test('what was spent leaves the window with the end of its minute, and not before', () => {
  const { kinds, settle: settled, fits } = open();
  const at = START + 50_000;
  kinds([ask('a', 10n)], at);
  settled(end('a', 'yes'), at);
  const leaves = START + MINUTE_MS + 10 * MINUTE_MS;
  expect([fits(1n, at + 10 * MINUTE_MS), fits(1n, leaves - 1), fits(10n, leaves)]).toEqual([false, false, true]);
});

test('a reservation that nobody settles lapses a window after its call has ended at the latest', () => {
  const { kinds, fits } = open();
  kinds([ask('a', 10n)], START);
  const lapses = START + 5000 + 10 * MINUTE_MS;
  expect([fits(1n, lapses - 1), fits(10n, lapses)]).toEqual([false, true]);
});

test('calls of one batch reserve in their order, each that fits beside those before it', () => {
  const { kinds, count } = open();
  expect(kinds([ask('a', 6n), ask('b', 5n), ask('c', 4n), ask('d', 1n)], START)).toEqual([
    ...['held', 'full', 'held', 'full'],
  ]);
  expect(sumsOf(count)).toEqual({ spent: 0n, held: 10n });
});

test('who does not fit because of a tentative reservation waits, and lets none pass by; what is confirmed refuses', () => {
  const { kinds, count } = open();
  kinds([ask('a', 6n, { isTentative: true })], START);
  expect(kinds([ask('b', 5n), ask('c', 1n), ask('d', 11n)], START)).toEqual(['wait', 'wait', 'full']);
  confirm(['a'])(count, START);
  expect(kinds([ask('b', 5n), ask('c', 1n)], START)).toEqual(['full', 'held']);
  kinds([ask('e', 3n, { isTentative: true })], START);
  expect(kinds([ask('f', 1n)], START)).toEqual(['wait']);
  expect(kinds([ask('f', 1n)], START + 1000)).toEqual(['full']);
});

test('who reserves again under its name replaces what it had: an edit is one step', () => {
  const { kinds, count } = open();
  expect(kinds([ask('a', 10n)], START)).toEqual(['held']);
  expect(kinds([ask('a', 4n)], START)).toEqual(['held']);
  expect(kinds([ask('a', 11n)], START)).toEqual(['full']);
  expect(count.held).toBe(4n);
});

type Told = readonly [executed: Settlement['executed'], by: Settlement['by']];
const TABLE: readonly (readonly [told: readonly Told[], spent: bigint, held: bigint])[] = [
  [[['yes', 'run']], 4n, 0n],
  [[['no', 'run']], 0n, 0n],
  [[['maybe', 'run']], 0n, 4n],
  [
    [
      ['maybe', 'run'],
      ['maybe', 'run'],
    ],
    0n,
    4n,
  ],
  [
    [
      ['maybe', 'run'],
      ['yes', 'run'],
      ['yes', 'other'],
    ],
    4n,
    0n,
  ],
  [
    [
      ['maybe', 'run'],
      ['yes', 'other'],
      ['yes', 'run'],
    ],
    4n,
    0n,
  ],
  [
    [
      ['maybe', 'run'],
      ['no', 'other'],
    ],
    0n,
    0n,
  ],
  // A write that happened after all, told by the run and by who looked for it.
  [
    [
      ['maybe', 'run'],
      ['no', 'other'],
      ['yes', 'run'],
      ['yes', 'other'],
    ],
    4n,
    0n,
  ],
  [
    [
      ['no', 'run'],
      ['yes', 'other'],
    ],
    4n,
    0n,
  ],
  // It was frozen while another process found out.
  [
    [
      ['yes', 'other'],
      ['yes', 'run'],
    ],
    4n,
    0n,
  ],
  [
    [
      ['yes', 'run'],
      ['yes', 'other'],
    ],
    4n,
    0n,
  ],
  // Nothing takes back what has happened.
  [
    [
      ['yes', 'other'],
      ['no', 'run'],
    ],
    4n,
    0n,
  ],
  [
    [
      ['maybe', 'run'],
      ['yes', 'run'],
      ['no', 'other'],
    ],
    4n,
    0n,
  ],
];
test.each(TABLE)('of a reservation that is told %j so much is spent and held: %d, %d', (told, spent, held) => {
  const { kinds, settle: settled, count } = open();
  kinds([ask('a', 4n)], START);
  for (const [executed, by] of told) settled(end('a', executed, { by }), START);
  expect(sumsOf(count)).toEqual({ spent, held });
});

test('a run that outlives its reservation spends, and what others say of one that has left does not', () => {
  const { kinds, settle: settled, count } = open();
  kinds([ask('a', 4n), ask('b', 4n)], START);
  const later = START + 20 * MINUTE_MS;
  settled(end('a', 'yes'), later);
  settled(end('b', 'yes', { by: 'other' }), later);
  expect(sumsOf(count)).toEqual({ spent: 4n, held: 0n });
});

test('an end of a read that comes to nothing leaves nothing behind', () => {
  const { kinds, settle: settled, count } = open();
  kinds([ask('a', 4n)], START);
  settled(end('a', 'no', { isWrite: false }), START);
  expect(ruleKind.isEmpty(count)).toBe(true);
});

test('what was spent without a window counts from now where the rule gets one', () => {
  const { kinds, settle: settled, count } = open({ ...TERMS, windowMs: null });
  kinds([ask('a', 10n)], START);
  settled(end('a', 'yes'), START);
  const changed = reserve([ask('b', 1n)], TERMS);
  expect(changed(count, START + 60 * MINUTE_MS)[0]).toMatchObject({ kind: 'full', left: 0n });
  expect(changed(count, START + 75 * MINUTE_MS)[0]?.kind).toBe('held');
});

test('a clock that is set back takes nothing out of the window early', () => {
  const { kinds, settle: settled, fits } = open();
  kinds([ask('a', 5n), ask('b', 5n)], START);
  settled(end('a', 'yes'), START);
  settled(end('b', 'yes'), START - 5 * MINUTE_MS);
  expect(fits(1n, START + 10 * MINUTE_MS)).toBe(false);
});

test('a rule that observes reserves all, and tells what would not fit', () => {
  const count = new Count();
  const reserved = reserve([ask('a', 6n), ask('b', 6n)], { ...TERMS, isEnforced: false })(count, START);
  expect(reserved).toMatchObject([
    { kind: 'held', fits: true },
    { kind: 'held', fits: false },
  ]);
  expect(count.held).toBe(12n);
});

test('a success counts for so long, and the last thousand of them are kept', () => {
  const count = new Count();
  for (let at = 0; at <= 1000; at += 1) noteSuccess(`d${at}`, MINUTE_MS)(count, START + at);
  const has = (digest: string, now: number) => hasSuccess(digest, MINUTE_MS)(count, now);
  expect([has('d0', START), has('d1', START), has('d1', START + 1 + MINUTE_MS)]).toEqual([false, true, false]);
  expect(hasSuccess('d9', 5)(count, START + 20)).toBe(false);
});

test('a record is the same after it was saved in parts and read again', () => {
  const { kinds, settle: settled, count } = open();
  const saved = new Map<string, string>();
  const state = ruleKind.toSaved(count, saved);
  const save = (): number => {
    const { set, gone } = ruleKind.changes(count, state);
    ruleKind.takeAdded(count);
    for (let at = 0; at < set.length; at += 2) saved.set(set[at] ?? '', set[at + 1] ?? '');
    for (const name of gone) saved.delete(name);
    return set.length / 2 + gone.length;
  };
  for (let minute = 0; minute < 9; minute += 1) {
    const now = START + minute * MINUTE_MS;
    kinds([ask(`a${minute}`, 1n), ask('held', 1n)], now);
    settled(end(`a${minute}`, 'yes'), now);
    // Of all minutes, what has changed: the end of the record, a minute, two entries.
    expect(save()).toBeLessThanOrEqual(4);
  }
  const read = ruleKind.decode(saved);
  expect(sumsOf(read)).toEqual(sumsOf(count));
  expect([read.endsAt, [...read.buckets], [...read.entries]]).toEqual([
    count.endsAt,
    [...count.buckets],
    [...count.entries],
  ]);
  const later = START + 15 * MINUTE_MS;
  expect(readCounted(TERMS)(read, later)).toEqual(readCounted(TERMS)(count, later));
  expect(readCounted(TERMS)(read, later)).toMatchObject({ spent: 4n, until: START + 16 * MINUTE_MS });
});

test.each([
  [0.1 + 0.2, null],
  [0.3, 300_000n],
  [1e20, 100_000_000_000_000_000_000_000_000n],
  [-0, 0n],
  [Number.NaN, null],
  [Number.POSITIVE_INFINITY, null],
])('%d is so many millionths: %s', (value, millionths) => expect(toMillionths(value)).toBe(millionths));

test('numbers are written as they were', () => {
  expect(['0', '0.5', '1500', '1234567.000001'].map((text) => toDecimal(toMillionths(Number(text)) ?? 0n))).toEqual([
    ...['0', '0.5', '1500', '1234567.000001'],
  ]);
  expect(toShownNumber(1_234_567_500_000n)).toBe('1,234,567.5');
});
