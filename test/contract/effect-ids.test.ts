import { hash } from 'node:crypto';
import { createActor, fail, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { expect, test } from 'vitest';

const WRITE = { effects: 'write' } as const;
const EFFECT_ID = /^e_[\w-]{22}$/;

const createHearing = () => {
  const heard: string[] = [];
  const pay = createActor('pay', WRITE, (_input, { effectId }) => {
    heard.push(effectId);
    return fail();
  });
  return { heard, pay };
};

test('each call without a key has an effect id of its own, which its failure and its line in the journal name', async () => {
  const { heard, pay } = createHearing();
  const { post, session } = await startLab([pay, createActor('book', WRITE), createActor('look')], {});
  const id = freshName();
  const { results } = await post({ session_id: id, calls: [{ name: 'pay' }, { name: 'book' }, { name: 'look' }] });
  const [effectId = ''] = heard;
  expect(effectId).toMatch(EFFECT_ID);
  expect(results[0]).toMatchObject({ executed: 'maybe', error: { effect_id: effectId } });
  await post([{ name: 'pay' }]);
  expect(new Set(heard).size).toBe(2);
  const lines = (await session(id)).calls.map((call: object) => ('effect_id' in call ? call.effect_id : null));
  expect(lines).toEqual([effectId, expect.stringMatching(EFFECT_ID), null]);
});

test('what went well alone in its round has its effect id in the journal, too', async () => {
  const { post, session } = await startLab([createActor('book', WRITE)], {});
  const id = freshName();
  await post({ session_id: id, calls: [{ name: 'book' }] });
  expect((await session(id)).calls[0]).toMatchObject({ success: true, effect_id: expect.stringMatching(EFFECT_ID) });
});

test('under a key it follows from tenant, key and place, in every process', async () => {
  const { heard, pay } = createHearing();
  const { post } = await startLab([pay], {});
  const key = freshName();
  const calls = [{ name: 'pay', arguments: { n: 1 } }, 7, { name: 'pay', arguments: { n: 2 } }];
  const first = await post(calls, { key });
  const toId = (index: number): string =>
    `e_${hash('sha256', JSON.stringify(['recourse-effect-1', 'anonymous', key, index]), 'base64url').slice(0, 22)}`;
  expect(heard).toEqual([toId(0), toId(2)]);
  const repeat = await post(calls, { key });
  for (const { results } of [first, repeat]) {
    expect(results[0]).toMatchObject({ error: { effect_id: toId(0) } });
    expect(results[2]).toMatchObject({ error: { effect_id: toId(2) } });
    expect(results[1]).not.toHaveProperty('error.effect_id');
  }
});

test('where ids are keys it is that of the call wherever it stands', async () => {
  const { heard, pay } = createHearing();
  const { post } = await startLab([pay, createActor('look')], {});
  const id = freshName();
  const call = { id: 'call-1', name: 'pay' };
  const body = { session_id: id, idempotency: 'call_id' };
  await post({ ...body, calls: [call] });
  const repeat = await post({ ...body, calls: [{ id: 'call-2', name: 'look' }, call] });
  expect(heard).toHaveLength(1);
  expect(repeat.results[1]).toMatchObject({ replayed: true, error: { effect_id: heard[0] } });
});

test('a call that is copied in its batch has the effect id of the one that ran', async () => {
  const { heard, pay } = createHearing();
  const { post } = await startLab([pay], {});
  const call = { id: 'a', name: 'pay' };
  const { results } = await post([call, call]);
  expect(heard).toHaveLength(1);
  for (const result of results) expect(result).toMatchObject({ error: { effect_id: heard[0] } });
});
