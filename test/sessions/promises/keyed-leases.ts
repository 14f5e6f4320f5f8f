import {
  type CreateKeyedStoreUnderTest,
  createKeyedBatch,
  findWhole,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toRepeatable,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { expect, test } from 'vitest';
import type { LeasedRecord } from '#src/executor/idempotency-store.ts';

const expectLost = async (record: LeasedRecord): Promise<void> => {
  expect(await record.start(1)).toBe('lost');
  expect(await record.renew()).toBe('lost');
  expect(await record.commit([toFinal(0, 'late'), toFinal(1, 'late')])).toBe('lost');
  await record.amend(0, toResult(0, 'late'));
};

/** Who holds a record: one, for as long as it says so, and never again once another has taken over. */
export const describeKeyedLeases = (createStore: CreateKeyedStoreUnderTest): void => {
  test('of fifty that open a key at once exactly one holds it', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const openings = await Promise.all(Array.from({ length: 50 }, () => store.open(repeat(batch))));
    expect(openings.filter(({ kind }) => kind === 'held')).toHaveLength(1);
    expect(openings.filter(({ kind }) => kind === 'in_flight')).toHaveLength(49);
  });

  test('a batch whose lease was taken over can neither begin a call nor renew, commit or amend', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const first = await hold(store, batch);
    await first.start(0);
    await lapse(batch.recordKey);
    const second = await hold(store, repeat(batch));
    await expectLost(first);
    expect(await second.commit([toFinal(0, 'ours'), toFinal(1, 'ours')])).toBe('held');
    await expectLost(first);
    expect(await replay(store, batch)).toEqual([toResult(0, 'ours'), toResult(1, 'ours')]);
  });

  test('what a batch was answered whose lease was taken over is found under its request, and under no other', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const first = await hold(store, batch);
    await lapse(batch.recordKey);
    const again = repeat(batch);
    const second = await hold(store, again);
    expect(await first.commit([toFinal(0, 'late'), toRepeatable(1)])).toBe('lost');
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 'late'), toRepeatable(1).result]);
    await second.commit([toFinal(0, 'ours'), toFinal(1, 'ours')]);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 'late'), toRepeatable(1).result]);
    expect(await findWhole(store, again.requestKey)).toEqual([toResult(0, 'ours'), toResult(1, 'ours')]);
  });

  test('what a batch is refused to begin leaves no mark', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const first = await hold(store, batch);
    await lapse(batch.recordKey);
    const second = await hold(store, repeat(batch));
    expect(await first.start(1)).toBe('lost');
    await second.commit([]);
    expect([...(await hold(store, repeat(batch))).earlier]).toEqual([]);
  });

  test('a lease that ran out and that nobody took is renewed by beginning a call', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await lapse(batch.recordKey);
    expect(await record.start(0)).toBe('held');
    expect(await store.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
  });

  test('a lease that ran out and that nobody took is renewed by saying so', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await lapse(batch.recordKey);
    expect(await record.renew()).toBe('held');
    expect(await store.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
  });

  test('a batch whose lease ran out and that nobody took can still commit', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await lapse(batch.recordKey);
    expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });

  test('a renewal that comes after the commit does not hold the record again', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.commit([toFinal(0), toRepeatable(1)]);
    expect(await record.renew()).toBe('lost');
    expect(await record.start(1)).toBe('lost');
    expect([...(await hold(store, repeat(batch))).earlier.keys()]).toEqual([0]);
  });

  test('a batch whose record was forgotten is lost, and makes no record', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await forget(batch.recordKey);
    await expectLost(record);
    expect([...(await hold(store, { ...repeat(batch), body: 'another body' })).earlier]).toEqual([]);
  });

  test('a batch whose record was forgotten does not take that of the next for its own', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    const former = await hold(store, batch);
    await forget(batch.recordKey);
    const record = await runWhole(store, repeat(batch));
    await expectLost(former);
    expect(await record.commit([toFinal(1, 'again')])).toBe('held');
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 'again')]);
  });
};
