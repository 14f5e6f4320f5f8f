import {
  createKeyedBatch,
  createRedisKeyedUnderTest,
  findWhole,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toKeyedKey,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import type { KeyedBatch } from '#src/executor/idempotency-store.ts';

const DAY_MS = 86_400_000;

const redis = useRedis();

/** Writes a field as no store does, under a version of its own, so that it is read again. */
const damage = async ({ recordKey }: KeyedBatch, field: string, text: string): Promise<void> => {
  await redis().hset(toKeyedKey(recordKey), { [field]: text, v: 'damaged' });
};

const createSubject = () => createRedisKeyedUnderTest(toRedisClient(redis()), {});

test.each(['', 'no JSON', '{"index":0', '[]', '"text"', '{"index":0}{}', '{"index":0}\n', '\u0000'])(
  'a committed result that reads %j is one whose call began, and the rest is kept',
  async (garbage) => {
    const { store } = createSubject();
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await damage(batch, 'r:0', garbage);
    expect(await findWhole(store, batch.requestKey)).toBeNull();
    const record = await hold(store, repeat(batch));
    expect([...record.earlier].toSorted()).toEqual([
      [0, { state: 'started' }],
      [1, { state: 'committed', result: toResult(1, 1) }],
    ]);
    expect(await record.commit([toFinal(0, 'unknown')])).toBe('held');
    expect(await replay(store, batch)).toEqual([toResult(0, 'unknown'), toResult(1, 1)]);
  },
);

test('a result that reads wrong in a record that is not complete is one whose call began', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await record.commit([toFinal(0)]);
  await damage(batch, 'r:0', 'no JSON');
  expect([...(await hold(store, repeat(batch))).earlier]).toEqual([[0, { state: 'started' }]]);
});

test.each([
  '',
  'abc',
  '2 life holder - 0 9999999999999 body',
  '1 life holder - 1e3 9999999999999 body',
  '1 life holder - 0 99999999999999999999 body',
])('a record whose head reads %j begins anew: every call in it is known to have begun', async (garbage) => {
  const { store } = createSubject();
  const batch = createKeyedBatch({ calls: 3 });
  const former = await hold(store, batch);
  await former.start(2);
  await former.commit([toFinal(0)]);
  await damage(batch, 'h', garbage);
  expect(await former.renew()).toBe('lost');
  const record = await hold(store, repeat(batch));
  expect([...record.earlier].toSorted()).toEqual([
    [0, { state: 'started' }],
    [2, { state: 'started' }],
  ]);
  expect(await former.commit([toFinal(0, 'former')])).toBe('lost');
  expect(await record.commit([toFinal(0), toFinal(1), toFinal(2)])).toBe('held');
  expect(await replay(store, batch)).toHaveLength(3);
  expect(await redis().pttl(toKeyedKey(batch.recordKey))).toBeGreaterThan(0);
});

/** Moves the end of the lease that the record tells. */
const moveLease = async (batch: KeyedBatch, leaseEndsAt: number): Promise<void> => {
  const head = (await redis().hget(toKeyedKey(batch.recordKey), 'h')) ?? '';
  const words = head.split(' ');
  words[4] = String(leaseEndsAt);
  await damage(batch, 'h', words.join(' '));
};

test('a lease a day ahead has run out: no clock that was set back closes a key for a day', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await hold(store, batch);
  await moveLease(batch, Date.now() + DAY_MS);
  expect(await store.open(repeat(batch))).toMatchObject({ kind: 'held' });
});

test('a lease of a clock that was a second ahead is alive, and for no longer than a lease', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await hold(store, batch);
  await moveLease(batch, Date.now() + 8000);
  expect(await store.open(repeat(batch))).toEqual({ kind: 'in_flight', retryAfterMs: 5000 });
});

test.each(['', 'no JSON', '{}', '{"record":1}', '[]', 'null'])(
  'a request that reads %j finds nothing',
  async (text) => {
    const { store } = createSubject();
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await redis().hset(`recourse2:{${batch.requestKey}}:answer`, 'a', text);
    expect(await findWhole(store, batch.requestKey)).toBeNull();
  },
);
