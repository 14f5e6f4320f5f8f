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

/** What the same key gets again: the table of idempotency, row by row. */
export const describeKeyedRepeats = (createStore: CreateKeyedStoreUnderTest): void => {
  test('the first to open a key holds its record, and nothing was before', async () => {
    const { store } = createStore({});
    const record = await hold(store, createKeyedBatch());
    expect([...record.earlier]).toEqual([]);
  });

  test('same body, committed: the results are given in the order of the calls, as often as asked', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    expect(await record.start(0)).toBe('held');
    expect(await record.commit([toFinal(1, 'second'), toFinal(0, 'first')])).toBe('held');
    for (let times = 0; times < 3; times += 1)
      expect(await replay(store, batch)).toEqual([toResult(0, 'first'), toResult(1, 'second')]);
  });

  test('same body, lease alive: in flight, for at most a lease of 5 s', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    await hold(store, batch);
    const opening = await store.open(repeat(batch));
    expect(opening).toEqual({ kind: 'in_flight', retryAfterMs: expect.any(Number) });
    const retryAfterMs = opening.kind === 'in_flight' ? opening.retryAfterMs : 0;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(5000);
  });

  test('other body: refused while the first runs, after its lease, and after it was committed', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const other = createKeyedBatch({ recordKey: batch.recordKey, body: 'another body' });
    await hold(store, batch);
    expect(await store.open(other)).toEqual({ kind: 'other_body' });
    await lapse(batch.recordKey);
    expect(await store.open(other)).toEqual({ kind: 'other_body' });
    await runWhole(store, batch);
    expect(await store.open(other)).toEqual({ kind: 'other_body' });
    expect(await replay(store, batch)).toHaveLength(2);
  });

  test('lease over, never committed: the next try is told which calls had begun', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch({ calls: 3 });
    const record = await hold(store, batch);
    await record.start(0);
    await record.start(2);
    await lapse(batch.recordKey);
    const second = await hold(store, repeat(batch));
    expect([...second.earlier].toSorted()).toEqual([
      [0, { state: 'started' }],
      [2, { state: 'started' }],
    ]);
  });

  test('what was begun and committed is told by its result, what was begun and left out by its mark', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch({ calls: 3 });
    const record = await hold(store, batch);
    for (const index of [0, 1]) await record.start(index);
    expect(await record.commit([toFinal(1)])).toBe('held');
    const second = await hold(store, repeat(batch));
    expect([...second.earlier].toSorted()).toEqual([
      [0, { state: 'started' }],
      [1, { state: 'committed', result: toResult(1, 1) }],
    ]);
  });

  test('what never ran for reasons of the service runs again with the same key, and the rest is replayed', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.start(1);
    await record.commit([toFinal(0), toRepeatable(1)]);
    const second = await hold(store, repeat(batch));
    expect([...second.earlier]).toEqual([[0, { state: 'committed', result: toResult(0, 0) }]]);
    await second.commit([toFinal(1)]);
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });

  test('a batch that gives up its record without a result leaves it to the next at once', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.commit([]);
    const second = await hold(store, repeat(batch));
    expect([...second.earlier]).toEqual([]);
  });

  test('once a try was promised, each later one is told that its calls may be pending, also after a commit', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const plain = await hold(store, batch);
    await lapse(batch.recordKey);
    const promised = await hold(store, { ...repeat(batch), answer: 'promised' });
    await lapse(batch.recordKey);
    const second = await hold(store, repeat(batch));
    await second.commit([toFinal(0)]);
    const third = await hold(store, repeat(batch));
    expect([plain, promised, second, third].map(({ mayBePending }) => mayBePending)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  test('a batch without calls is complete after its first commit', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch({ calls: 0 });
    await hold(store, batch);
    expect(await store.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
    await lapse(batch.recordKey);
    const record = await hold(store, batch);
    await record.commit([]);
    expect(await replay(store, batch)).toEqual([]);
    expect(await findWhole(store, batch.requestKey)).toEqual([]);
  });

  test('the same key of another tenant is another record', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const other = { ...repeat(batch), recordKey: batch.recordKey.replace('tenant:', 'other:'), body: 'another body' };
    await runWhole(store, batch);
    const record = await hold(store, other);
    expect([...record.earlier]).toEqual([]);
    await record.commit([toFinal(0, 'theirs'), toFinal(1, 'theirs')]);
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
    expect(await replay(store, other)).toEqual([toResult(0, 'theirs'), toResult(1, 'theirs')]);
  });

  test('a record that was forgotten begins anew, with any body', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await forget(batch.recordKey);
    const record = await hold(store, { ...repeat(batch), body: 'another body' });
    expect([...record.earlier]).toEqual([]);
  });
};
