import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createByteBudget, type MemoryLease } from '#src/memory/byte-budget.ts';

describe('a budget of bytes', () => {
  test('one holder gets half, and leaves the other half to others', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    expect(budget.open('a', 500)).not.toBeNull();
    expect(budget.open('a', 1)).toBeNull();
    expect(budget.open('b', 250)).not.toBeNull();
    expect(budget.open('b', 1)).toBeNull();
    expect(budget.open('c', 125)).not.toBeNull();
    expect(budget.inUse()).toBe(875);
  });

  test('what is given back can be taken again, once', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    const hold = budget.open('a', 500);
    hold?.release();
    hold?.release();
    expect(budget.inUse()).toBe(0);
    expect(hold?.take(10)).toBe(true);
    expect(budget.inUse()).toBe(0);
    expect(budget.open('a', 500)).not.toBeNull();
  });

  test('what two hold together is given back by the second', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    const hold = budget.open('a', 100);
    hold?.retain();
    hold?.release();
    expect(hold?.take(50)).toBe(true);
    hold?.give(20);
    expect(budget.inUse()).toBe(130);
    hold?.release();
    expect(budget.inUse()).toBe(0);
  });

  test('a hold grows while there is room, and says what it really is even where there is none', () => {
    let refused = 0;
    const onRefused = (): void => {
      refused += 1;
    };
    const budget = createByteBudget({ limitBytes: 1000, onRefused });
    const hold = budget.open('a', 100);
    expect(hold?.take(400)).toBe(true);
    expect(hold?.take(1)).toBe(false);
    expect(refused).toBe(1);
    hold?.set(900);
    expect(budget.inUse()).toBe(900);
    expect(budget.open('b', 100)).toBeNull();
    hold?.set(300);
    expect(budget.inUse()).toBe(300);
  });

  test('a hold is made exact: it shrinks always, and grows where there is room', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    const hold = budget.open('a', 400);
    expect(hold?.fit(300)).toBe(true);
    expect(hold?.fit(501)).toBe(false);
    expect(budget.inUse()).toBe(300);
    expect(hold?.fit(500)).toBe(true);
    expect(budget.inUse()).toBe(500);
  });

  test('what outlives a hold stays with its holder, and is given back by itself', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    const hold = budget.open('a', 400);
    const later = hold?.beside(100);
    hold?.release();
    expect(budget.inUse()).toBe(100);
    expect(budget.hasRoom('a', 401)).toBe(false);
    expect(budget.hasRoom('b', 401)).toBe(true);
    later?.release();
    expect(budget.inUse()).toBe(0);
  });

  test('what must be in memory is counted beyond the limit, and leaves others less', () => {
    const budget = createByteBudget({ limitBytes: 1000 });
    const hold = budget.openBeyond('a', 900);
    expect(hold.take(300)).toBe(true);
    expect(budget.inUse()).toBe(1200);
    expect(budget.open('b', 1)).toBeNull();
    hold.release();
    expect(budget.inUse()).toBe(0);
  });

  test('whatever is taken and given, the sum is right, within the limit, and 0 at the end', () => {
    void fc.assert(fc.property(fc.array(STEP, { maxLength: 60 }), checkSteps));
  });
});

test('who holds at least as much as all others is told its part, others that they fill it together', () => {
  const budget = createByteBudget({ limitBytes: 1000 });
  budget.open('a', 400);
  budget.open('b', 100);
  expect([budget.partOf('a'), budget.partOf('b'), budget.partOf('c')]).toEqual([450, null, null]);
});

const STEP = fc.record({
  holder: fc.constantFrom('a', 'b', 'c', 'd'),
  bytes: fc.integer({ min: 0, max: 600 }),
  act: fc.constantFrom('open', 'grow', 'release'),
});
type Step = { readonly holder: string; readonly bytes: number; readonly act: string };

const checkSteps = (steps: readonly Step[]): void => {
  const budget = createByteBudget({ limitBytes: 1000 });
  const open: { readonly hold: MemoryLease; bytes: number }[] = [];
  const acts: Readonly<Record<string, (step: Step) => void>> = {
    open: ({ holder, bytes }) => {
      const hold = budget.open(holder, bytes);
      if (hold !== null) open.push({ hold, bytes });
    },
    grow: ({ bytes }) => {
      const last = open.at(-1);
      if (last?.hold.take(bytes) === true) last.bytes += bytes;
    },
    release: () => open.shift()?.hold.release(),
  };
  for (const step of steps) {
    acts[step.act]?.(step);
    expect(budget.inUse()).toBe(open.reduce((sum, one) => sum + one.bytes, 0));
    expect(budget.inUse()).toBeLessThanOrEqual(1000);
  }
  for (const { hold } of open) hold.release();
  expect(budget.inUse()).toBe(0);
};
