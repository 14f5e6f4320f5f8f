import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIdFactory } from '#src/wiring/create-id.ts';

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Ids under a clock that the test sets, with every random byte the same. */
const createLab = (byte: number) => {
  const clock = { at: 0 };
  const create = createIdFactory({ time: () => clock.at, fillRandom: (bytes) => void bytes.fill(byte) });
  return { clock, create };
};

test('ids are ULIDs, each once and rising, whatever the clock does', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: -5, max: 5 }), fc.integer({ min: -1e12, max: 1e12 })), {
    minLength: 1,
    maxLength: 200,
  });
  void fc.assert(
    fc.property(steps, fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 7, maxLength: 7 }), (moves, noise) => {
      let at = 1_700_000_000_000;
      let drawn = 0;
      const fillRandom = (bytes: Uint8Array): void => {
        for (let place = 0; place < bytes.length; place += 1) bytes[place] = noise[drawn++ % noise.length] ?? 0;
      };
      const create = createIdFactory({ time: () => at, fillRandom });
      const ids = moves.flatMap((move) => {
        at = Math.max(0, at + move);
        return [create(), create()];
      });
      for (const id of ids) expect(id).toMatch(ULID);
      expect(ids).toEqual([...new Set(ids)].sort());
    }),
    { numRuns: 200 },
  );
});

test('ids of the system clock say their millisecond, and rise over many thousands', () => {
  const create = createIdFactory();
  const before = Date.now();
  const ids = Array.from({ length: 50_000 }, create);
  const after = Date.now();

  expect(ids.every((id) => ULID.test(id))).toBe(true);
  expect(new Set(ids).size).toBe(50_000);
  expect(ids.every((id, place) => place === 0 || id > (ids[place - 1] ?? ''))).toBe(true);
  const times = [ids[0], ids.at(-1)].map((id = '') => timeOf(id));
  expect(times[0]).toBeGreaterThanOrEqual(before);
  expect(times[1]).toBeLessThanOrEqual(after);
});

const timeOf = (id: string): number =>
  [...id.slice(0, 10)].reduce((sum, digit) => sum * 32 + '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit), 0);

test('the time is written as the specification writes it', () => {
  const { clock, create } = createLab(0);
  clock.at = 1_469_918_176_385;
  expect(create()).toBe('01ARYZ6S410000000000000000');
});

test('within a millisecond, and while the clock is behind, the random part goes up by one', () => {
  const { clock, create } = createLab(0);
  clock.at = 33;
  const first = [create(), create()];
  clock.at = 2;
  expect([...first, create()]).toEqual([
    '00000000110000000000000000',
    '00000000110000000000000001',
    '00000000110000000000000002',
  ]);
});

test('after the last id of a millisecond comes the next millisecond', () => {
  // The bytes of the last `places` pairs of digits are full.
  const idsOf = (places: number): readonly string[] => {
    const fillRandom = (bytes: Uint8Array): void => void bytes.fill(0).fill(255, 16 - 2 * places, 16);
    const create = createIdFactory({ time: () => 1, fillRandom });
    return [create(), create()];
  };
  expect(idsOf(2)).toEqual(['0000000001000000000000ZZZZ', '00000000020000000000000000']);
  expect(idsOf(5)).toEqual(['0000000001000000ZZZZZZZZZZ', '00000000020000000000000000']);
  expect(idsOf(8)).toEqual(['0000000001ZZZZZZZZZZZZZZZZ', '00000000020000000000000000']);
});
