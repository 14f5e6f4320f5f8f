import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { createCallSession } from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { describe, expect, test } from 'vitest';

/** Calls and rounds of a session, and calls of one tool in it. */
export const describeCallLimits = (createStore: CreateStoreUnderTest): void => {
  describe('limits, calls of a session', () => {
    test('the first that fit run, in the order of the batch', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 3 }));
      const first = await session.begin(['a 1', 'b 2', 'a 3', 'b 4', 'c 5']);
      const refused = 'limit: session_calls, 3';
      expect(first.verdicts).toEqual(['run', 'run', 'run', refused, refused]);
      expect(first.decisions).toEqual(['free', 'free', 'free']);
      await first.end(['=1', '=2', '=3']);
      expect((await session.begin(['a 6'])).verdicts).toEqual([refused]);
      expect((await session.read()).calls).toBe(3);
    });

    test('calls that did not run are given back', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 2 }));
      const shed = await session.begin(['a 1', 'a 2']);
      expect((await session.begin(['a 3'])).verdicts).toEqual(['limit: session_calls, 2']);
      await shed.end(['=1', 'over']);
      expect((await session.read()).calls).toBe(1);
      expect((await session.begin(['a 3', 'a 4'])).verdicts).toEqual(['run', 'limit: session_calls, 2']);
    });

    test('a call that can never run takes nobody a place: a name that no tool has, arguments that are no JSON', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 1 }), { x: { maxCalls: 1 } });
      const round = await session.begin(['x {', 'x 1', 'x {', 'x 2']);
      expect(round.verdicts).toEqual(['run', 'run', 'run', 'limit: tool_calls, 1']);
      await round.end(['fails', '=1', 'fails']);
      expect((await session.read()).calls).toBe(1);
      const full = await session.begin(['a 1', 'a {']);
      expect(full.verdicts).toEqual(['limit: session_calls, 1', 'run']);
      await full.end(['over', 'fails']);
      expect((await session.read()).calls).toBe(1);
    });

    test('those that were refused were not counted, and are not given back', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 1 }));
      for (let round = 0; round < 3; round += 1) await session.play({ 'a 1': '=1', 'a 2': '=2' });
      expect((await session.read()).calls).toBe(1);
    });

    test('what another batch is running is counted', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 50 }));
      const rounds = await Promise.all(Array.from({ length: 200 }, (_, number) => session.begin([`a ${number}`])));
      expect(rounds.flatMap(({ verdicts }) => verdicts).filter((verdict) => verdict === 'run')).toHaveLength(50);
    });

    test('an exhausted tool uses none of them', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 2 }), { x: { retries: 0 } });
      await session.play({ 'x 1': 'fails' });
      const round = await session.begin(['x 1', 'x 2', 'a 3', 'a 4']);
      expect(round.verdicts).toEqual(['run', 'run', 'run', 'limit: session_calls, 2']);
      expect(round.decisions).toEqual(['tool', 'free']);
      await round.end(['over', 'over', '=3', '=4']);
      expect((await session.read()).calls).toBe(2);
    });

    test('where it leaves a failing tool nothing to run no retry is reserved', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxCalls: 2 }), { x: { retries: 1 } });
      await session.play({ 'x 1': 'fails' });
      const round = await session.begin(['a 2', 'x 3']);
      expect(round.verdicts).toEqual(['run', 'limit: session_calls, 2']);
      expect(round.decisions).toEqual(['free', 'idle']);
      expect((await session.read()).tools[0]).toMatchObject({ name: 'x', open: 0, used: 0 });
      await round.end(['over']);
      expect((await session.begin(['x 3'])).decisions).toEqual(['retry']);
    });

    test('a tool that it leaves nothing to run is not in the way of the next one', async () => {
      const session = createCallSession(createStore({ ...ROOMY, sessionRetries: 1, maxCalls: 2 }));
      await session.play({ 'x 1': 'fails', 'y 1': 'fails' });
      const round = await session.begin(['x 2', 'y 2']);
      expect(round.decisions).toEqual(['idle', 'idle']);
      expect(new Set(round.verdicts)).toEqual(new Set(['limit: session_calls, 2']));
    });

    test('0 means as many as come, and they are counted', async () => {
      const session = createCallSession(createStore(ROOMY));
      for (let round = 0; round < 5; round += 1) await session.play({ 'a 1': '=1', 'a 2': '=2' });
      expect(await session.read()).toMatchObject({ rounds: 5, calls: 10 });
    });
  });

  describe('limits, rounds of a session', () => {
    test('a batch beyond them has nothing run, and is not counted itself', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxRounds: 2 }));
      const steps = [await session.play({ 'a 1': '=1' }), await session.play({ 'a 2': 'fails' })];
      expect(steps.map(({ admission }) => admission.step)).toEqual([1, 2]);
      for (let again = 0; again < 2; again += 1) {
        const refused = await session.begin(['a 3', 'b 4']);
        expect(refused.verdicts).toEqual(['limit: session_rounds, 2', 'limit: session_rounds, 2']);
        expect(refused.decisions).toEqual(['idle', 'free']);
        expect(refused.admission.step).toBe(3);
        await refused.end(['=3', '=4']);
      }
      expect(await session.read()).toMatchObject({ rounds: 2, calls: 2, spent: 0 });
    });

    test('a round too many leaves the streaks as they are', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxRounds: 1 }));
      await session.play({ 'a 1': 'fails' });
      await session.play({ 'a 2': 'fails' });
      expect((await session.read()).tools).toMatchObject([{ name: 'a', streak: { failed: 1 } }]);
    });

    test('a named round counts once, also when it is the last one', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxRounds: 2 }));
      const steps: number[] = [];
      for (const round of ['one', 'one', 'two', 'two', 'one'])
        steps.push((await session.play({ 'a 1': '=1' }, round)).admission.step);
      expect(steps).toEqual([1, 1, 2, 2, 1]);
      expect((await session.begin(['a 1'], 'three')).verdicts).toEqual(['limit: session_rounds, 2']);
      expect((await session.begin(['a 1'])).verdicts).toEqual(['limit: session_rounds, 2']);
    });

    test('a name is good for one lease from its first batch', async () => {
      const subject = createStore(ROOMY);
      const session = createCallSession(subject);
      await session.play({ 'a 1': '=1' }, 'always');
      await subject.age(session.key, 50_000);
      expect((await session.play({ 'a 1': '=1' }, 'always')).admission.step).toBe(1);
      await subject.age(session.key, 20_000);
      expect((await session.play({ 'a 1': '=1' }, 'always')).admission.step).toBe(2);
    });

    test('of the named rounds the latest sixteen are remembered', async () => {
      const session = createCallSession(createStore(ROOMY));
      for (let round = 1; round <= 17; round += 1) await session.play({ 'a 1': '=1' }, `turn_${round}`);
      expect((await session.begin(['a 1'], 'turn_2')).admission.step).toBe(2);
      expect((await session.begin(['a 1'], 'turn_1')).admission.step).toBe(18);
    });

    test('rounds at once are counted one by one', async () => {
      const session = createCallSession(createStore({ ...ROOMY, maxRounds: 100 }));
      const rounds = await Promise.all(Array.from({ length: 120 }, () => session.begin(['a -'])));
      const steps = rounds.map(({ admission }) => admission.step).sort((one, other) => one - other);
      expect(steps.slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, number) => number + 1));
      expect(rounds.flatMap(({ verdicts }) => verdicts).filter((verdict) => verdict !== 'run')).toHaveLength(20);
    });
  });

  describe('limits, calls of a tool', () => {
    const LIMITED = { search: { maxCalls: 2 } };

    test('the first that fit run, and other tools remain', async () => {
      const session = createCallSession(createStore(ROOMY), LIMITED);
      const refused = 'limit: tool_calls, 2';
      const first = await session.begin(['search 1', 'look 1', 'search 2', 'search 3', 'look 2']);
      expect(first.verdicts).toEqual(['run', 'run', 'run', refused, 'run']);
      await first.end(['=1', '=1', '=2', '=3', '=2']);
      expect((await session.begin(['search 4', 'look 3'])).verdicts).toEqual([refused, 'run']);
      expect((await session.read()).tools).toMatchObject([{ name: 'look' }, { name: 'search', calls: 2 }]);
    });

    test('calls that did not run are given back', async () => {
      const session = createCallSession(createStore(ROOMY), LIMITED);
      await (await session.begin(['search 1', 'search 2'])).end(['over', 'over']);
      expect((await session.begin(['search 1', 'search 2'])).verdicts).toEqual(['run', 'run']);
    });

    test('what the guard or the session refuses uses none of them', async () => {
      const looping = createCallSession(createStore(ROOMY), { search: { maxCalls: 3 } });
      await looping.play({ 'search 1': 'fails' });
      await looping.play({ 'search 1': 'fails' });
      const round = await looping.begin(['search 1', 'search 2', 'search 3']);
      expect(round.verdicts).toEqual(['loop: failed, 3', 'run', 'limit: tool_calls, 3']);
      const narrow = createCallSession(createStore({ ...ROOMY, maxCalls: 1 }), LIMITED);
      await narrow.begin(['look 1', 'search 1']);
      expect((await narrow.read()).tools).toEqual([]);
    });

    test('0 lets none run', async () => {
      const session = createCallSession(createStore(ROOMY), { search: { maxCalls: 0 } });
      expect((await session.begin(['search 1'])).verdicts).toEqual(['limit: tool_calls, 0']);
    });
  });

  describe('limits and sizes', () => {
    test('a round of 1 024 calls of 1 024 tools is counted, guarded and given back', {
      timeout: timeLimit(60_000),
    }, async () => {
      const names = Array.from({ length: 1024 }, (_, number) => `tool_${number}`);
      const limits = Object.fromEntries(names.map((name) => [name, { maxCalls: 2 }]));
      const session = createCallSession(createStore({ ...ROOMY, sessionRetries: 4096, maxCalls: 3000 }), limits);
      const calls = names.map((name) => `${name} a`);
      const play = async () => {
        const round = await session.begin(calls);
        await round.end(calls.map((_call, number) => (number === 0 ? 'over' : 'fails')));
        return round.verdicts;
      };
      expect(new Set(await play())).toEqual(new Set(['run']));
      expect(new Set((await play()).slice(1))).toEqual(new Set(['run, failed 1']));
      const third = await session.begin(calls);
      expect(third.verdicts[0]).toBe('run');
      expect(new Set(third.verdicts.slice(1))).toEqual(new Set(['loop: failed, 3']));
      const record = await session.read();
      expect(record).toMatchObject({ rounds: 3, calls: 2047 });
      expect(record.tools).toHaveLength(1024);
    });

    test('a round of 1 024 calls of one tool is counted and written down', { timeout: timeLimit(60_000) }, async () => {
      const session = createCallSession(createStore({ ...ROOMY, journal: 10_000 }), { x: { maxCalls: 1000 } });
      const round = await session.begin(Array.from({ length: 1024 }, (_, number) => `x ${number}`));
      expect(round.verdicts.filter((verdict) => verdict === 'run')).toHaveLength(1000);
      await round.end(
        Array.from({ length: 1024 }, () => '=x' as const),
        Array.from({ length: 1024 }, (_, number) => ({ tool: 'x', json: `{"n":${number}}` })),
      );
      const { journal, tools } = await session.read();
      expect([journal.length, journal[1023], tools[0]?.calls]).toEqual([1024, '{"n":1023,"retries_left":20}', 1000]);
    });
  });
};
