import { createBudgetSession, type Mark, ROOMY } from '@recourse/test-support/budget-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

/** Rule 2: what a round's outcome does, and the two traces of the rules. */
export const describeRetrySettling = (createStore: CreateStoreUnderTest): void => {
  describe('the traces', () => {
    test('retries: 2, seven rounds', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 2 });
      const play = async (mark: Mark) => {
        const { decisions, budgetOf } = await session.run({ x: mark });
        const { failures, used, remaining } = budgetOf('x');
        return [...decisions, { failures, used, remaining }];
      };
      expect(await play('F')).toEqual(['free', { failures: 1, used: 0, remaining: 2 }]);
      expect((await session.run({ other: 'S' })).decisions).toEqual(['free']);
      expect(await play('M')).toEqual(['retry', { failures: 1, used: 0, remaining: 2 }]);
      expect(await play('F')).toEqual(['retry', { failures: 2, used: 1, remaining: 1 }]);
      expect(await play('T')).toEqual(['retry', { failures: 2, used: 1, remaining: 1 }]);
      expect(await play('F')).toEqual(['retry', { failures: 3, used: 2, remaining: 0 }]);
      expect(await play('S')).toEqual(['tool', { failures: 3, used: 2, remaining: 0 }]);
    });

    test('in another session: F, F, S and clean, then F, F, F and refused', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 2 });
      const marks: readonly Mark[] = ['F', 'F', 'S', 'F', 'F', 'F', 'S'];
      const trace: unknown[] = [];
      for (const mark of marks) {
        const { decisions, budgetOf } = await session.run({ x: mark });
        trace.push([...decisions, budgetOf('x').used]);
      }
      expect(trace).toEqual([
        ['free', 0],
        ['retry', 1],
        ['retry', 0],
        ['free', 0],
        ['retry', 1],
        ['retry', 2],
        ['tool', 2],
      ]);
    });
  });

  describe('rule 2, settling', () => {
    test.each(['M', 'T'] as const)(
      '%s: neither failed nor succeeded, it returns its retry and changes nothing else',
      async (mark) => {
        const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 1 }), { x: 1 });
        await session.run({ x: 'F' }, { error: 'first' });
        for (let round = 0; round < 3; round += 1) {
          const { decisions, budgetOf } = await session.run({ x: mark }, { error: 'later' });
          expect(decisions).toEqual(['retry']);
          expect(budgetOf('x')).toMatchObject({ failures: 1, used: 0, remaining: 1, lastError: 'first' });
        }
      },
    );

    test('a first attempt that is neither leaves the tool clean', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      await session.run({ x: 'M', y: 'T', z: 'I' });
      expect((await session.begin(['x', 'y', 'z'])).decisions).toEqual(['free', 'free', 'free']);
    });

    test('a success that began before somebody else failed returns its retry and wipes nothing', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 3 });
      await session.run({ x: 'F' });
      const slow = await session.begin(['x']);
      await session.run({ x: 'F' });
      const budgetOf = await slow.end({ x: 'S' });
      expect(budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 2 });
    });

    test('a first attempt that succeeds after somebody else failed wipes nothing', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      const slow = await session.begin(['x']);
      await session.run({ x: 'F' });
      await slow.end({ x: 'S' });
      expect((await session.begin(['x'])).decisions).toEqual(['retry']);
    });

    test('failures that were wiped and came again are other failures: the epoch is never set back', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 3 });
      await session.run({ x: 'F' });
      const slow = await session.begin(['x']);
      await session.run({ x: 'S' });
      await session.run({ x: 'F' });
      const budgetOf = await slow.end({ x: 'S' });
      expect(budgetOf('x')).toMatchObject({ failures: 1, used: 0 });
    });

    test('retries that failed at the same time are all used, and one success after them clears all', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 3 });
      await session.run({ x: 'F' });
      const [one, two] = await Promise.all([session.begin(['x']), session.begin(['x'])]);
      await Promise.all([one.end({ x: 'F' }), two.end({ x: 'F' })]);
      expect((await session.run({ x: 'T' })).budgetOf('x')).toMatchObject({ failures: 3, used: 2, remaining: 1 });
      expect((await session.run({ x: 'S' })).budgetOf('x')).toMatchObject({ failures: 0, used: 0, remaining: 3 });
    });

    test('a denied tool settles nothing, whatever is said of it', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 0 });
      await session.run({ x: 'F', y: 'F' });
      const denied = await session.begin(['x', 'y']);
      const budgetOf = await denied.end({ x: 'S', y: 'F' });
      expect(budgetOf('x')).toMatchObject({ failures: 1, used: 0 });
      expect(budgetOf('y')).toMatchObject({ failures: 2, used: 1 });
    });

    test('the last error is one of at most 200 characters, and is gone with the failures', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      const long = await session.run({ x: 'F' }, { error: `${'e'.repeat(199)}😀 and more` });
      expect(long.budgetOf('x').lastError).toBe(`${'e'.repeat(199)}\ufffd`);
      expect((await session.run({ x: 'S' })).budgetOf('x').lastError).toBe('');
      expect((await session.begin(['x'])).budgetOf('x').lastError).toBe('');
    });
  });

  describe('rule 2, interrupted', () => {
    test('its retry comes back to the tool at the end of the lease, and to the session never', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 2 }), { x: 1, y: 3 });
      await session.run({ x: 'F', y: 'F' });
      const cut = await session.begin(['x'], { leaseMs: 40_000 });
      await cut.end({ x: 'I' });
      await session.age(30_000);
      expect((await session.begin(['x'])).decisions).toEqual(['running']);
      await session.age(20_000);
      const again = await session.begin(['x', 'y']);
      expect(again.decisions).toEqual(['retry', 'session']);
      expect(again.budgetOf('x')).toMatchObject({ used: 0, remaining: 0 });
    });

    test('a round that never settles is one, too: crashes block no tool and buy no endless retries', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 3 }), { x: 1 });
      await session.run({ x: 'F' });
      const decisions: unknown[] = [];
      for (let crash = 0; crash < 4; crash += 1) {
        decisions.push((await session.begin(['x'], { leaseMs: 10_000 })).decisions);
        await session.age(20_000);
      }
      expect(decisions).toEqual([['retry'], ['retry'], ['retry'], ['session']]);
    });

    test('a call that failed beside the one cut off makes the round a failed one', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 1 });
      await session.run({ x: 'F' });
      const { admission } = await session.begin(['x'], { leaseMs: 10_000 });
      const budgets = await admission.settle({
        outcomes: [{ name: 'x', failed: true, succeeded: false, interrupted: true, error: 'e' }],
        calls: [],
        journal: null,
      });
      expect(budgets.get('x')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
      await session.age(20_000);
      expect((await session.begin(['x'])).decisions).toEqual(['tool']);
    });

    test('a retry that fails after its lease is used after all, and no longer lost', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 3 }), { x: 2 });
      await session.run({ x: 'F' });
      const late = await session.begin(['x'], { leaseMs: 10_000 });
      await session.age(20_000);
      expect((await session.begin(['other'])).budgetOf('other')).toMatchObject({ remaining: 2 });
      const budgetOf = await late.end({ x: 'F' });
      expect(budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
      expect((await session.run({ x: 'S' })).budgetOf('x')).toMatchObject({ failures: 0, used: 0, remaining: 2 });
    });
  });
};
