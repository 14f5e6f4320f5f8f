import { type BudgetSession, createBudgetSession, type Mark, ROOMY } from '@recourse/test-support/budget-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const inRound = (session: BudgetSession, round: string, mark: Mark) => session.run({ x: mark }, { round });

/** Batches that share a round id are one round. */
export const describeNamedRounds = (createStore: CreateStoreUnderTest): void => {
  describe('named rounds', () => {
    test('two failing batches of one round are one failure', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      await inRound(session, 'turn_1', 'F');
      const second = await inRound(session, 'turn_1', 'F');
      expect(second.decisions).toEqual(['free']);
      expect(second.budgetOf('x')).toMatchObject({ failures: 1, used: 0, remaining: 2 });
      expect((await inRound(session, 'turn_2', 'F')).budgetOf('x')).toMatchObject({ failures: 2, used: 1 });
      expect((await inRound(session, 'turn_2', 'F')).budgetOf('x')).toMatchObject({ failures: 2, used: 1 });
    });

    test.each([
      ['F', 'S'],
      ['M', 'F'],
      ['M', 'S'],
    ] as const)(
      '%s and %s in one round is mixed: the retry is back and nothing else has changed',
      async (first, second) => {
        const session = createBudgetSession(createStore(ROOMY));
        await session.run({ x: 'F' });
        await session.run({ x: 'F' });
        await inRound(session, 'turn_3', first);
        const { decisions, budgetOf } = await inRound(session, 'turn_3', second);
        expect(decisions).toEqual(['retry']);
        expect(budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
      },
    );

    test.each(['F', 'M'] as const)(
      'a success makes the tool clean, and %s after it in its round changes nothing',
      async (second) => {
        const session = createBudgetSession(createStore(ROOMY));
        await session.run({ x: 'F' });
        await session.run({ x: 'F' });
        await inRound(session, 'turn_3', 'S');
        const { decisions, budgetOf } = await inRound(session, 'turn_3', second);
        expect(decisions).toEqual(['free']);
        expect(budgetOf('x')).toMatchObject({ failures: 0, used: 0, remaining: 2 });
      },
    );

    test.each([
      ['F', 'S'],
      ['S', 'F'],
    ] as const)('%s and %s in a first round leave no failure standing', async (first, second) => {
      const session = createBudgetSession(createStore(ROOMY));
      await inRound(session, 'turn_1', first);
      await inRound(session, 'turn_1', second);
      expect((await session.begin(['x'])).decisions).toEqual(['free']);
    });

    test('what a mixed round takes back is its own: failures of others since then stand', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 4 });
      await session.run({ x: 'F' });
      await inRound(session, 'turn_2', 'S');
      await session.run({ x: 'F' });
      expect((await inRound(session, 'turn_2', 'F')).budgetOf('x')).toMatchObject({ failures: 1, used: 0 });
    });

    test('what a success has made clean stays so when its round turns out mixed, and is not taken back twice', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 4 });
      await session.run({ x: 'F' });
      await inRound(session, 'turn_2', 'F');
      await inRound(session, 'turn_3', 'S');
      expect((await session.begin(['x'])).decisions).toEqual(['free']);
      expect((await inRound(session, 'turn_3', 'F')).budgetOf('x')).toMatchObject({ failures: 0, used: 0 });
      await session.run({ x: 'F' });
      expect((await inRound(session, 'turn_2', 'S')).budgetOf('x')).toMatchObject({ failures: 1, used: 0 });
    });

    test.each(['F', 'S'] as const)(
      'a round is charged once: after the success of another one its next %s changes nothing',
      async (next) => {
        const session = createBudgetSession(createStore(ROOMY), { x: 4 });
        await session.run({ x: 'F' });
        await inRound(session, 'turn_2', 'F');
        await inRound(session, 'turn_3', 'S');
        await session.run({ x: 'F' });
        expect((await inRound(session, 'turn_2', next)).budgetOf('x')).toMatchObject({ failures: 1, used: 0 });
      },
    );

    test('a batch that joins a running retry takes over its reservation', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 1 }), { x: 1 });
      await session.run({ x: 'F' });
      const one = await session.begin(['x'], { round: 'turn_2' });
      const two = await session.begin(['x'], { round: 'turn_2' });
      expect([one.decisions, two.decisions]).toEqual([['retry'], ['retry']]);
      expect(two.budgetOf('x')).toMatchObject({ used: 0, remaining: 0 });
      expect((await session.begin(['x'], { round: 'turn_3' })).decisions).toEqual(['running']);
      await one.end({ x: 'T' });
      expect((await session.begin(['x'], { round: 'turn_3' })).decisions).toEqual(['running']);
      const budgetOf = await two.end({ x: 'T' });
      expect(budgetOf('x')).toMatchObject({ used: 0, remaining: 1 });
    });

    test('a round that crashed and runs again takes over its reservation, and its failure uses one retry', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 1 });
      await session.run({ x: 'F' });
      await session.begin(['x'], { round: 'turn_2' });
      const again = await inRound(session, 'turn_2', 'F');
      expect(again.decisions).toEqual(['retry']);
      expect(again.budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
    });

    test('a round whose retry came back must find it free again', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 1 });
      await session.run({ x: 'F' });
      await inRound(session, 'turn_2', 'T');
      await session.begin(['x']);
      expect((await inRound(session, 'turn_2', 'F')).decisions).toEqual(['running']);
    });

    test("the session's total blocks no tool that is clean, also in a round that began as a retry", async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 2 }), { x: 2, y: 2 });
      await session.run({ x: 'F', y: 'F' });
      await inRound(session, 'turn_2', 'S');
      await session.run({ y: 'F' });
      await session.run({ y: 'F' });
      const again = await session.begin(['x', 'y'], { round: 'turn_2' });
      expect(again.decisions).toEqual(['free', 'tool']);
    });

    test('a name is no free pass for ever: after a lease it begins another round', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 1 });
      const play = () => session.run({ x: 'F' }, { round: 'always', leaseMs: 10_000 });
      expect((await play()).decisions).toEqual(['free']);
      expect((await play()).decisions).toEqual(['free']);
      await session.age(20_000);
      expect((await play()).decisions).toEqual(['retry']);
      await session.age(20_000);
      expect((await play()).decisions).toEqual(['tool']);
    });

    test('the latest sixteen rounds are remembered, and every one that still runs', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 100 }), { x: 50 });
      const running = await session.begin(['x'], { round: 'running' });
      for (let turn = 1; turn <= 17; turn += 1) await inRound(session, `turn_${turn}`, 'F');
      expect((await inRound(session, 'turn_2', 'F')).budgetOf('x')).toMatchObject({ failures: 17 });
      expect((await inRound(session, 'turn_1', 'F')).budgetOf('x')).toMatchObject({ failures: 18 });
      expect((await inRound(session, 'running', 'F')).budgetOf('x')).toMatchObject({ failures: 19 });
      expect((await running.end({ x: 'F' }))('x')).toMatchObject({ failures: 19 });
    });

    test('one name in two sessions is two rounds', async () => {
      const subject = createStore(ROOMY);
      const [one, two] = [createBudgetSession(subject), createBudgetSession(subject)];
      await inRound(one, 'turn_1', 'F');
      expect((await inRound(two, 'turn_1', 'F')).budgetOf('x')).toMatchObject({ failures: 1 });
      expect((await one.begin(['x'])).budgetOf('x')).toMatchObject({ failures: 1 });
    });
  });
};
