import { ROOMY } from '@recourse/test-support/budget-session.ts';
import { type CallSession, createCallSession } from '@recourse/test-support/call-session.ts';
import type { CreateStoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const SETTINGS = { ...ROOMY, sessionRetries: 4, journal: 10 };
const TOOLS = { x: { retries: 2 }, y: { retries: 2, effects: 'write', maxCalls: 9 } } as const;

const exhaust = async (session: CallSession, tool: string): Promise<void> => {
  for (const args of ['1', '2', '3']) await session.play({ [`${tool} ${args}`]: 'fails' });
};

/** Reading, resetting and ending a session. */
export const describeSessionRecords = (createStore: CreateStoreUnderTest): void => {
  describe('reading a session', () => {
    test('one that was never seen is empty, and no error', async () => {
      const subject = createStore(SETTINGS);
      expect(await createCallSession(subject).read()).toEqual({
        mode: subject.mode,
        rounds: 0,
        calls: 0,
        spent: 0,
        tools: [],
        journal: [],
      });
    });

    test('it tells rounds, calls, what is spent, and of each tool what is remembered, by name', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'y 1': 'fails', 'x 1': 'fails', 'clean -': '=1' });
      await session.play({ 'y 2': 'fails' });
      await session.begin(['x 2']);
      await subject.age(session.key, 5_000);
      const record = await session.read();
      expect(record).toMatchObject({ mode: subject.mode, rounds: 3, calls: 5, spent: 2 });
      expect(record.tools.map(({ failedAgoMs, ...tool }) => tool)).toEqual([
        { name: 'x', failures: 1, used: 0, open: 1, lastError: 'failed', calls: 0, streak: { failed: 1, same: 0 } },
        { name: 'y', failures: 2, used: 1, open: 0, lastError: 'failed', calls: 2, streak: { failed: 1, same: 0 } },
      ]);
      for (const { failedAgoMs } of record.tools) expect(failedAgoMs).toBeGreaterThanOrEqual(5_000);
    });

    test('a tool that goes well again has no failure standing; its highest streak is told', async () => {
      const session = createCallSession(createStore(SETTINGS));
      await session.play({ 'x 1': 'fails' });
      for (let round = 0; round < 3; round += 1) await session.play({ 'x 1': '=1', 'x 2': `=${round}` });
      expect((await session.read()).tools).toEqual([
        {
          name: 'x',
          failures: 0,
          used: 0,
          open: 0,
          failedAgoMs: null,
          lastError: '',
          calls: 0,
          streak: { failed: 0, same: 3 },
        },
      ]);
    });

    test('a retry whose lease is over is lost, and no longer running', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject);
      await session.play({ 'x 1': 'fails' });
      await session.begin(['x 2']);
      await subject.age(session.key, 70_000);
      const record = await session.read();
      expect([record.spent, record.tools[0]?.open]).toEqual([1, 0]);
    });

    test('it changes nothing', async () => {
      const session = createCallSession(createStore(SETTINGS), TOOLS);
      await session.play({ 'x 1': 'fails', 'y 1': '=1' });
      const [one, other] = [await session.read(), await session.read()];
      expect(other.tools.map(({ failedAgoMs, ...tool }) => tool)).toEqual(
        one.tools.map(({ failedAgoMs, ...tool }) => tool),
      );
      expect((await session.begin(['x 2', 'y 2'])).decisions).toEqual(['retry', 'free']);
    });
  });

  describe('resetting', () => {
    test('one tool: it is fresh, its retries are back with the session, other tools are as they were', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await exhaust(session, 'x');
      await exhaust(session, 'y');
      expect((await session.begin(['x 4', 'y 4'])).decisions).toEqual(['tool', 'tool']);
      await subject.store.reset(session.key, 'x');
      expect((await session.read()).spent).toBe(2);
      const round = await session.begin(['x 3', 'y 3']);
      expect([round.decisions, round.verdicts]).toEqual([
        ['free', 'tool'],
        ['run', 'run'],
      ]);
      expect(round.admission.permits.get('x')).toMatchObject({ budget: { failures: 0, used: 0, remaining: 2 } });
    });

    test('it ends failures in a row, and leaves equal answers and counts of calls', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'x 1': 'fails', 'x 2': '=2', 'y 1': '=1' });
      await session.play({ 'x 1': 'fails', 'x 2': '=2', 'y 1': '=1' });
      await subject.store.reset(session.key, 'x');
      expect((await session.begin(['x 1', 'x 2', 'y 1'])).verdicts).toEqual(['run', 'run, same 2', 'run, same 2']);
      expect(await session.read()).toMatchObject({ rounds: 3, calls: 9 });
    });

    test('the streaks of other tools stay', async () => {
      const subject = createStore(ROOMY);
      const session = createCallSession(subject);
      for (let round = 0; round < 2; round += 1) await session.play({ 'x 1': 'fails', 'z 1': 'fails' });
      await subject.store.reset(session.key, 'x');
      expect((await session.begin(['x 1', 'z 1'])).verdicts).toEqual(['run', 'loop: failed, 3']);
    });

    test('all tools: every one is fresh, and what the session has lost is back', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'x 1': 'fails' });
      await session.begin(['x 2']);
      await subject.age(session.key, 70_000);
      await exhaust(session, 'y');
      expect((await session.read()).spent).toBe(3);
      await subject.store.reset(session.key, null);
      const record = await session.read();
      expect([record.spent, record.tools.filter(({ failures }) => failures > 0)]).toEqual([0, []]);
      expect((await session.begin(['x 1', 'y 1'])).decisions).toEqual(['free', 'free']);
    });

    test('a retry that runs meanwhile goes on, and counts when it ends', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'x 1': 'fails' });
      const running = await session.begin(['x 2']);
      await subject.store.reset(session.key, null);
      expect((await session.read()).tools[0]).toMatchObject({ failures: 0, open: 1 });
      expect((await running.end(['fails'])).get('x')).toMatchObject({ failures: 1, used: 1, remaining: 1 });
    });

    test('in the midst of a named round it ends the failures counted so far', async () => {
      const subject = createStore(ROOMY);
      const session = createCallSession(subject);
      await session.play({ 'x 1': 'fails' }, 'one');
      await session.play({ 'x 1': 'fails' }, 'two');
      await subject.store.reset(session.key, 'x');
      expect((await session.begin(['x 1'], 'three')).verdicts).toEqual(['run']);
    });

    test('the bucket of unknown names has its own', async () => {
      const subject = createStore(ROOMY);
      const session = createCallSession(subject, { _unknown: { retries: 0 } });
      await session.play({ '_unknown -': 'fails' });
      expect((await session.begin(['_unknown -'])).decisions).toEqual(['tool']);
      await subject.store.reset(session.key, '_unknown');
      expect((await session.begin(['_unknown -'])).decisions).toEqual(['free']);
    });

    test('a session or a tool that was never seen is no error, and is not made by it', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject);
      await subject.store.reset(session.key, null);
      await subject.store.reset(session.key, 'x');
      await session.play({ 'y 1': 'fails' });
      await subject.store.reset(session.key, 'x');
      expect((await session.read()).tools).toMatchObject([{ name: 'y', failures: 1 }]);
    });
  });

  describe('ending a session', () => {
    test('nothing is left of it', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await exhaust(session, 'x');
      await (await session.begin(['y 1'])).end(['=1'], [{ tool: null, json: '{"n":1}' }]);
      await subject.store.end(session.key);
      expect(await session.read()).toEqual({
        mode: subject.mode,
        rounds: 0,
        calls: 0,
        spent: 0,
        tools: [],
        journal: [],
      });
      const round = await session.begin(['x 1']);
      expect([round.decisions, round.admission.step]).toEqual([['free'], 1]);
    });

    test('what still runs in it settles nowhere', async () => {
      const subject = createStore(SETTINGS);
      const session = createCallSession(subject, TOOLS);
      await session.play({ 'x 1': 'fails' });
      const running = await session.begin(['x 2', 'y 1']);
      await subject.store.end(session.key);
      await running.end(['fails', 'over'], [{ tool: 'x', json: '{"n":1}' }]);
      await running.admission.addLate('{"late":1}');
      expect(await session.read()).toMatchObject({ rounds: 0, calls: 0, tools: [], journal: [] });
      await session.play({ 'x 1': 'fails' });
      await running.end(['fails', 'over'], [{ tool: 'x', json: '{"n":1}' }]);
      expect(await session.read()).toMatchObject({
        rounds: 1,
        calls: 1,
        tools: [{ failures: 1, used: 0 }],
        journal: [],
      });
    });

    test('ending one that was never seen is no error', async () => {
      const subject = createStore(SETTINGS);
      await expect(subject.store.end('tenant:never-seen')).resolves.toBeUndefined();
    });
  });
};
