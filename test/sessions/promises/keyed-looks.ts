import {
  type CreateKeyedStoreUnderTest,
  createKeyedBatch,
  hold,
  repeat,
  runWhole,
  toFinal,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { expect, test } from 'vitest';

/** What a store says of a key that is not opened. */
export const describeKeyedLooks = (createStore: CreateKeyedStoreUnderTest): void => {
  test('a look finds what a try would, and holds nothing', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch();
    const free = { kind: 'open', earlier: new Map(), mayBePending: false };
    for (let n = 0; n < 2; n += 1) expect(await store.look(batch)).toMatchObject(free);
    // Another body may still have the key.
    expect(await store.look({ ...batch, body: 'other' })).toMatchObject(free);
    const record = await hold(store, batch);
    expect(await store.look(batch)).toMatchObject({ kind: 'in_flight' });
    expect(await store.look({ ...batch, body: 'other' })).toEqual({ kind: 'other_body' });
    await record.start(1);
    await lapse(batch.recordKey);
    const begun = { kind: 'open', earlier: new Map([[1, { state: 'started' }]]) };
    for (let n = 0; n < 2; n += 1) expect(await store.look(batch)).toMatchObject(begun);
    const next = await hold(store, repeat(batch));
    expect(await next.commit([toFinal(0), toFinal(1)])).toBe('held');
    const complete = { kind: 'complete', results: [toFinal(0).result, toFinal(1).result] };
    expect(await store.look(batch)).toMatchObject(complete);
  });

  test('a look keeps no record alive', async () => {
    const { store, forget } = createStore({});
    const batch = createKeyedBatch();
    await runWhole(store, batch);
    await store.look(batch);
    await forget(batch.recordKey);
    expect(await store.look(batch)).toMatchObject({ kind: 'open', earlier: new Map() });
    expect((await hold(store, repeat(batch))).earlier.size).toBe(0);
  });
};
