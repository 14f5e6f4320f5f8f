import { expect } from 'vitest';
import type { HeldRecord, KeyedBatch, KeyedStore } from '#src/executor/keyed-store.ts';
import { createFallbackKeyedStore } from '#src/sessions/fallback-stores.ts';
import { createMemoryKeyedStore } from '#src/sessions/keyed/memory-keyed-store.ts';
import { createRedisKeyedStore } from '#src/sessions/keyed/redis-keyed-store.ts';
import type { RedisClient } from '#src/sessions/redis-client.ts';
import { createStoreAvailability } from '#src/sessions/store-availability.ts';
import { roomyMemory } from './roomy-memory.ts';
import { createManualClock, createStoreLog } from './session-stores-under-test.ts';

/** A store and what a test may do to its records without waiting. */
export type KeyedStoreUnderTest = {
  readonly store: KeyedStore;
  /** Lets the lease of a record run out. */
  readonly lapse: (recordKey: string) => Promise<void>;
  /** Ends this life of a record: expired, or evicted. */
  readonly forget: (recordKey: string) => Promise<void>;
};

export type KeyedStoreTerms = { readonly maxResultBytes?: number };
export type CreateKeyedStoreUnderTest = (terms: KeyedStoreTerms) => KeyedStoreUnderTest;

const DAY_MS = 86_400_000;

export const createMemoryKeyedUnderTest: CreateKeyedStoreUnderTest = (terms) => {
  const clock = createManualClock();
  return {
    store: createMemoryKeyedStore({ memory: roomyMemory(256_000_000), now: clock.now, ...terms }),
    lapse: async () => clock.advance(5001),
    forget: async () => clock.advance(DAY_MS + 1),
  };
};

export const toKeyedKey = (recordKey: string): string => `recourse:{${recordKey}}:keyed`;

/** The scripts go by the server's clock, which a test cannot move: the time in the hash is moved instead. */
export const createRedisKeyedUnderTest = (client: RedisClient, terms: KeyedStoreTerms): KeyedStoreUnderTest => ({
  store: createRedisKeyedStore({ client, ...terms }),
  lapse: async (recordKey) => {
    const key = toKeyedKey(recordKey);
    if ((await client.call('HEXISTS', key, 'lease')) === 1) await client.call('HSET', key, 'lease', '1');
  },
  forget: async (recordKey) => void (await client.call('DEL', toKeyedKey(recordKey))),
});

/** The wrapper before a store, with an observer that remembers. */
export const createKeyedFallback = (primary: KeyedStore, now = (): number => performance.now()) => {
  const log = createStoreLog();
  const availability = createStoreAvailability({ observer: log.observer, now, onRecovered: () => undefined });
  return { store: createFallbackKeyedStore({ primary, availability }), availability, log };
};

let batches = 0;

/** A batch of two calls under a key and a request id that no other test has. */
export const createKeyedBatch = (parts: Partial<KeyedBatch> = {}): KeyedBatch => {
  batches += 1;
  const id = `${process.pid}-${batches}`;
  return { recordKey: `tenant:key-${id}`, requestKey: `tenant:request-${id}`, body: 'body', calls: 2, ...parts };
};

/** The same batch, sent again. */
export const repeat = (batch: KeyedBatch): KeyedBatch =>
  createKeyedBatch({ recordKey: batch.recordKey, body: batch.body, calls: batch.calls });

/** Opens a batch that is expected to hold its record. */
export const hold = async (store: KeyedStore, batch: KeyedBatch): Promise<HeldRecord> => {
  const opening = await store.open(batch);
  if (opening.kind !== 'held') throw new Error(`The record is not held: ${opening.kind}`);
  return opening.record;
};

/** The record's results, once all are committed. */
export const replay = async (store: KeyedStore, batch: KeyedBatch): Promise<readonly string[]> => {
  const opening = await store.open(repeat(batch));
  if (opening.kind !== 'complete') throw new Error(`The record is not complete: ${opening.kind}`);
  return opening.results;
};

/** A successful call's result as JSON text. */
export const toResult = (index: number, value: unknown, more: object = {}): string =>
  JSON.stringify({
    index,
    id: `call_${index}`,
    name: 'x',
    success: true,
    outcome: 'success',
    executed: 'yes',
    value,
    message: '',
    error: null,
    retry: null,
    duration_ms: 1,
    ...more,
  });

export const toFinal = (index: number, value: unknown = index) =>
  ({ index, result: toResult(index, value), kind: 'final' }) as const;

export const toRepeatable = (index: number) =>
  ({ index, result: toResult(index, null, { outcome: 'refused', executed: 'no' }), kind: 'repeatable' }) as const;

/** Runs a batch of two calls to its end. */
export const runWhole = async (store: KeyedStore, batch: KeyedBatch): Promise<HeldRecord> => {
  const record = await hold(store, batch);
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
  return record;
};
