import { codesOf, createActor, fail, freshName } from '@recourse/test-support/keyed-client.ts';
import { createLoopSession, useLoopLab } from '@recourse/test-support/loop-lab.ts';
import { describe, expect, test } from 'vitest';
import { RetryableToolError, TerminalToolError } from '#src/tools/tool-errors.ts';

const startLoopLab = useLoopLab();

const LOOP = (times: number): string =>
  `Not executed: 'test' was called ${times} times in a row with the same arguments and failed. Change the arguments or the approach.`;

const MANY = { retries: 50 } as const;

describe.each(['memory', 'redis'] as const)('the loop guard on %s', (store) => {
  const start = (actors: Parameters<typeof startLoopLab>[1], more: Readonly<Record<string, string>> = {}) =>
    startLoopLab(store, actors, more);

  test('a call that failed twice is not run a third time; the count grows, and no retry is spent on it', async () => {
    const tool = createActor('test', { retries: 3 }, fail);
    const lab = await start([tool]);
    const { id, send } = createLoopSession(lab);
    const call = { name: 'test', arguments: { file: 'a' } };
    await send(call);
    const second = await send(call);
    expect(second.results[0]?.retry).toMatchObject({ used: 1, remaining: 2 });
    for (const times of [3, 4, 5, 6]) {
      const { results } = await send(call);
      expect(results[0]).toMatchObject({
        success: false,
        outcome: 'refused',
        executed: 'no',
        message: LOOP(times),
        error: { code: 'loop_detected', fatal: false, retry_after_ms: null },
        retry: { allowed: false, used: 1, remaining: 2 },
      });
    }
    expect(tool.asked).toHaveLength(2);
    expect(await lab.service.metric('recourse_loops_detected_total{tool="test"}')).toBe(4);
    const { tools } = await lab.session(id);
    expect(tools[0]).toMatchObject({ failures: 2, used: 1, running: 0, streak: { failed: 6, same_answer: 0 } });
    // Another approach runs, and was not charged for what was refused.
    tool.act(() => 'well');
    expect(codesOf(await send({ name: 'test', arguments: { file: 'b' } }))).toEqual(['ok']);
  });

  test('bad arguments, what a tool asks to be called otherwise and what it calls pointless count like exceptions', async () => {
    const ends = [
      () => fail(),
      () => {
        throw new RetryableToolError('Say which.');
      },
      () => {
        throw new TerminalToolError('There is none.');
      },
    ];
    for (const end of ends) {
      const tool = createActor('test', MANY, end);
      const lab = await start([tool]);
      const { codes } = createLoopSession(lab);
      await codes({ name: 'test' });
      await codes({ name: 'test' });
      expect(await codes({ name: 'test' })).toEqual(['loop_detected']);
      expect(tool.asked).toHaveLength(2);
    }
  });

  test('time-outs do not count: the budget limits them', async () => {
    const tool = createActor('test', { retries: 4, timeoutMs: 20 }, (_input, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => resolve());
      return promise;
    });
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    for (let time = 0; time < 5; time += 1) expect(await codes({ name: 'test' })).toEqual(['timeout']);
    expect(await codes({ name: 'test' })).toEqual(['retry_budget_exhausted']);
  });

  test('a success of another tool that changes something ends the failures in a row; one of a read does not', async () => {
    const [tool, edit, look] = [
      createActor('test', MANY, fail),
      createActor('edit', { effects: 'write' }),
      createActor('look'),
    ];
    const lab = await start([tool, edit, look]);
    const edits = createLoopSession(lab);
    for (let turn = 0; turn < 6; turn += 1) {
      expect(await edits.codes({ name: 'edit', arguments: { turn } })).toEqual(['ok']);
      expect(await edits.codes({ name: 'test' })).toEqual(['tool_exception']);
    }
    // In one batch as well.
    for (let turn = 0; turn < 4; turn += 1)
      expect(await edits.codes({ name: 'edit', arguments: { both: turn } }, { name: 'test' })).toEqual([
        'ok',
        'tool_exception',
      ]);
    const looks = createLoopSession(lab);
    for (const expected of ['tool_exception', 'tool_exception', 'loop_detected', 'loop_detected']) {
      expect(await looks.codes({ name: 'look', arguments: { expected } })).toEqual(['ok']);
      expect(await looks.codes({ name: 'test' })).toEqual([expected]);
    }
  });

  test('a success of the same tool with other arguments ends only what its round does not repeat', async () => {
    const edit = createActor('edit', { effects: 'write', retries: 50 }, ({ bad }) => (bad === true ? fail() : 'done'));
    const lab = await start([edit]);
    const { codes } = createLoopSession(lab);
    const [good, bad] = [
      { name: 'edit', arguments: { bad: false } },
      { name: 'edit', arguments: { bad: true } },
    ];
    await codes(bad, good);
    await codes(bad, good);
    expect(await codes(bad, good)).toEqual(['loop_detected', 'ok']);
    await codes(good);
    expect(await codes(bad)).toEqual(['tool_exception']);
  });

  test('twice in one batch counts once, and other tools in between change nothing', async () => {
    const [tool, look] = [createActor('test', MANY, fail), createActor('look')];
    const lab = await start([tool, look]);
    const { codes } = createLoopSession(lab);
    const call = { name: 'test' };
    expect(await codes(call, call, call)).toEqual(['tool_exception', 'tool_exception', 'tool_exception']);
    await codes({ name: 'look', arguments: { n: 1 } });
    expect(await codes(call)).toEqual(['tool_exception']);
    await codes({ name: 'look', arguments: { n: 2 } });
    expect(await codes(call, call)).toEqual(['loop_detected', 'loop_detected']);
  });

  test('a round of the tool without the call, and another outcome of it, begin anew; a, b, a, b passes', async () => {
    const tool = createActor('test', MANY, fail);
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    const [a, b] = [
      { name: 'test', arguments: { n: 'a' } },
      { name: 'test', arguments: { n: 'b' } },
    ];
    for (let turn = 0; turn < 5; turn += 1)
      for (const call of [a, b]) expect(await codes(call)).toEqual(['tool_exception']);
    await codes(a);
    tool.act(() => 'well');
    expect(await codes(a)).toEqual(['ok']);
    tool.act(fail);
    expect([await codes(a), await codes(a), await codes(a)].flat()).toEqual([
      'tool_exception',
      'tool_exception',
      'loop_detected',
    ]);
  });

  test('a tool without retries left says so also of a call that the guard would refuse', async () => {
    const tool = createActor('test', { retries: 1 }, fail);
    const lab = await start([tool]);
    const { codes } = createLoopSession(lab);
    await codes({ name: 'test' });
    await codes({ name: 'test' });
    expect(await codes({ name: 'test' })).toEqual(['retry_budget_exhausted']);
  });

  test('beside a call that loops another one of its tool runs, and it alone takes the retry', async () => {
    const tool = createActor('test', { retries: 3 }, fail);
    const lab = await start([tool]);
    const { send } = createLoopSession(lab);
    await send({ name: 'test' });
    await send({ name: 'test' });
    const mixed = await send({ name: 'test' }, { name: 'test', arguments: { n: 1 } });
    expect(codesOf(mixed)).toEqual(['loop_detected', 'tool_exception']);
    expect(mixed.results[1]?.retry).toMatchObject({ used: 2, remaining: 1 });
    expect(tool.asked).toHaveLength(3);
  });

  test('unknown names, and batches without a session, are not guarded', async () => {
    const tool = createActor('test', { retries: 0 }, fail);
    const lab = await start([tool]);
    for (let time = 0; time < 4; time += 1)
      expect(codesOf(await lab.post([{ name: 'test' }]))).toEqual(['tool_exception']);
    const { codes } = createLoopSession(lab);
    for (let time = 0; time < 4; time += 1) expect(await codes({ name: 'nix' })).toEqual(['unknown_tool']);
    expect(await codes({ name: 'nix' })).toEqual(['retry_budget_exhausted']);
  });

  test('batches of one named round count once', async () => {
    const tool = createActor('test', MANY, fail);
    const lab = await start([tool]);
    const id = freshName();
    const send = async (turn: string) =>
      codesOf(await lab.post({ session_id: id, round_id: turn, calls: [{ name: 'test' }] }));
    for (const turn of ['one', 'one', 'one', 'two', 'two']) expect(await send(turn)).toEqual(['tool_exception']);
    expect(await send('three')).toEqual(['loop_detected']);
  });
});
