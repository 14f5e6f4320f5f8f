import type { RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import type { SwapOptions } from '@recourse/store-redis/swap-sender';
import { SqliteRecordStore } from '@recourse/store-sqlite/sqlite-record-store';
import { expect } from 'vitest';
import { type IdempotencyStore, type KeyedBatch, type LeasedRecord, toWhole } from '#src/executor/idempotency-store.ts';
import type { StoreMemory } from '#src/memory/store-memory.ts';
import { createIdempotencyStore } from '#src/sessions/idempotency/idempotency-store.ts';
import { createMemoryRecordStore } from '#src/store/memory-record-store.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { roomyMemory } from './roomy-memory.ts';
import { createManualClock } from './session-stores-under-test.ts';

/** A store and what a test may do to its records without waiting. */
export type KeyedStoreUnderTest = {
  readonly store: IdempotencyStore;
  /** Lets the lease of a record run out. */
  readonly lapse: (recordKey: string) => Promise<void>;
  /** Ends this life of a record: expired, or evicted. */
  readonly forget: (recordKey: string) => Promise<void>;
};

export type KeyedStoreTerms = { readonly maxResultBytes?: number };
export type CreateKeyedStoreUnderTest = (terms: KeyedStoreTerms) => KeyedStoreUnderTest;

/** All results that are found under a request key; null where there are none, or one of them is missing. */
export const findWhole = async ({ find }: Pick<IdempotencyStore, 'find'>, requestKey: string) => {
  const found = await find(requestKey);
  return found === null || found === 'unavailable' ? found : toWhole(found);
};

// A busy machine is no outage.
const TIMEOUTS = { short: 20_000, long: 20_000 } as const;

const DAY_MS = 86_400_000;

/** As the embedded service has it. */
export const createMemoryKeyedStore = ({
  memory = roomyMemory(),
  now,
  ...terms
}: KeyedStoreTerms & { readonly memory?: StoreMemory; readonly now: () => number }): IdempotencyStore =>
  createIdempotencyStore({ store: createMemoryRecordStore({ memory, now }), durability: 'process', memory, ...terms });

export const createMemoryKeyedUnderTest: CreateKeyedStoreUnderTest = (terms) => {
  const clock = createManualClock();
  return {
    store: createMemoryKeyedStore({ memory: roomyMemory(256_000_000), now: clock.now, ...terms }),
    lapse: async () => clock.advance(5001),
    forget: async () => clock.advance(DAY_MS + 1),
  };
};

/** In a database of its own that is in memory. `cacheBytes`: of the states that are not read again. */
export const createSqliteKeyedUnderTest = (terms: KeyedStoreTerms, cacheBytes = 10_000_000): KeyedStoreUnderTest => {
  const clock = createManualClock();
  const onFailed = (error: unknown): void => {
    throw error;
  };
  const store = new SqliteRecordStore({ path: ':memory:', durable: 'process', cacheBytes, now: clock.now, onFailed });
  return {
    store: createIdempotencyStore({ store, durability: 'durable', ...terms }),
    lapse: async () => clock.advance(5001),
    forget: async () => clock.advance(DAY_MS + 1),
  };
};

export const toKeyedKey = (recordKey: string): string => `recourse2:{${recordKey}}:keyed`;

/** One replica. `clock`: how far the time of those that have it in common has advanced. */
export const createRedisKeyedUnderTest = (
  client: SwapOptions['client'] & Pick<RedisClient, 'call'>,
  terms: KeyedStoreTerms,
  clock = createManualClock(0),
  guard = (records: RecordStore): RecordStore => records,
): KeyedStoreUnderTest => {
  const store = guard(
    createRedisRecordStore({ client, cacheBytes: 10_000_000, timeouts: TIMEOUTS, skewMs: clock.now }),
  );
  return {
    store: createIdempotencyStore({ store, durability: 'durable', ...terms }),
    lapse: async () => clock.advance(5001),
    forget: async (recordKey) => void (await client.call('DEL', toKeyedKey(recordKey))),
  };
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
export const hold = async (store: IdempotencyStore, batch: KeyedBatch): Promise<LeasedRecord> => {
  const opening = await store.open(batch);
  if (opening.kind !== 'held') throw new Error(`The record is not held: ${opening.kind}`);
  return opening.record;
};

/** The record's results, once all are committed. */
export const replay = async (store: IdempotencyStore, batch: KeyedBatch): Promise<readonly string[]> => {
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
export const runWhole = async (store: IdempotencyStore, batch: KeyedBatch): Promise<LeasedRecord> => {
  const record = await hold(store, batch);
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
  return record;
};
