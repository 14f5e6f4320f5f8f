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

/** What is found under a request's id, and late results. */
export const describeKeyedAnswers = (createStore: CreateKeyedStoreUnderTest): void => {
  test('nothing is found of a request that was never made, and of one that has not ended', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    expect(await findWhole(store, batch.requestKey)).toBeNull();
    const record = await hold(store, batch);
    await record.start(0);
    expect(await findWhole(store, batch.requestKey)).toBeNull();
  });

  test('the results are found under the request that ran them and under each that was replayed', async () => {
    const { store } = createStore({});
    const [batch, again] = [createKeyedBatch(), createKeyedBatch()];
    await runWhole(store, batch);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
    expect(await findWhole(store, again.requestKey)).toBeNull();
    await store.open({ ...batch, requestKey: again.requestKey });
    expect(await findWhole(store, again.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });

  test('a record that is only a part of an answer is kept and replayed, and is no answer of its own', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch({ requestKey: '' });
    await runWhole(store, batch);
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
    expect(await findWhole(store, '')).toBeNull();
  });

  test('a request that was refused finds nothing', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    await hold(store, batch);
    const second = repeat(batch);
    await store.open(second);
    const other = createKeyedBatch({ recordKey: batch.recordKey, body: 'another body' });
    await store.open(other);
    expect(await findWhole(store, second.requestKey)).toBeNull();
    expect(await findWhole(store, other.requestKey)).toBeNull();
  });

  test('each request finds its own answer: what was refused then, and what ran later', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    await (await hold(store, batch)).commit([toFinal(0), toRepeatable(1)]);
    const second = repeat(batch);
    await (await hold(store, second)).commit([toFinal(1)]);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toRepeatable(1).result]);
    expect(await findWhole(store, second.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });

  test('an answer of which a call was not committed is not found', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    await (await hold(store, batch)).commit([toFinal(0)]);
    expect(await findWhole(store, batch.requestKey)).toBeNull();
  });

  test('a promised batch is found from its beginning on, with the results that there are; what it was answered before stays', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch({ answer: 'promised' });
    const { recordKey, requestKey } = batch;
    await hold(store, batch);
    const none = { recordKey, results: [null, null], isPromised: true };
    expect(await store.find(requestKey)).toEqual({ ...none, isOpen: true });
    await lapse(recordKey);
    expect(await store.find(requestKey)).toEqual({ ...none, isOpen: false });
    const second = await hold(store, batch);
    await second.commit([toFinal(0), toRepeatable(1)], 'named');
    const results = [toResult(0, 0), toRepeatable(1).result];
    expect(await store.find(requestKey)).toEqual({ recordKey, results, isOpen: false, isPromised: true });
    await hold(store, batch);
    expect(await store.find(requestKey)).toEqual({ recordKey, results, isOpen: true, isPromised: true });
  });

  test('a request id that is used again under its key finds the last', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    await (await hold(store, batch)).commit([toFinal(0), toRepeatable(1)]);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toRepeatable(1).result]);
    await (await hold(store, batch)).commit([toFinal(1)]);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });

  test('a request id that is used again under another key finds the first, whatever is sent with it', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const other = { ...createKeyedBatch(), requestKey: batch.requestKey };
    await runWhole(store, batch);
    await (await hold(store, other)).commit([toFinal(0, 'other'), toFinal(1, 'other')]);
    await store.open(other);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
    expect(await replay(store, other)).toEqual([toResult(0, 'other'), toResult(1, 'other')]);
  });

  test('what is found dies with its record, and is not mistaken for what the key was used for after it', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await forget(batch.recordKey);
    expect(await findWhole(store, batch.requestKey)).toBeNull();
    await runWhole(store, repeat(batch));
    expect(await findWhole(store, batch.requestKey)).toBeNull();
  });

  test('a late result replaces the committed one, for repeats and under the request', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await runWhole(store, batch);
    await record.amend(0, toResult(0, 'late'));
    expect(await replay(store, batch)).toEqual([toResult(0, 'late'), toResult(1, 1)]);
    expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 'late'), toResult(1, 1)]);
  });

  test('a check that takes back that a call did not happen changes what is found under its request', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const unknown = { index: 0, result: '{"outcome":"unknown"}', kind: 'unknown' } as const;
    await (await hold(store, batch)).commit([unknown, toFinal(1)]);
    const place = { recordKey: batch.recordKey, requestKey: batch.requestKey, place: 0 };
    await store.settle(place, '"it did not happen"', 'repeatable');
    expect(await findWhole(store, batch.requestKey)).toEqual(['"it did not happen"', toResult(1, 1)]);
    await store.settle(place, '"it happened"', 'final');
    expect(await findWhole(store, batch.requestKey)).toEqual(['"it happened"', toResult(1, 1)]);
  });

  test('a late result of a call that was not committed, or that is to run again, is not kept', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.start(0);
    await record.amend(0, toResult(0, 'late'));
    await record.commit([toRepeatable(0), toFinal(1)]);
    await record.amend(0, toResult(0, 'late'));
    const second = await hold(store, repeat(batch));
    expect([...second.earlier]).toEqual([[1, { state: 'committed', result: toResult(1, 1) }]]);
  });

  test('a late result is kept, too, when another try has begun, for that runs no committed call again', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.commit([toFinal(0), toRepeatable(1)]);
    const second = await hold(store, repeat(batch));
    await record.amend(0, toResult(0, 'late'));
    await record.amend(1, toResult(1, 'late'));
    await second.commit([toFinal(1)]);
    await record.amend(1, toResult(1, 'late'));
    expect(await replay(store, batch)).toEqual([toResult(0, 'late'), toResult(1, 1)]);
    await record.amend(0, toResult(0, 'later'));
    expect(await replay(store, batch)).toEqual([toResult(0, 'later'), toResult(1, 1)]);
  });

  test('a late result of a record that was forgotten changes nothing in what the key was used for after it', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    const former = await runWhole(store, batch);
    await forget(batch.recordKey);
    await runWhole(store, repeat(batch));
    await former.amend(0, toResult(0, 'late'));
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
  });
};
