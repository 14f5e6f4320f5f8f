import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { createCallSession, repeat } from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const TOOLS = {
  edit: { effects: 'write' },
  put: { effects: 'idempotent' },
} as const;

/** The guard against the plain loop: the same call again and again. */
export const describeLoopGuard = (createStore: CreateStoreUnderTest): void => {
  const create = () => createCallSession(createStore(ROOMY), TOOLS);

  describe('loop guard, failing calls', () => {
    test('a call that failed twice is refused from the third time on, and the count grows', async () => {
      expect(await repeat(create(), 'test a', 'fails', 5)).toEqual([
        'run',
        'run, failed 1',
        'loop: failed, 3',
        'loop: failed, 4',
        'loop: failed, 5',
      ]);
    });

    test('other arguments are another call, and a round without the first one ends its count', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 2);
      expect(await repeat(session, 'test b', 'fails', 1)).toEqual(['run']);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['run']);
    });

    test('a, b, a, b passes', async () => {
      const session = create();
      const verdicts: string[] = [];
      for (let round = 0; round < 4; round += 1)
        verdicts.push(...(await repeat(session, round % 2 === 0 ? 'test a' : 'test b', 'fails', 1)));
      expect(verdicts).toEqual(['run', 'run', 'run', 'run']);
    });

    test('other tools in between do not end the count', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 1);
      await repeat(session, 'look b', '=b', 1);
      await repeat(session, 'test a', 'fails', 1);
      await repeat(session, 'other c', 'fails', 1);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['loop: failed, 3']);
    });

    test.each(['times out', '=fine'] as const)('another outcome (%s) ends the count', async (end) => {
      const session = create();
      await repeat(session, 'test a', 'fails', 1);
      await repeat(session, 'test a', end, 1);
      expect((await session.play({ 'test a': 'fails' })).verdicts[0]).not.toContain('failed');
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['run, failed 1']);
    });

    test("what ends for a reason that is not the model's is never counted", async () => {
      const verdicts = await repeat(create(), 'test a', 'times out', 6);
      expect(new Set(verdicts)).toEqual(new Set(['run']));
    });

    test('a call that did not run for another reason keeps its count', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 2);
      const waiting = createCallSession(createStore(ROOMY), TOOLS);
      await repeat(waiting, 'test a', 'fails', 1);
      expect(await repeat(waiting, 'test a', 'over', 3)).toEqual(['run, failed 1', 'run, failed 1', 'run, failed 1']);
      expect(await repeat(waiting, 'test a', 'fails', 2)).toEqual(['run, failed 1', 'loop: failed, 3']);
    });

    test('twice in one round counts once', async () => {
      const session = create();
      const twice = await session.begin(['test a', 'test a']);
      await twice.end(['fails', 'fails']);
      const again = await session.begin(['test a', 'test a']);
      expect(again.verdicts).toEqual(['run, failed 1', 'run, failed 1']);
      await again.end(['fails', 'fails']);
      expect((await session.begin(['test a', 'test a'])).verdicts).toEqual(['loop: failed, 3', 'loop: failed, 3']);
    });

    test('twice in one round, and one of them goes well: the count ends', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 1);
      await (await session.begin(['test a', 'test a'])).end(['=x', 'fails']);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['run, same 1']);
    });

    test('arguments that the guard does not look at have no count', async () => {
      const verdicts = await repeat(create(), 'test -', 'fails', 5);
      expect(new Set(verdicts)).toEqual(new Set(['run']));
    });

    test('of one round the first sixteen calls are looked at', async () => {
      const session = create();
      const calls = Array.from({ length: 17 }, (_, number) => `test ${number}`);
      for (let round = 0; round < 2; round += 1)
        await session.play(Object.fromEntries(calls.map((call) => [call, 'fails' as const])));
      const { verdicts } = await session.begin(calls);
      expect(new Set(verdicts.slice(0, 16))).toEqual(new Set(['loop: failed, 3']));
      expect(verdicts[16]).toBe('run');
    });
  });

  describe('loop guard, what changes something', () => {
    test.each(['edit', 'put'])(
      'a success of %s, which is not read, ends the failures of all other tools',
      async (tool) => {
        const session = create();
        const verdicts: string[] = [];
        for (let round = 0; round < 4; round += 1) {
          verdicts.push(...(await repeat(session, 'test a', 'fails', 1)));
          await repeat(session, `${tool} ${round}`, '=done', 1);
        }
        expect(verdicts).toEqual(['run', 'run', 'run', 'run']);
      },
    );

    test('one that only reads ends none, and neither does one that failed', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 2);
      await repeat(session, 'look b', '=b', 1);
      await repeat(session, 'edit b', 'fails', 1);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['loop: failed, 3']);
    });

    test('it does not end its own', async () => {
      const session = create();
      await (await session.begin(['edit a', 'edit b'])).end(['fails', '=done']);
      await (await session.begin(['edit a', 'edit b'])).end(['fails', '=done']);
      expect((await session.begin(['edit a'])).verdicts).toEqual(['loop: failed, 3']);
    });

    test('edit and test in one round, again and again, is work', async () => {
      const session = create();
      for (let round = 0; round < 4; round += 1) {
        const { verdicts } = await session.play({ [`edit ${round}`]: '=done', 'test a': 'fails' });
        expect(verdicts[1]).toBe(round === 0 ? 'run' : 'run, failed 1');
      }
    });

    test('counts of equal answers stay', async () => {
      const session = create();
      await repeat(session, 'look a', '=same', 2);
      await repeat(session, 'edit b', '=done', 1);
      expect(await repeat(session, 'look a', '=same', 1)).toEqual(['run, same 2']);
    });
  });
};
