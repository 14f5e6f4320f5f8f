import { ROOMY } from '@recourse/test-support/budget-session.ts';
import {
  type CallSession,
  type CallText,
  createCallSession,
  type End,
  repeat,
} from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const TOOLS = {
  edit: { effects: 'write' },
  put: { effects: 'idempotent' },
  watch: { effects: 'write', polling: true },
} as const;

/** The guard's second half: equal answers, what it leaves to the budget, and rounds of several batches. */
export const describeLoopRounds = (createStore: CreateStoreUnderTest): void => {
  const create = () => createCallSession(createStore(ROOMY), TOOLS);

  describe('loop guard, the same answer', () => {
    test('it is counted, and from the tenth time on refused where the tool is not read', async () => {
      const verdicts = await repeat(create(), 'put a', '=same', 11);
      expect(verdicts.slice(0, 3)).toEqual(['run', 'run, same 1', 'run, same 2']);
      expect(verdicts.slice(8)).toEqual(['run, same 8', 'loop: same_answer, 10', 'loop: same_answer, 11']);
    });

    test.each(['look', 'watch'])('%s may ask as often as it likes: it reads, or is meant to poll', async (tool) => {
      const verdicts = await repeat(create(), `${tool} a`, '=same', 12);
      expect(verdicts.at(-1)).toBe('run, same 11');
    });

    test('another answer starts again', async () => {
      const session = create();
      await repeat(session, 'put a', '=one', 9);
      // The ninth time it was let in; what it answers now is new.
      const other = createCallSession(createStore(ROOMY), TOOLS);
      await repeat(other, 'put a', '=one', 8);
      expect(await repeat(other, 'put a', '=two', 2)).toEqual(['run, same 8', 'run, same 1']);
      expect(await repeat(session, 'put a', '=two', 1)).toEqual(['loop: same_answer, 10']);
    });

    test('a failure in between starts again', async () => {
      const session = create();
      await repeat(session, 'put a', '=one', 3);
      await repeat(session, 'put a', 'fails', 1);
      expect(await repeat(session, 'put a', '=one', 2)).toEqual(['run, failed 1', 'run, same 1']);
    });

    test('of two answers in one round the last one counts', async () => {
      const session = create();
      await (await session.begin(['put a', 'put a'])).end(['=one', '=two']);
      await repeat(session, 'put a', '=two', 1);
      expect((await session.begin(['put a'])).verdicts).toEqual(['run, same 2']);
    });
  });

  describe('loop guard and budget', () => {
    test('what the guard refuses costs no retry: nothing is reserved', async () => {
      const session = createCallSession(createStore({ ...ROOMY, sessionRetries: 3 }), { test: { retries: 3 } });
      await repeat(session, 'test a', 'fails', 2);
      const looping = await session.begin(['test a']);
      expect([looping.verdicts, looping.decisions]).toEqual([['loop: failed, 3'], ['idle']]);
      expect(looping.admission.permits.get('test')).toEqual({
        decision: 'idle',
        budget: { failures: 2, limit: 3, used: 1, remaining: 2, limitedBy: 'tool', lastError: 'failed' },
      });
      const others = [await session.begin(['test b']), await session.begin(['test c'])];
      expect(others.map(({ decisions }) => decisions)).toEqual([['retry'], ['retry']]);
      const budgets = await looping.end(['fails']);
      expect(budgets.get('test')).toMatchObject({ failures: 2, used: 1, remaining: 0 });
    });

    test('a call that is left to run has its retry', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 2);
      const mixed = await session.begin(['test a', 'test b']);
      expect([mixed.verdicts, mixed.decisions]).toEqual([['loop: failed, 3', 'run'], ['retry']]);
    });

    test('an idle tool leaves the last retry of the session to the next one', async () => {
      const session = createCallSession(createStore({ ...ROOMY, sessionRetries: 2 }));
      await session.play({ 'test a': 'fails', 'other a': 'fails' });
      await session.play({ 'test a': 'fails' });
      expect((await session.begin(['test a', 'other b'])).decisions).toEqual(['idle', 'retry']);
    });

    test('an exhausted tool says that, and not that it loops', async () => {
      const session = createCallSession(createStore(ROOMY), { test: { retries: 1 } });
      await repeat(session, 'test a', 'fails', 2);
      const refused = await session.begin(['test a']);
      expect([refused.verdicts, refused.decisions]).toEqual([['run'], ['tool']]);
    });
  });

  describe('loop guard and named rounds', () => {
    const inRound = async (session: CallSession, round: string, steps: readonly (readonly [CallText, End])[]) => {
      const verdicts: string[] = [];
      for (const [call, end] of steps) verdicts.push(...(await session.play({ [call]: end }, round)).verdicts);
      return verdicts;
    };
    const FAILS = ['test a', 'fails'] as const;

    test('the batches of a named round are one round: twice in it counts once', async () => {
      const session = create();
      expect(await inRound(session, 'one', [FAILS, FAILS, FAILS])).toEqual(['run', 'run', 'run']);
      expect(new Set(await inRound(session, 'two', [FAILS, FAILS, FAILS]))).toEqual(new Set(['run, failed 1']));
      expect(await inRound(session, 'three', [FAILS])).toEqual(['loop: failed, 3']);
    });

    test("calls that are posted one by one do not end each other's counts", async () => {
      const session = create();
      for (const round of ['one', 'two']) await inRound(session, round, [FAILS, ['test b', 'fails']]);
      const { verdicts } = await session.begin(['test a', 'test b'], 'three');
      expect(verdicts).toEqual(['loop: failed, 3', 'loop: failed, 3']);
    });

    test('a round without a name sees what a named one before it has counted', async () => {
      const session = create();
      await inRound(session, 'one', [FAILS]);
      await inRound(session, 'two', [FAILS]);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['loop: failed, 3']);
    });

    test.each([
      ['first', [['test a', '=x'], FAILS]],
      ['last', [FAILS, ['test a', '=x']]],
    ] as const)('a success anywhere in the round ends the count, also when it comes %s', async (_when, steps) => {
      const session = create();
      await inRound(session, 'one', [FAILS]);
      await inRound(session, 'two', steps);
      expect((await session.begin(['test a'], 'three')).verdicts).toEqual(['run, same 1']);
    });

    test.each([
      ['first', [['edit b', '=done'], FAILS]],
      ['last', [FAILS, ['edit b', '=done']]],
    ] as const)(
      'what changes something leaves one failure of its round, also when it comes %s',
      async (_when, steps) => {
        const session = create();
        for (const round of ['one', 'two', 'three']) await inRound(session, round, steps);
        expect((await session.begin(['test a'], 'four')).verdicts).toEqual(['run, failed 1']);
      },
    );

    test.each(['a success of another tool in another round', 'a reset'])(
      '%s ends the failures of a round under way, and its calls still count once',
      async (what) => {
        const subject = createStore(ROOMY);
        const session = createCallSession(subject, TOOLS);
        await inRound(session, 'one', [FAILS]);
        await inRound(session, 'two', [FAILS, ['test b', '=b']]);
        if (what === 'a reset') await subject.store.reset(session.key, 'test');
        else await session.play({ 'edit b': '=done' });
        await inRound(session, 'two', [FAILS, ['test b', '=b']]);
        const { verdicts } = await session.begin(['test a', 'test b'], 'three');
        expect(verdicts).toEqual(['run, failed 1', 'run, same 1']);
      },
    );

    test('of all its batches the first sixteen calls are looked at', async () => {
      const session = create();
      const calls = Array.from({ length: 18 }, (_, number) => `test ${number}`);
      const play = (some: readonly string[], round: string) =>
        session.play(Object.fromEntries(some.map((call) => [call, 'fails' as const])), round);
      for (const round of ['one', 'two']) {
        await play(calls.slice(0, 9), round);
        await play(calls.slice(9), round);
      }
      const { verdicts } = await session.begin(calls);
      expect(verdicts.filter((verdict) => verdict === 'loop: failed, 3')).toHaveLength(16);
      expect(verdicts.slice(16)).toEqual(['run', 'run']);
    });

    test('a refused call beside which something changed may be tried again', async () => {
      const session = create();
      await repeat(session, 'test a', 'fails', 2);
      const { verdicts } = await session.play({ 'test a': 'fails', 'edit b': '=done' });
      expect(verdicts).toEqual(['loop: failed, 3', 'run']);
      expect(await repeat(session, 'test a', 'fails', 1)).toEqual(['run']);
    });
  });
};
