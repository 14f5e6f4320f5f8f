import { createBudgetSession, type Mark, ROOMY } from '@recourse/test-support/budget-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { describe, expect, test } from 'vitest';

/** Rules 3 and 5: lives of a session, cooling down; and sizes. */
export const describeSessionLife = (createStore: CreateStoreUnderTest): void => {
  describe('rule 3, lives of a session', () => {
    test('sessions do not know each other', async () => {
      const subject = createStore(ROOMY);
      const [one, two] = [createBudgetSession(subject), createBudgetSession(subject)];
      for (let round = 0; round < 3; round += 1) await one.run({ x: 'F' });
      expect((await one.begin(['x'])).decisions).toEqual(['tool']);
      expect((await two.begin(['x'])).decisions).toEqual(['free']);
    });

    test('a session that is gone begins anew', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      for (let round = 0; round < 3; round += 1) await session.run({ x: 'F' });
      await session.forget();
      expect((await session.begin(['x'])).decisions).toEqual(['free']);
    });

    test('a settle for an earlier life writes nothing into the next', async () => {
      const session = createBudgetSession(createStore(ROOMY), { x: 3 });
      await session.run({ x: 'F' });
      const [failed, succeeded] = [await session.begin(['x']), await session.begin(['x'])];
      await session.forget();
      await session.run({ x: 'F' }, { error: 'of the second life' });
      const expected = {
        failures: 1,
        limit: 3,
        used: 0,
        remaining: 3,
        limitedBy: 'tool',
        lastError: 'of the second life',
      };
      expect((await failed.end({ x: 'F' }))('x')).toEqual(expected);
      expect((await succeeded.end({ x: 'S' }))('x')).toEqual(expected);
      expect((await session.run({ x: 'T' })).budgetOf('x')).toEqual(expected);
    });

    test('a settle for a session that is gone does not make one', async () => {
      const session = createBudgetSession(createStore(ROOMY));
      const first = await session.begin(['x']);
      await session.forget();
      const budgetOf = await first.end({ x: 'F' });
      expect(budgetOf('x')).toMatchObject({ failures: 0, used: 0, remaining: 2 });
      expect((await session.begin(['x'])).decisions).toEqual(['free']);
    });
  });

  describe('rule 5, exhausted', () => {
    const COOLDOWN_MS = 900_000;
    const exhaust = async (cooldownMs: number) => {
      const subject = createStore({ ...ROOMY, sessionRetries: 4, cooldownMs, ttlMs: 86_400_000 });
      const session = createBudgetSession(subject);
      await session.run({ y: 'F' });
      for (let round = 0; round < 3; round += 1) await session.run({ x: 'F' });
      return session;
    };

    test('it stays exhausted until the cooldown has passed since its last failed round, and is fresh then', async () => {
      const session = await exhaust(COOLDOWN_MS);
      await session.age(850_000);
      expect((await session.run({ x: 'S' })).decisions).toEqual(['tool']);
      await session.age(100_000);
      const fresh = await session.run({ x: 'F' });
      expect(fresh.decisions).toEqual(['free']);
      expect(fresh.budgetOf('x')).toMatchObject({ failures: 1, used: 0, remaining: 2 });
    });

    test('being refused does not prolong it', async () => {
      const session = await exhaust(COOLDOWN_MS);
      const decisions: unknown[] = [];
      for (let step = 0; step < 4; step += 1) {
        await session.age(250_000);
        decisions.push(...(await session.begin(['x'])).decisions);
      }
      expect(decisions).toEqual(['tool', 'tool', 'tool', 'free']);
    });

    test('freshness returns the retries that the tool held of its session', async () => {
      const session = await exhaust(COOLDOWN_MS);
      expect((await session.run({ y: 'T' })).budgetOf('y')).toMatchObject({ remaining: 2 });
      await session.run({ y: 'F' });
      expect((await session.run({ y: 'T' })).budgetOf('y')).toMatchObject({ remaining: 1, limitedBy: 'tool' });
      await session.age(1_000_000);
      const round = await session.begin(['x', 'z']);
      expect(round.budgetOf('z')).toMatchObject({ remaining: 2, limitedBy: 'tool' });
    });

    test('it blocks that tool only', async () => {
      const session = await exhaust(COOLDOWN_MS);
      expect((await session.begin(['x', 'y', 'z'])).decisions).toEqual(['tool', 'retry', 'free']);
    });

    test('a cooldown of 0 means never', async () => {
      const session = await exhaust(0);
      await session.age(80_000_000);
      expect((await session.begin(['x'])).decisions).toEqual(['tool']);
    });

    test("a tool that the session's total blocks cools down as well", async () => {
      const subject = createStore({ ...ROOMY, sessionRetries: 0, cooldownMs: COOLDOWN_MS, ttlMs: 86_400_000 });
      const session = createBudgetSession(subject);
      await session.run({ x: 'F' });
      expect((await session.begin(['x'])).decisions).toEqual(['session']);
      await session.age(1_000_000);
      expect((await session.begin(['x'])).decisions).toEqual(['free']);
    });

    test('while retries are left the cooldown forgives nothing', async () => {
      const session = createBudgetSession(createStore({ ...ROOMY, cooldownMs: 10_000 }));
      await session.run({ x: 'F' });
      await session.age(20_000);
      const retry = await session.run({ x: 'F' });
      expect(retry.decisions).toEqual(['retry']);
      expect(retry.budgetOf('x')).toMatchObject({ failures: 2, used: 1 });
    });
  });

  describe('sizes', () => {
    test('a round of 1 024 tools is let in, charged and blocked as any other', {
      timeout: timeLimit(60_000),
    }, async () => {
      const names = Array.from({ length: 1024 }, (_, number) => `tool_${number}`);
      const all = (mark: Mark) => Object.fromEntries(names.map((name) => [name, mark]));
      const retries = Object.fromEntries(names.map((name) => [name, 1]));
      const session = createBudgetSession(createStore({ ...ROOMY, sessionRetries: 2048 }), retries);
      const first = await session.run(all('F'));
      const second = await session.run(all('F'));
      const third = await session.run(all('F'));
      expect(new Set(first.decisions)).toEqual(new Set(['free']));
      expect(new Set(second.decisions)).toEqual(new Set(['retry']));
      expect(new Set(third.decisions)).toEqual(new Set(['tool']));
      expect(second.budgetOf('tool_1023')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
      expect((await session.begin(['another'])).budgetOf('another')).toMatchObject({ remaining: 2, limitedBy: 'tool' });
    });

    test('names that mean something to the store are names', async () => {
      const odd = ['constructor', 'toString', 'a:b', 'used:x', 'x y', 'é', 'hasOwnProperty'];
      const session = createBudgetSession(createStore(ROOMY), Object.fromEntries(odd.map((name) => [name, 0])));
      await session.run(Object.fromEntries(odd.map((name) => [name, 'F' as const])));
      expect((await session.begin([...odd, 'x'])).decisions).toEqual([...odd.map(() => 'tool'), 'free']);
    });
  });
};
