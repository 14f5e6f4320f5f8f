import { createActor, freshName } from '@recourse/test-support/keyed-client.ts';
import { createHeldTool, createPendingClient } from '@recourse/test-support/pending-client.ts';
import { startWiredLab } from '@recourse/test-support/start-wired-lab.ts';
import { describe, expect, test } from 'vitest';
import type { Stores } from '#src/wiring/wire-store.ts';
import { handleOf, outcomesOf, usePendingLab, valuesOf } from './pending-lab.ts';

const startOn = usePendingLab();

const WRITE = { effects: 'write' } as const;

const toBody = (session: string, ...calls: readonly object[]) => ({
  session_id: session,
  idempotency: 'call_id',
  calls,
});
const building = (id: string, n = 1) => ({ id, name: 'build', arguments: { n } });

describe.each(['memory', 'redis'] as const)('pending calls whose ids are keys, on %s', (store) => {
  test('a pending call sent again by its id is found, asked for or not, and is run once', async () => {
    const build = createHeldTool('build', WRITE);
    const { begin, ask, finish } = await startOn(store, [build, createActor('look')]);
    const id = freshName();
    const first = await begin(toBody(id, building('a')));
    expect(first.status).toBe(202);
    await build.begun();
    const again = await begin(toBody(id, { id: 'b', name: 'look' }, building('a')));
    const direct = await ask('/tool-calls', { method: 'POST', body: toBody(id, building('a')) });
    expect([again.status, direct.status]).toEqual([202, 202]);
    expect([handleOf(again, 1), handleOf(direct)]).toEqual([handleOf(first), handleOf(first)]);
    expect(again.results[1]).toMatchObject({ index: 1, id: 'a', replayed: true });
    build.release();
    for (const { requestId } of [first, again, direct]) {
      const end = await finish(requestId);
      expect(end.status).toBe(200);
      expect(valuesOf(end).at(-1)).toBe('build done');
    }
    const ended = await ask('/tool-calls', {
      method: 'POST',
      body: toBody(id, { id: 'c', name: 'look' }, building('a')),
    });
    expect(ended.status).toBe(200);
    expect(ended.results[1]).toMatchObject({ index: 1, id: 'a', value: 'build done', replayed: true });
    expect(build.asked).toHaveLength(1);
  });

  test('a call that ran in its request is replayed to a caller that would not wait for it', async () => {
    const build = createActor('build', { background: 'optional', ...WRITE });
    const { begin, ask } = await startOn(store, [build]);
    const id = freshName();
    await ask('/tool-calls', { method: 'POST', body: toBody(id, building('a')) });
    const again = await begin(toBody(id, building('a')));
    expect([again.status, again.results[0]?.replayed, valuesOf(again)]).toEqual([200, true, [{ n: 1 }]]);
    expect(build.asked).toHaveLength(1);
  });

  test('a pending id with other arguments is invalid_call, and what is sent beside it is accepted', async () => {
    const build = createHeldTool('build', WRITE);
    const { begin, finish } = await startOn(store, [build]);
    const id = freshName();
    await begin(toBody(id, building('a')));
    const changed = await begin(toBody(id, building('a', 2), building('b', 3)));
    expect(outcomesOf(changed)).toEqual(['invalid_call', 'pending']);
    build.release();
    expect(outcomesOf(await finish(changed.requestId))).toEqual(['invalid_call', 'success']);
    expect(build.asked).toEqual([{ n: 1 }, { n: 3 }]);
  });

  test('requests that bring a new id at once accept one call', async () => {
    const build = createHeldTool('build', WRITE);
    const { begin } = await startOn(store, [build]);
    const id = freshName();
    const answers = await Promise.all([1, 2, 3, 4].map(() => begin(toBody(id, building('a')))));
    expect(new Set(answers.map((answer) => handleOf(answer))).size).toBe(1);
    expect(answers.filter(({ results }) => results[0]?.replayed === true)).toHaveLength(3);
    build.release();
  });
});

/** Stores in which the first result of a call is not kept, as if its request had died once the call was accepted. */
const loseFirstResult = (stores: Stores): Stores => {
  let isLost = false;
  const open: Stores['keys']['open'] = async (batch) => {
    const opening = await stores.keys.open(batch);
    if (opening.kind !== 'held' || batch.requestKey !== '' || isLost) return opening;
    isLost = true;
    const { record } = opening;
    return { ...opening, record: { ...record, commit: () => record.commit([]) } };
  };
  return { ...stores, keys: { ...stores.keys, open } };
};

test('a call that was accepted by a request which died is found by its id in another place, and not accepted again', async () => {
  const build = createHeldTool('build', WRITE);
  const { url } = await startWiredLab([build], { wrapStores: loseFirstResult });
  const { begin } = createPendingClient(url);
  const id = freshName();
  expect(outcomesOf(await begin(toBody(id, building('a'))))).toEqual(['pending']);
  await build.begun();
  build.release();
  await expect
    .poll(async () => (await begin(toBody(id, { id: 'b', name: 'nix' }, building('a')))).results[1])
    .toMatchObject({
      ...{ index: 1, id: 'a', value: 'build done', replayed: true },
    });
  expect(build.asked).toHaveLength(1);
});

test('a tool is told a key of each call, which says nothing of session and id', async () => {
  const heard: (string | null)[] = [];
  const build = createActor('build', { background: 'optional', ...WRITE }, (_input, { idempotencyKey }) => {
    heard.push(idempotencyKey);
    return 1;
  });
  const { begin, ask } = await startOn('memory', [build]);
  const id = freshName();
  await begin(toBody(id, building('a')), { wait: 10 });
  await ask('/tool-calls', { method: 'POST', body: toBody(id, { id: 'x', name: 'nix' }, building('b', 2)) });
  await ask('/tool-calls', { method: 'POST', body: toBody(freshName(), building('a')) });
  expect(heard).toHaveLength(3);
  expect(new Set(heard).size).toBe(3);
  for (const key of heard) expect(key).toMatch(/^[0-9a-f]{64}$/);
});
