import {
  createKeyedBatch,
  createMemoryKeyedStore,
  findWhole,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { expect, test } from 'vitest';
import type { KeyedBatch } from '#src/executor/idempotency-store.ts';
import { createStoreMemory } from '#src/memory/store-memory.ts';

const DAY_MS = 86_400_000;

const createSubject = (totalBytes = 64_000_000) => {
  const clock = createManualClock();
  const memory = createStoreMemory({ totalBytes });
  return { clock, store: createMemoryKeyedStore({ memory, now: clock.now }) };
};

// Of which 8 % are for marks and 6 % for records that are held: three of the one, two of the other.
const SMALL = 44_000;
// Its eighth for results holds those of four records, of which each may have a quarter.
const LARGE = 30_500_000;

test('its keys are honoured for the life of the process', () => {
  expect(createSubject().store.durability).toBe('process');
});

test('of finished records the least recently used is forgotten first', async () => {
  const { store } = createSubject(SMALL);
  const [oldest, used, newest] = [createKeyedBatch(), createKeyedBatch(), createKeyedBatch()];
  await runWhole(store, used);
  await runWhole(store, oldest);
  await replay(store, used);
  await runWhole(store, createKeyedBatch());
  await runWhole(store, newest);
  expect(await replay(store, used)).toHaveLength(2);
  expect(await replay(store, newest)).toHaveLength(2);
  await hold(store, repeat(oldest));
});

test('a record that a batch holds outlasts a flood of finished ones', async () => {
  const { store } = createSubject(SMALL);
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  await record.start(0);
  for (let times = 0; times < 50; times += 1) await runWhole(store, createKeyedBatch());
  expect(await store.open(repeat(batch))).toMatchObject({ kind: 'in_flight' });
  expect(await record.start(1)).toBe('held');
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
});

test('a record that a batch holds outlasts a flood of other held ones', async () => {
  const { store } = createSubject(SMALL);
  const batches = Array.from({ length: 5 }, () => createKeyedBatch());
  const records = await Promise.all(batches.map((batch) => hold(store, batch)));
  const states: string[] = [];
  for (const record of records) states.push(await record.renew());
  expect(states).toEqual(['held', 'held', 'held', 'held', 'held']);
});

test('records are forgotten once their results come to more than may be kept', async () => {
  const { store } = createSubject(LARGE);
  const batches = Array.from({ length: 20 }, () => createKeyedBatch({ calls: 4 }));
  for (const batch of batches) {
    const record = await hold(store, batch);
    await record.commit([0, 1, 2, 3].map((index) => toFinal(index, 'v'.repeat(250_000))));
  }
  const kept: boolean[] = [];
  for (const batch of batches) kept.push((await findWhole(store, batch.requestKey)) !== null);
  expect(kept.filter(Boolean)).toHaveLength(4);
  expect(kept.slice(-4)).toEqual([true, true, true, true]);
});

test('a record whose results had to go says that its calls ran, and finds them once they have run again', async () => {
  const { store } = createSubject(LARGE);
  const runLarge = async (batch: KeyedBatch): Promise<void> => {
    const record = await hold(store, batch);
    await record.commit([0, 1, 2, 3].map((index) => toFinal(index, 'v'.repeat(250_000))));
  };
  const batch = createKeyedBatch({ calls: 4 });
  await runLarge(batch);
  for (let times = 0; times < 4; times += 1) await runLarge(createKeyedBatch({ calls: 4 }));
  expect(await findWhole(store, batch.requestKey)).toBeNull();
  const again = await hold(store, repeat(batch));
  expect([...again.earlier]).toEqual([0, 1, 2, 3].map((index) => [index, { state: 'started' }]));
  await again.commit([0, 1, 2, 3].map((index) => toFinal(index)));
  expect(await replay(store, batch)).toHaveLength(4);
});

test('what a late result adds is counted', async () => {
  const { store } = createSubject(LARGE);
  const batches = Array.from({ length: 20 }, () => createKeyedBatch({ calls: 1 }));
  for (const batch of batches) {
    const record = await hold(store, batch);
    await record.commit([toFinal(0)]);
    await record.amend(0, toFinal(0, 'v'.repeat(250_000)).result);
  }
  const kept: boolean[] = [];
  for (const batch of batches) kept.push((await findWhole(store, batch.requestKey)) !== null);
  expect(kept.filter(Boolean)).toHaveLength(14);
});

test('a record is kept for a day after it was committed, and a late result does not prolong that', async () => {
  const { store, clock } = createSubject();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  clock.advance(DAY_MS / 2);
  await record.commit([toFinal(0), toFinal(1)]);
  clock.advance(DAY_MS - 1000);
  await record.amend(0, toFinal(0, 'late').result);
  expect(await replay(store, batch)).toHaveLength(2);
  clock.advance(1001);
  await hold(store, repeat(batch));
});

test('a lease is alive for 5 s', async () => {
  const { store, clock } = createSubject();
  const batch = createKeyedBatch();
  await hold(store, batch);
  clock.advance(4999);
  expect(await store.open(repeat(batch))).toEqual({ kind: 'in_flight', retryAfterMs: 1 });
  clock.advance(1);
  await hold(store, repeat(batch));
});

test('a tenant that fills records and results many times over takes nothing from another', async () => {
  const { store } = createSubject(LARGE);
  const quiet = createKeyedBatch({ recordKey: 'quiet:key', requestKey: 'quiet:request', calls: 1 });
  await (await hold(store, quiet)).commit([toFinal(0, 'v'.repeat(250_000))]);
  for (let count = 0; count < 40; count += 1) {
    const batch = createKeyedBatch({ calls: 1 });
    await (await hold(store, batch)).commit([toFinal(0, 'w'.repeat(250_000))]);
  }
  expect((await findWhole(store, quiet.requestKey))?.[0]).toContain('v'.repeat(250_000));
  for (let count = 0; count < 5000; count += 1) await runWhole(store, createKeyedBatch({ calls: 1 }));
  expect(await replay(store, quiet)).toHaveLength(1);
});

test('a result that no store of this size has room for is kept without its value, and says so', async () => {
  const { store } = createSubject(8_000_000);
  const batch = createKeyedBatch({ calls: 2 });
  await (await hold(store, batch)).commit([toFinal(0, 'v'.repeat(200_000)), toFinal(1, 'v'.repeat(200_000))]);
  const [first = '', second = ''] = await replay(store, batch);
  expect(first).toContain('v'.repeat(200_000));
  expect(JSON.parse(second)).toMatchObject({ success: true, value: null, warnings: [{ code: 'result_not_kept' }] });
});
