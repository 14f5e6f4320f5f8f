import { createBudgetSession, ROOMY } from '@recourse/test-support/budget-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

/** Rule 1: who is let in. */
export const describeRetryLimits = (createStore: CreateStoreUnderTest): void => {
  describe('rule 1, admitting', () => {
    test('while no failure stands every round is free', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      for (let round = 0; round < 5; round += 1) expect((await session.run({ read: 'S' })).decisions).toEqual(['free']);
      const overlapping = await Promise.all([session.begin(['read']), session.begin(['read'])]);
      expect(overlapping.map(({ decisions }) => decisions)).toEqual([['free'], ['free']]);
    });

    test('after a failed round the next is a retry, and reserving it counts before it has run', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      const first = await session.run({ read: 'F' }, { error: 'no such file' });
      expect(first.decisions).toEqual(['free']);
      expect(first.budgetOf('read')).toEqual({
        failures: 1,
        limit: 2,
        used: 0,
        remaining: 2,
        limitedBy: 'tool',
        lastError: 'no such file',
      });
      const retry = await session.begin(['read']);
      expect(retry.decisions).toEqual(['retry']);
      expect(retry.budgetOf('read')).toMatchObject({ failures: 1, used: 0, remaining: 1 });
    });

    test('a round beyond the retries that run is told that, and may try when one has come back', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      await session.run({ read: 'F' });
      const one = await session.begin(['read']);
      await session.begin(['read']);
      expect((await session.begin(['read'])).decisions).toEqual(['running']);
      await one.end({ read: 'T' });
      expect((await session.begin(['read'])).decisions).toEqual(['retry']);
    });

    test('a tool whose retries have failed is blocked, with its last error', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      for (const error of ['one', 'two', 'three']) await session.run({ read: 'F' }, { error });
      const blocked = await session.begin(['read']);
      expect(blocked.decisions).toEqual(['tool']);
      expect(blocked.budgetOf('read')).toEqual({
        failures: 3,
        limit: 2,
        used: 2,
        remaining: 0,
        limitedBy: 'tool',
        lastError: 'three',
      });
    });

    test('once its last retry has failed a tool is blocked, also for a round that was told it still runs', async () => {
      const session = createBudgetSession(createStore(ROOMY), { write: 1 });
      await session.run({ write: 'F' });
      const last = await session.begin(['write']);
      expect((await session.begin(['write'])).decisions).toEqual(['running']);
      await last.end({ write: 'F' });
      expect((await session.begin(['write'])).decisions).toEqual(['tool']);
    });

    test('rounds admitted before the first failure settles are all first attempts: k of them and N retries can fail', async () => {
      const session = createBudgetSession(createStore(ROOMY), { write: 1 });
      const early = [await session.begin(['write']), await session.begin(['write']), await session.begin(['write'])];
      for (const round of early) await round.end({ write: 'F' });
      const retry = await session.run({ write: 'F' });
      expect(retry.decisions).toEqual(['retry']);
      expect(retry.budgetOf('write')).toMatchObject({ failures: 4, used: 1, remaining: 0 });
      expect((await session.run({ write: 'F' })).decisions).toEqual(['tool']);
    });

    test('a tool without retries is blocked by its first failed round', async () => {
      const session = createBudgetSession(createStore(ROOMY), { once: 0 });
      const first = await session.run({ once: 'F' });
      expect(first.decisions).toEqual(['free']);
      expect(first.budgetOf('once')).toMatchObject({ limit: 0, used: 0, remaining: 0 });
      expect((await session.run({ once: 'S' })).decisions).toEqual(['tool']);
    });

    test('each tool has the retries it declares', async () => {
      const session = createBudgetSession(createStore(ROOMY), { a: 1, b: 3 });
      const decisions: unknown[] = [];
      for (let round = 0; round < 5; round += 1) decisions.push((await session.run({ a: 'F', b: 'F' })).decisions);
      expect(decisions).toEqual([
        ['free', 'free'],
        ['retry', 'retry'],
        ['tool', 'retry'],
        ['tool', 'retry'],
        ['tool', 'tool'],
      ]);
    });
  });

  describe("rule 1, the session's total", () => {
    test('it covers all tools: the one that comes first in the batch gets the last retry', async () => {
      const settings = { ...ROOMY, sessionRetries: 1 };
      const forwards = createBudgetSession(createStore(settings));
      await forwards.run({ a: 'F', b: 'F' });
      expect((await forwards.begin(['a', 'b'])).decisions).toEqual(['retry', 'session']);
      const backwards = createBudgetSession(createStore(settings));
      await backwards.run({ a: 'F', b: 'F' });
      expect((await backwards.begin(['b', 'a'])).decisions).toEqual(['retry', 'session']);
    });

    test('used up, it blocks every failing tool and no other', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 2 }));
      await session.run({ a: 'F', b: 'F' });
      await session.run({ a: 'F', b: 'F' });
      const round = await session.begin(['a', 'b', 'c']);
      expect(round.decisions).toEqual(['session', 'session', 'free']);
      expect(round.budgetOf('a')).toMatchObject({ used: 1, remaining: 0, limitedBy: 'session' });
      expect(round.budgetOf('c')).toMatchObject({ failures: 0, used: 0, remaining: 0, limitedBy: 'session' });
    });

    test('a tool that recovers gives its retries back to the session', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 3 }));
      await session.run({ a: 'F', b: 'F' });
      await session.run({ a: 'F', b: 'F' });
      expect((await session.run({ a: 'S' })).budgetOf('a')).toMatchObject({ failures: 0, used: 0, remaining: 2 });
      expect((await session.begin(['b'])).budgetOf('b')).toMatchObject({ used: 1, remaining: 0, limitedBy: 'tool' });
    });

    test('limited_by names the one that has less left', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 4 }), { a: 3, b: 3 });
      expect((await session.run({ a: 'F' })).budgetOf('a')).toMatchObject({ remaining: 3, limitedBy: 'tool' });
      await session.run({ b: 'F' });
      await session.run({ b: 'F' });
      await session.run({ b: 'F' });
      const round = await session.run({ a: 'T' });
      expect(round.budgetOf('a')).toMatchObject({ used: 0, remaining: 2, limitedBy: 'session' });
    });

    test('what other tools have spent shows in the budget of one that never failed', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 3 }), { a: 3, b: 3 });
      await session.run({ a: 'F' });
      await session.run({ a: 'F' });
      const running = await session.begin(['a']);
      expect((await session.begin(['b'])).budgetOf('b')).toMatchObject({ remaining: 1, limitedBy: 'session' });
      await running.end({ a: 'F' });
      expect((await session.run({ b: 'T' })).budgetOf('b')).toMatchObject({ remaining: 1, limitedBy: 'session' });
    });

    test('zero means no retries for anyone, and first attempts as ever', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 0 }));
      expect((await session.run({ a: 'F', b: 'S' })).decisions).toEqual(['free', 'free']);
      expect((await session.run({ a: 'S', b: 'S' })).decisions).toEqual(['session', 'free']);
    });
  });

  describe('200 rounds at once', () => {
    test('after a failure exactly three of them run where three retries are allowed', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 200 }), { search: 3 });
      await session.run({ search: 'F' });
      const rounds = await Promise.all(Array.from({ length: 200 }, () => session.run({ search: 'F' })));
      const decisions = rounds.flatMap((round) => round.decisions);
      expect(decisions.filter((decision) => decision === 'retry')).toHaveLength(3);
      expect(decisions.filter((decision) => decision === 'tool' || decision === 'running')).toHaveLength(197);
      expect((await session.begin(['search'])).budgetOf('search')).toMatchObject({
        failures: 4,
        used: 3,
        remaining: 0,
      });
    });

    test('long after the failure it is still exactly three, for a running retry is not an exhausted one', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, cooldownMs: 90_000 }), { search: 3 });
      await session.run({ search: 'F' });
      await session.age(100_000);
      const rounds = await Promise.all(Array.from({ length: 200 }, () => session.begin(['search'])));
      const decisions = rounds.flatMap((round) => round.decisions);
      expect(decisions.filter((decision) => decision === 'retry')).toHaveLength(3);
      expect(decisions.filter((decision) => decision === 'running')).toHaveLength(197);
    });
  });
};
