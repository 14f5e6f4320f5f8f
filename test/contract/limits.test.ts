import { codesOf, createActor, fail, freshName, type Lab, startLab } from '@recourse/test-support/keyed-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let redis: RedisForTests;
beforeAll(async () => {
  redis = await redisForTests();
});
afterAll(() => redis.stop());

describe.each(['memory', 'redis'] as const)('limits on %s', (store) => {
  const start = (actors: Parameters<typeof startLab>[0], more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, { ...(store === 'memory' ? {} : { REDIS_URL: redis.url }), ...more });

  const createSession = ({ post }: Lab) => {
    const id = freshName();
    // No two calls are the same: the loop guard is not asked here.
    const send = (...names: readonly string[]) =>
      post({ session_id: id, calls: names.map((name) => ({ name, arguments: { only: freshName() } })) });
    return { id, send, codes: async (...names: readonly string[]) => codesOf(await send(...names)) };
  };

  const OVER = 'call_limit_exceeded';

  test('of a session’s calls the first ones run, in the order of the batch, and every further one is told so', async () => {
    const [look, write] = [createActor('look'), createActor('write', { effects: 'write' })];
    const lab = await start([look, write], { SESSION_MAX_CALLS: '3' });
    const { id, send } = createSession(lab);
    await send('look');
    const { results } = await send('write', 'look', 'write', 'look');
    expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual(['ok', 'ok', OVER, OVER]);
    expect(results[2]).toMatchObject({
      outcome: 'refused',
      executed: 'no',
      message: 'Not executed: this session has used its 3 calls. Use what you have, or say what could not be done.',
    });
    expect(codesOf(await send('look'))).toEqual([OVER]);
    expect([look.asked.length, write.asked.length]).toEqual([2, 1]);
    expect((await lab.session(id)).session).toMatchObject({ calls: 3, max_calls: 3, rounds: 3 });
    expect(await createSession(lab).codes('look')).toEqual(['ok']);
  });

  test('a tool’s own limit holds for it alone; 0 means never', async () => {
    const [few, never, look] = [
      createActor('few', { maxCallsPerSession: 2 }),
      createActor('never', { maxCallsPerSession: 0 }),
      createActor('look'),
    ];
    const lab = await start([few, never, look]);
    const { id, send } = createSession(lab);
    const { results } = await send('few', 'never', 'look', 'few', 'few');
    expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual(['ok', OVER, 'ok', 'ok', OVER]);
    expect(results[1]?.message).toBe(
      "Not executed: 'never' may not be called in this session. Other tools remain available.",
    );
    expect(results[4]?.message).toBe(
      "Not executed: 'few' has used its 2 calls for this session. Other tools remain available.",
    );
    expect(codesOf(await send('few', 'look'))).toEqual([OVER, 'ok']);
    expect([few.asked.length, never.asked.length, look.asked.length]).toEqual([2, 0, 2]);
    const { tools } = await lab.session(id);
    expect(tools.find(({ name }) => name === 'few')).toMatchObject({ calls: 2, max_calls: 2 });
  });

  test('limits of one are told in words, and without a session there are none', async () => {
    const one = createActor('one', { maxCallsPerSession: 1 });
    const lab = await start([one], { SESSION_MAX_CALLS: '1', SESSION_MAX_ROUNDS: '1' });
    const { send } = createSession(lab);
    const { results } = await send('one', 'one');
    expect(results[1]?.message).toBe(
      "Not executed: 'one' has used its one call for this session. Other tools remain available.",
    );
    expect((await send('one')).results[0]?.message).toBe(
      'Not executed: this session has used its one round. Say what was done and what could not be done.',
    );
    for (let time = 0; time < 3; time += 1) expect(codesOf(await lab.post([{ name: 'one' }]))).toEqual(['ok']);
  });

  test('rounds: a named one counts once, however many batches it has, and one too many is not counted', async () => {
    const look = createActor('look');
    const lab = await start([look], { SESSION_MAX_ROUNDS: '2' });
    const id = freshName();
    const send = async (round?: string) =>
      codesOf(
        await lab.post({
          session_id: id,
          round_id: round,
          calls: [{ name: 'look', arguments: { only: freshName() } }],
        }),
      );
    for (let batch = 0; batch < 3; batch += 1) expect(await send('one')).toEqual(['ok']);
    expect(await send()).toEqual(['ok']);
    expect(await send()).toEqual([OVER]);
    expect(await send('two')).toEqual([OVER]);
    expect(await send('one')).toEqual(['ok']);
    expect((await lab.session(id)).session).toMatchObject({ rounds: 2, max_rounds: 2, calls: 5 });
  });

  test('calls that did not run give their place back: bad arguments, refusals, overload', async () => {
    const gate = Promise.withResolvers<void>();
    const look = createActor('look', { maxCallsPerSession: 2, retries: 9 }, () => gate.promise);
    const lab = await start([look], { SESSION_MAX_CALLS: '2', MAX_CONCURRENT_CALLS: '1', MAX_QUEUED_CALLS: '0' });
    const { id, send, codes } = createSession(lab);
    const first = send('look', 'look');
    await expect.poll(() => look.asked).toHaveLength(1);
    gate.resolve();
    expect(codesOf(await first)).toEqual(['ok', 'overloaded']);
    const bad = await lab.post({ session_id: id, calls: [{ name: 'look', arguments: '[1]' }] });
    expect(codesOf(bad)).toEqual(['invalid_arguments']);
    expect(await codes('look')).toEqual(['ok']);
    expect(await codes('look')).toEqual([OVER]);
    expect((await lab.session(id)).session.calls).toBe(2);
  });

  test('a call with bad arguments takes no place from the calls behind it in its batch', async () => {
    const one = createActor('one', { maxCallsPerSession: 1, retries: 9 });
    const look = createActor('look', { retries: 9 });
    const lab = await start([one, look], { SESSION_MAX_CALLS: '2' });
    const calls = ['one', 'look'].flatMap((name) => [{ name, arguments: '[1]' }, { name }]);
    const answer = await lab.post({ session_id: freshName(), calls });
    expect(codesOf(answer)).toEqual(['invalid_arguments', 'ok', 'invalid_arguments', 'ok']);
  });

  test('calls that an earlier failure stopped give their place back', async () => {
    const [bad, look] = [createActor('bad', {}, fail), createActor('look')];
    const lab = await start([bad, look], { SESSION_MAX_CALLS: '3' });
    const { id, codes } = createSession(lab);
    const body = {
      session_id: id,
      order: 'sequential',
      on_error: 'stop',
      calls: [{ name: 'bad' }, { name: 'look' }, { name: 'look' }],
    };
    expect(codesOf(await lab.post(body))).toEqual(['tool_exception', 'not_executed', 'not_executed']);
    expect(await codes('look', 'look')).toEqual(['ok', 'ok']);
    expect(await codes('look')).toEqual([OVER]);
  });

  test('failures that ran, and those that may have, use a call up', async () => {
    const bad = createActor('bad', { retries: 9, timeoutMs: 30 }, ({ slow }) =>
      slow === true ? new Promise(() => undefined) : fail(),
    );
    const lab = await start([bad], { SESSION_MAX_CALLS: '2' });
    const id = freshName();
    const send = async (slow: boolean) =>
      codesOf(await lab.post({ session_id: id, calls: [{ name: 'bad', arguments: { slow } }] }));
    expect([await send(false), await send(true), await send(false)].flat()).toEqual([
      'tool_exception',
      'timeout',
      OVER,
    ]);
  });

  test('unknown names, malformed entries and copies use nothing up, before, between or after calls that run', async () => {
    const look = createActor('look');
    const lab = await start([look], { SESSION_MAX_CALLS: '2' });
    const id = freshName();
    const copy = { id: 'a', name: 'look', arguments: { n: 1 } };
    const calls = [{ name: 'nix' }, 7, copy, copy, { name: 'nix' }, { name: 'look', arguments: { n: 2 } }];
    expect(codesOf(await lab.post({ session_id: id, calls }))).toEqual([
      'unknown_tool',
      'invalid_call',
      'ok',
      'ok',
      'unknown_tool',
      'ok',
    ]);
    expect(look.asked).toHaveLength(2);
    expect((await lab.session(id)).session.calls).toBe(2);
  });

  test('where the calls are used up an unknown name is still told that it is one', async () => {
    const look = createActor('look');
    const lab = await start([look], { SESSION_MAX_CALLS: '1' });
    const { codes } = createSession(lab);
    expect(await codes('look')).toEqual(['ok']);
    expect(await codes('nix')).toEqual(['unknown_tool']);
  });

  test('what a limit refuses costs no retry, and an exhausted tool says that it is exhausted', async () => {
    const bad = createActor('bad', { retries: 1, maxCallsPerSession: 1 }, fail);
    const lab = await start([bad]);
    const { id, send } = createSession(lab);
    await send('bad');
    const refused = await send('bad');
    expect(codesOf(refused)).toEqual([OVER]);
    expect(refused.results[0]?.retry).toMatchObject({ used: 0, remaining: 1 });
    expect((await lab.session(id)).tools[0]).toMatchObject({ failures: 1, used: 0, running: 0, exhausted: false });
    const none = createActor('none', { retries: 0, maxCallsPerSession: 1 }, fail);
    const other = createSession(await start([none]));
    await other.send('none');
    expect(await other.codes('none')).toEqual(['retry_budget_exhausted']);
  });

  test('fifty batches at once run exactly as many calls as the session has', async () => {
    const look = createActor('look', {}, async ({ only }) => only);
    const lab = await start([look], { SESSION_MAX_CALLS: '20' });
    const { id, send } = createSession(lab);
    const answers = await Promise.all(Array.from({ length: 50 }, () => send('look')));
    expect(answers.flatMap(codesOf).filter((code) => code === 'ok')).toHaveLength(20);
    expect(look.asked).toHaveLength(20);
    expect((await lab.session(id)).session.calls).toBe(20);
  });
});
