import {
  type CreateKeyedStoreUnderTest,
  createKeyedBatch,
  findWhole,
  hold,
  repeat,
  replay,
  toFinal,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { expect, test } from 'vitest';

const KEPT_WITHOUT = (bytes: number) =>
  ({
    code: 'result_not_kept',
    message: `The result was larger than ${bytes} bytes and was not stored; the call ran and is not run again.`,
  }) as const;

/** How large a record may become. */
export const describeKeyedSizes = (createStore: CreateKeyedStoreUnderTest): void => {
  test('a result over the cap of 256 KiB is kept without its value, is a success still, and says so', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    const result = toResult(0, 'x'.repeat(262_144), { warnings: [{ code: 'duplicate_id', message: 'Twice.' }] });
    await record.commit([{ index: 0, result, kind: 'final' }, toFinal(1)]);
    const [kept = '', neighbour] = await replay(store, batch);
    expect(JSON.parse(kept)).toEqual({
      index: 0,
      id: 'call_0',
      name: 'x',
      success: true,
      outcome: 'success',
      executed: 'yes',
      value: null,
      message: '',
      error: null,
      retry: null,
      duration_ms: 1,
      truncated: true,
      warnings: [{ code: 'duplicate_id', message: 'Twice.' }, KEPT_WITHOUT(262_144)],
    });
    expect(kept.startsWith('{"index":0,"id":"call_0","name":"x","success":true,')).toBe(true);
    expect(neighbour).toBe(toResult(1, 1));
    expect(await findWhole(store, batch.requestKey)).toEqual([kept, neighbour]);
  });

  test('the cap is in bytes, and what fits to the byte is kept whole', async () => {
    const fitting = toResult(0, 'é');
    const maxResultBytes = Buffer.byteLength(fitting);
    const { store } = createStore({ maxResultBytes });
    const batch = createKeyedBatch();
    const record = await hold(store, batch);
    await record.commit([
      { index: 0, result: fitting, kind: 'final' },
      { index: 1, result: toResult(1, 'éx'), kind: 'final' },
    ]);
    const [first, second = ''] = await replay(store, batch);
    expect(first).toBe(fitting);
    expect(JSON.parse(second)).toMatchObject({ value: null, warnings: [KEPT_WITHOUT(maxResultBytes)] });
  });

  test('a text that is as large as a value is cut to 2 000 characters', async () => {
    const { store } = createStore({ maxResultBytes: 4000 });
    const batch = createKeyedBatch({ calls: 1 });
    const result = toResult(0, null, { message: 'y'.repeat(5000) });
    await (await hold(store, batch)).commit([{ index: 0, result, kind: 'final' }]);
    const [kept = ''] = await replay(store, batch);
    expect(JSON.parse(kept)).toMatchObject({ message: `${'y'.repeat(1999)}…`, truncated: true });
  });

  test('a late result over the cap is kept without its value', async () => {
    const { store } = createStore({ maxResultBytes: 1000 });
    const batch = createKeyedBatch({ calls: 1 });
    const record = await hold(store, batch);
    await record.commit([toFinal(0)]);
    await record.amend(0, toResult(0, 'z'.repeat(1000)));
    const [kept = ''] = await replay(store, batch);
    expect(JSON.parse(kept)).toMatchObject({ success: true, value: null, warnings: [KEPT_WITHOUT(1000)] });
  });

  test('a record keeps values of 4 MiB together, over several tries', async () => {
    const { store } = createStore({});
    const batch = createKeyedBatch({ calls: 20 });
    const large = (index: number) => toFinal(index, 'v'.repeat(250_000));
    const first = await hold(store, batch);
    await first.commit(Array.from({ length: 12 }, (_, index) => large(index)));
    const second = await hold(store, repeat(batch));
    await second.commit(Array.from({ length: 8 }, (_, index) => large(12 + index)));
    const results = await replay(store, batch);
    const values = results.map((result): unknown => JSON.parse(result).value);
    // 16 × 250 170 bytes are below 4 194 304, 17 are above.
    expect(values.indexOf(null)).toBe(16);
    expect(values.slice(16)).toEqual([null, null, null, null]);
    expect(JSON.parse(results[16] ?? '').warnings).toEqual([
      {
        code: 'result_not_kept',
        message:
          'The results of this batch were larger than 4194304 bytes, and this one was not stored; the call ran and is not run again.',
      },
    ]);
  });

  test('a batch of 1 024 calls is begun, handed on, committed, replayed and found whole', async () => {
    const { store, lapse } = createStore({});
    const batch = createKeyedBatch({ calls: 1024 });
    const indexes = Array.from({ length: 1024 }, (_, index) => index);
    const first = await hold(store, batch);
    await Promise.all(indexes.map((index) => first.start(index)));
    await lapse(batch.recordKey);
    const second = await hold(store, repeat(batch));
    expect(second.earlier.size).toBe(1024);
    expect(await second.commit(indexes.map((index) => toFinal(index)))).toBe('held');
    const expected = indexes.map((index) => toResult(index, index));
    expect(await replay(store, batch)).toEqual(expected);
    const last = repeat(batch);
    await store.open(last);
    expect(await findWhole(store, last.requestKey)).toEqual(expected);
  });
};
