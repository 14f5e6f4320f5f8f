import { expect, test } from 'vitest';
import {
  createKeyedBatch,
  createRedisKeyedUnderTest,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toKeyedKey,
  toResult,
} from '#test/support/keyed-stores-under-test.ts';
import { toRedisClient, useRedis } from '#test/support/session-stores-under-test.ts';

const DAY_MS = 86_400_000;

const redis = useRedis();

const createSubject = () => createRedisKeyedUnderTest(toRedisClient(redis()), {});

test.each(['', 'no JSON', '{"index":0', '[]', '"text"', '{"index":0}{}', '{"index":0}\n', '\u0000'])(
  'a committed result that reads %j is one whose call began, and the rest is kept',
  async (garbage) => {
    const { store } = createSubject();
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await redis().hset(toKeyedKey(batch.recordKey), 'result:0', garbage);
    expect(await store.find(batch.requestKey)).toBeNull();
    const record = await hold(store, repeat(batch));
    expect([...record.earlier]).toEqual([
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
  await redis().hset(toKeyedKey(batch.recordKey), 'result:0', 'no JSON');
  expect([...(await hold(store, repeat(batch))).earlier]).toEqual([[0, { state: 'started' }]]);
});

test.each([
  ['body', ''],
  ['life', ''],
  ['fence', 'abc'],
  ['fence', '-1'],
  ['fence', '1e3'],
  ['fence', '0x10'],
  ['fence', '9'.repeat(400)],
])('a record whose %s reads %j begins anew: every call in it is known to have begun', async (field, garbage) => {
  const { store } = createSubject();
  const batch = createKeyedBatch({ calls: 3 });
  const former = await hold(store, batch);
  await former.start(2);
  await former.commit([toFinal(0)]);
  await (garbage === ''
    ? redis().hdel(toKeyedKey(batch.recordKey), field)
    : redis().hset(toKeyedKey(batch.recordKey), field, garbage));
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

test.each(['abc', '', '99999999999999999999', 'nan'])(
  'a lease that reads %j has run out, and its batch goes on unless another takes over',
  async (garbage) => {
    const { store } = createSubject();
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await redis().hset(toKeyedKey(batch.recordKey), 'lease', garbage);
    expect(await record.renew()).toBe('held');
    await redis().hset(toKeyedKey(batch.recordKey), 'lease', garbage);
    await hold(store, repeat(batch));
    expect(await record.renew()).toBe('lost');
  },
);

test('a lease a day ahead has run out: no clock that was set back closes a key for a day', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await hold(store, batch);
  await redis().hset(toKeyedKey(batch.recordKey), 'lease', String(Date.now() + DAY_MS));
  expect(await store.open(repeat(batch))).toMatchObject({ kind: 'held' });
});

test('a lease of a clock that was a second ahead is alive, and for no longer than a lease', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await hold(store, batch);
  await redis().hset(toKeyedKey(batch.recordKey), 'lease', String(Date.now() + 8000));
  expect(await store.open(repeat(batch))).toEqual({ kind: 'in_flight', retryAfterMs: 5000 });
});

test('a record of another type is as if absent', async () => {
  const { store } = createSubject();
  const batch = createKeyedBatch();
  await redis().set(toKeyedKey(batch.recordKey), 'a string');
  const record = await hold(store, batch);
  expect([...record.earlier]).toEqual([]);
  expect(await redis().pttl(toKeyedKey(batch.recordKey))).toBeGreaterThan(0);
});

test.each(['', 'no JSON', '{}', '{"record":1}', '[]', 'null'])(
  'a request that reads %j finds nothing',
  async (text) => {
    const { store } = createSubject();
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await redis().set(`recourse:{${batch.requestKey}}:request`, text);
    expect(await store.find(batch.requestKey)).toBeNull();
  },
);
