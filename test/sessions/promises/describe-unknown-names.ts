import { createBudgetSession, type Decision, ROOMY } from '@recourse/test-support/budget-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

/** Rule 4: the bucket that all unknown names share. */
export const describeUnknownNames = (createStore: CreateStoreUnderTest): void => {
  const create = () => createBudgetSession(createStore(ROOMY));
  const failing = async (rounds: number, session = create()) => {
    const decisions: Decision[] = [];
    for (let round = 0; round < rounds; round += 1) decisions.push(...(await session.run({ _unknown: 'F' })).decisions);
    return { session, decisions };
  };

  describe('rule 4, unknown names', () => {
    test('they share three retries', async () => {
      const { decisions } = await failing(5);
      expect(decisions).toEqual(['free', 'retry', 'retry', 'retry', 'tool']);
    });

    test('other tools in the same batch change nothing, succeed as they may', async () => {
      const { session } = await failing(2);
      const round = await session.run({ _unknown: 'F', x: 'S' });
      expect(round.budgetOf('_unknown')).toMatchObject({ failures: 3, used: 2, remaining: 1 });
    });

    test('a round that names only known tools clears them, whatever comes of it', async () => {
      const { session } = await failing(5);
      await session.run({ x: 'F' });
      expect((await session.begin(['_unknown'])).decisions).toEqual(['free']);
    });

    test('their retries go back to the session then', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 3 }));
      await failing(4, session);
      await session.run({ x: 'F' });
      expect((await session.begin(['x'])).decisions).toEqual(['retry']);
    });

    test('a round without any tool clears nothing', async () => {
      const { session } = await failing(1);
      await session.begin([]);
      expect((await session.begin(['_unknown'])).decisions).toEqual(['retry']);
    });

    test('a named round that names only known tools has cleared them when the next round begins', async () => {
      const { session } = await failing(2);
      await session.run({ x: 'S' }, { round: 'turn_3' });
      await session.run({ y: 'S' }, { round: 'turn_3' });
      expect((await session.run({ _unknown: 'F' }, { round: 'turn_4' })).decisions).toEqual(['free']);
    });

    test.each([
      ['after', ['x', '_unknown']],
      ['before', ['_unknown', 'x']],
    ] as const)('a named round clears nothing if it names an unknown tool %s its known ones', async (_when, order) => {
      const { session } = await failing(2);
      for (const name of order) await session.run({ [name]: 'F' }, { round: 'turn_3' });
      const next = await session.run({ _unknown: 'F' }, { round: 'turn_4' });
      expect(next.decisions).toEqual(['retry']);
      expect(next.budgetOf('_unknown')).toMatchObject({ failures: 4, used: 3 });
    });

    test('a named round that was refused its unknown name has named it all the same', async () => {
      const { session } = await failing(4);
      await session.run({ _unknown: 'F' }, { round: 'turn_5' });
      await session.run({ x: 'S' }, { round: 'turn_5' });
      expect((await session.begin(['_unknown'], { round: 'turn_6' })).decisions).toEqual(['tool']);
    });

    test('named rounds that overlap are told apart', async () => {
      const { session } = await failing(1);
      await session.run({ _unknown: 'F' }, { round: 'one' });
      await session.run({ _unknown: 'F' }, { round: 'two' });
      await session.run({ x: 'S' }, { round: 'one' });
      expect((await session.begin(['_unknown'], { round: 'three' })).decisions).toEqual(['retry']);
    });

    test('of the named rounds that named unknown tools the latest sixteen are remembered', async () => {
      const session = create();
      for (let turn = 1; turn <= 17; turn += 1) await session.run({ _unknown: 'F' }, { round: `turn_${turn}` });
      await session.run({ x: 'S' }, { round: 'turn_2' });
      expect((await session.begin(['_unknown'], { round: 'next' })).decisions).toEqual(['tool']);
      await session.run({ x: 'S' }, { round: 'turn_2' });
      await session.run({ x: 'S' }, { round: 'turn_1' });
      expect((await session.begin(['_unknown'], { round: 'after' })).decisions).toEqual(['free']);
    });

    test('a round that found nothing to clear does not clear what fails after it', async () => {
      const session = create();
      const slow = await session.begin(['_unknown']);
      await session.run({ x: 'S' }, { round: 'turn_2' });
      await slow.end({ _unknown: 'F' });
      expect((await session.begin(['_unknown'], { round: 'turn_3' })).decisions).toEqual(['retry']);
    });
  });

  describe('rule 4, other tools', () => {
    test('rounds of other tools in between change nothing', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 2 });
      await session.run({ x: 'F' });
      for (let round = 0; round < 5; round += 1) await session.run({ y: round % 2 === 0 ? 'S' : 'F' });
      expect((await session.run({ x: 'F' })).budgetOf('x')).toMatchObject({ failures: 2, used: 1, remaining: 1 });
    });
  });
};
