import {
  createKeyedBatch,
  hold,
  repeat,
  replay,
  runWhole,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { openRedisRecords } from '@recourse/test-support/record-stores-under-test.ts';
import { createSealing, ROTATION } from '@recourse/test-support/sealing.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import type { IdempotencyStore, KeyedBatch } from '#src/executor/idempotency-store.ts';
import { createIdempotencyStore } from '#src/sessions/idempotency/idempotency-store.ts';
import { NO_SEALING, type Sealing } from '#src/store/seals.ts';

const redis = useRedis();

/** A process of its own that looks records up by the names of these keys. */
const createReplica = ({ seals }: Pick<Sealing, 'seals'>): IdempotencyStore => {
  const [store] = openRedisRecords([redis()]).stores;
  if (store === undefined) throw new Error('There is one.');
  return createIdempotencyStore({ store, durability: 'durable', toNames: seals.toNames });
};

/** The first roll-out, a rotation to a key whose id comes after the old one, and one whose id comes before it. */
const SEQUENCES = {
  'the first roll-out': [NO_SEALING, createSealing(['k1'], 'optional'), createSealing(['k1'])],
  'a rotation': ROTATION.map((ids) => createSealing(ids)),
  'a rotation to an id that sorts first': [['k2'], ['k2', 'k1'], ['k1', 'k2'], ['k1']].map((ids) => createSealing(ids)),
} as const;

const STEPS = Object.entries(SEQUENCES).flatMap(([sequence, sealings]) =>
  sealings.slice(1).map((to, step) => ({ title: `${step + 1} of ${sequence}`, from: sealings[step] ?? to, to })),
);

test.each(STEPS)(
  'beside each other in step $title, of replicas that open a key at once one holds it',
  async ({ from, to }) => {
    const replicas = [createReplica(from), createReplica(to), createReplica(from), createReplica(to)];
    for (let run = 0; run < 60; run += 1) {
      const batch = createKeyedBatch();
      const openings = await Promise.all(replicas.map((store) => store.open(repeat(batch))));
      const held = openings.flatMap((opening) => (opening.kind === 'held' ? [opening.record] : []));
      expect(openings.map(({ kind }) => kind).toSorted()).toEqual(['held', 'in_flight', 'in_flight', 'in_flight']);
      await held[0]?.commit([0, 1].map(toFinalOf));
      for (const store of replicas) expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
    }
  },
);

const toFinalOf = (index: number) => ({ index, result: toResult(index, index), kind: 'final' }) as const;

test.each(STEPS)(
  'beside each other in step $title, what one keeps the other finds, also by the id of its request',
  async ({ from, to }) => {
    for (const [writer, reader] of [
      [createReplica(from), createReplica(to)],
      [createReplica(to), createReplica(from)],
    ]) {
      if (writer === undefined || reader === undefined) throw new Error('There are two.');
      const batch = createKeyedBatch();
      await runWhole(writer, batch);
      expect(await replay(reader, batch)).toHaveLength(2);
      expect(await reader.find(batch.requestKey)).toEqual(await writer.find(batch.requestKey));
      expect(await reader.find(batch.requestKey)).not.toBeNull();
      // A write that began and whose process died is never run again.
      const dying: KeyedBatch = createKeyedBatch();
      await (await hold(writer, dying)).start(0);
      expect((await reader.open(repeat(dying))).kind).toBe('in_flight');
    }
  },
);

test('a key that was made while a rotation lasted is found when the old key is gone', async () => {
  const both = createReplica(createSealing(['k2', 'k1']));
  const batch = createKeyedBatch();
  await runWhole(both, batch);
  expect(await replay(createReplica(createSealing(['k2'])), batch)).toHaveLength(2);
});

test('a replica that died before its record had all its names holds nothing back', async () => {
  const { seals } = createSealing(['k1', 'k2']);
  const batch = createKeyedBatch();
  const [first = ''] = seals.toNames(batch.recordKey);
  // It had the first name alone.
  const dead = createReplica({ seals: { ...seals, toNames: () => [first] } });
  await hold(dead, batch);
  const record = await hold(createReplica(createSealing(['k2'])), repeat(batch));
  await record.commit([0, 1].map(toFinalOf));
  await redis().hset(`recourse2:{${first}}:keyed`, 'v', 'another writer');
  await redis().del(`recourse2:{${first}}:keyed`);
  expect(await replay(createReplica({ seals }), batch)).toHaveLength(2);
});

test('with a key of the store a name follows from nothing that is in Redis, and without one not from the key as it was sent', async () => {
  await redis().flushall();
  const batch = createKeyedBatch({ recordKey: 'tenant:digest-of-the-key' });
  await runWhole(createReplica(createSealing(['k1'])), batch);
  for (const key of await redis().keys('*')) {
    expect(key).not.toContain('digest-of-the-key');
    expect(JSON.stringify(await redis().hgetall(key))).not.toContain('digest-of-the-key');
  }
});
