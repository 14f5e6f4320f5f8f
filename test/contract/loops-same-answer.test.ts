import { codesOf, createActor, warningsOf } from '@recourse/test-support/keyed-client.ts';
import { createLoopSession, useLoopLab } from '@recourse/test-support/loop-lab.ts';
import { describe, expect, test } from 'vitest';

const startLoopLab = useLoopLab();

const SAME = (times: number): string =>
  `Not executed: 'save' was called ${times} times in a row with the same arguments and returned the same answer. Use that answer, or change the arguments.`;

describe.each(['memory', 'redis'] as const)('the same answer on %s', (store) => {
  const start = (actors: Parameters<typeof startLoopLab>[1], more: Readonly<Record<string, string>> = {}) =>
    startLoopLab(store, actors, more);

  test('the same answer is warned of from the third time, and refused from the tenth where the tool changes things', async () => {
    const [save, look] = [
      createActor('save', { effects: 'idempotent' }, () => 'saved'),
      createActor('look', {}, () => 'seen'),
    ];
    const lab = await start([save, look]);
    const { send } = createLoopSession(lab);
    for (let time = 1; time <= 12; time += 1) {
      const { results } = await send({ name: 'save' }, { name: 'look' });
      const warned = time < 3 ? [] : ['identical_call'];
      expect(warningsOf(results[1])).toEqual(warned);
      if (time < 10) expect([results[0]?.success, warningsOf(results[0])]).toEqual([true, warned]);
      else expect(results[0]).toMatchObject({ message: SAME(time), error: { code: 'loop_detected' }, executed: 'no' });
    }
    expect([save.asked.length, look.asked.length]).toEqual([9, 12]);
    save.act(() => 'other');
    expect(codesOf(await send({ name: 'save', arguments: { n: 1 } }))).toEqual(['ok']);
  });

  test('another answer begins to count anew, and a polling tool may give the same one for ever', async () => {
    const [save, poll] = [
      createActor('save', { effects: 'write' }, () => 'saved'),
      createActor('poll', { effects: 'write', polling: true }, () => 'not yet'),
    ];
    const lab = await start([save, poll]);
    const { send } = createLoopSession(lab);
    for (let time = 1; time <= 9; time += 1) await send({ name: 'save' }, { name: 'poll' });
    expect(codesOf(await send({ name: 'save' }, { name: 'poll' }))).toEqual(['loop_detected', 'ok']);
    const other = createLoopSession(lab);
    for (let time = 1; time <= 8; time += 1) await other.send({ name: 'save' });
    save.act(() => 'saved otherwise');
    const ninth = await other.send({ name: 'save' });
    expect([codesOf(ninth), warningsOf(ninth.results[0])]).toEqual([['ok'], []]);
    for (let time = 1; time <= 8; time += 1) expect(await other.codes({ name: 'save' })).toEqual(['ok']);
    for (let time = 1; time <= 12; time += 1) {
      const { results } = await send({ name: 'poll' });
      expect([results[0]?.success, warningsOf(results[0])]).toEqual([true, []]);
    }
  });
});
