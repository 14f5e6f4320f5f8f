import {
  createKeyedBatch,
  createMemoryKeyedUnderTest,
  hold,
  repeat,
  replay,
  toFinal,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { expect, test } from 'vitest';

const UNKNOWN = {
  index: 0,
  result: toResult(0, null, { outcome: 'unknown', executed: 'maybe' }),
  kind: 'unknown',
} as const;
const LATE = toResult(0, 'late');

/** A write whose result is unknown under its key, and the place that a check settles. */
const createUnknown = async () => {
  const { store } = createMemoryKeyedUnderTest({});
  const batch = createKeyedBatch({ calls: 1 });
  const place = { recordKey: batch.recordKey, place: 0, requestKey: batch.requestKey };
  const record = await hold(store, batch);
  await record.start(0);
  return { store, batch, place, record };
};

test('a run that ends after its answer replaces its own unknown result', async () => {
  const { store, batch, record } = await createUnknown();
  await record.commit([UNKNOWN]);
  await record.amend(0, LATE);
  expect(await replay(store, batch)).toEqual([LATE]);
});

test('a run that ends after a check has found it changes nothing, whether it was answered before or is only now', async () => {
  const answered = await createUnknown();
  await answered.record.commit([UNKNOWN]);
  await answered.store.settle(answered.place, toResult(0, 'found'), 'final');
  await answered.record.amend(0, LATE);
  expect(await replay(answered.store, answered.batch)).toEqual([toResult(0, 'found')]);
  const frozen = await createUnknown();
  await frozen.store.settle(frozen.place, toResult(0, 'found'), 'final');
  await frozen.record.commit([toFinal(0)]);
  expect(await replay(frozen.store, frozen.batch)).toEqual([toResult(0, 'found')]);
});

test('a run that was found not to have happened does not replace what the next one came to, known or unknown', async () => {
  for (const next of [toFinal(0, 'next'), { ...UNKNOWN, result: toResult(0, 'second', { outcome: 'unknown' }) }]) {
    const { store, batch, place, record } = await createUnknown();
    await record.commit([UNKNOWN]);
    await store.settle(place, toResult(0, null, { outcome: 'retry', executed: 'no' }), 'repeatable');
    const again = await hold(store, repeat(batch));
    await again.start(0);
    await again.commit([next]);
    await record.amend(0, LATE);
    expect(await replay(store, batch)).toEqual([next.result]);
  }
});
