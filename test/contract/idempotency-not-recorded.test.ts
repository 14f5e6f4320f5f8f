import { postTurn } from '@recourse/test-support/dialect-client.ts';
import { codesOf, createActor, freshName, warningsOf } from '@recourse/test-support/keyed-client.ts';
import { startWiredLab } from '@recourse/test-support/start-wired-lab.ts';
import { expect, test } from 'vitest';
import type { Stores } from '#src/wiring/wire-store.ts';

/** Stores that open a record and then lose it before the results are in. */
const loseCommits = (stores: Stores): Stores => ({
  ...stores,
  keys: {
    ...stores.keys,
    open: async (batch) => {
      const opening = await stores.keys.open(batch);
      if (opening.kind !== 'held') return opening;
      return { ...opening, record: { ...opening.record, commit: async () => Promise.reject(new Error('away')) } };
    },
  },
});

test('results that could not be kept are answered all the same, and say that a repeat may not give them', async () => {
  const write = createActor('write', { effects: 'write' }, () => 'written');
  const { post } = await startWiredLab([write], { wrapStores: loseCommits });
  const key = freshName();
  const answer = await post([{ name: 'write' }], { key });
  expect(codesOf(answer)).toEqual(['ok']);
  expect(warningsOf(answer.results[0])).toContain('idempotency_not_recorded');
  expect(answer.results[0]).toMatchObject({ value: 'written', executed: 'yes' });
  expect(write.asked).toHaveLength(1);
});

test('a call whose id is its key says that its result could not be kept, and the reads beside it do not', async () => {
  const [write, look] = [createActor('write', { effects: 'write' }), createActor('look')];
  const { post } = await startWiredLab([write, look], { wrapStores: loseCommits });
  const calls = [
    { id: 'a', name: 'write' },
    { id: 'b', name: 'look' },
  ];
  const answer = await post({ session_id: freshName(), idempotency: 'call_id', calls });
  expect(codesOf(answer)).toEqual(['ok', 'ok']);
  expect(answer.results.map(warningsOf)).toEqual([
    ['idempotency_not_durable', 'idempotency_not_recorded'],
    ['idempotency_not_durable'],
  ]);
});

test('a streamed result of a call whose id is its key says so, too, though others of its batch still run', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const write = createActor('write', { effects: 'write' });
  const waits = createActor('waits', {}, () => promise);
  const lab = await startWiredLab([write, waits], { wrapStores: loseCommits });
  const body = { calls: [{ id: 'a', name: 'write' }, { name: 'waits' }] };
  const query = `?session_id=${freshName()}&idempotency=call_id`;
  const answer = postTurn(lab, body, query, { accept: 'application/x-ndjson' });
  await expect.poll(() => waits.asked).toHaveLength(1);
  resolve();
  const results = (await answer).body.split('\n').filter((line) => line.startsWith('{"event":"result"'));
  // The read is told as it ends, the write when its result has been kept, or could not be.
  expect(results.map((line) => line.includes('idempotency_not_recorded'))).toEqual([false, true]);
});
