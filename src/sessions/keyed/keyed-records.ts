import { LRUCache } from 'lru-cache';
import { bytesOf } from './kept-result.ts';
import { type KeyedRecord, RECORD_TTL_MS } from './keyed-record.ts';

/** Records by key, bounded in number and bytes. */
export type KeyedRecords = {
  readonly find: (recordKey: string) => KeyedRecord | undefined;
  /** Keeps a record that a batch holds. */
  readonly hold: (recordKey: string, record: KeyedRecord) => void;
  /** Keeps a record that has been committed, for another day. */
  readonly keep: (recordKey: string, record: KeyedRecord) => void;
  /** Weighs a record anew whose result was amended; its time goes on. */
  readonly weigh: (recordKey: string, record: KeyedRecord) => void;
};

// A record whose results had to go still says which calls ran, so that none of them runs again.
const MAX_EMPTIED = 100_000;

// What a record weighs beside its results, roughly, in bytes: keys, maps, marks.
const RECORD_BYTES = 1024;

/**
 * Two caches, each least recently used first out. A held record that is displaced goes to the finished ones and only from
 * there does it go: a flood of keys does not make a running batch lose its record. What goes loses its results first, and
 * is remembered as calls that ran and of which nothing else is known.
 */
export const createKeyedRecords = (options: {
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly now: () => number;
}): KeyedRecords => {
  const terms = {
    max: options.maxRecords,
    maxSize: Math.ceil(options.maxBytes / 2),
    sizeCalculation: ({ results }: KeyedRecord) => RECORD_BYTES + bytesOf(results.values()),
    ttl: RECORD_TTL_MS,
    // At its default the cache looks at the clock once a millisecond of real time, whatever `now` says.
    ttlResolution: 0,
    perf: { now: options.now },
  };
  const { ttl, ttlResolution, perf } = terms;
  const emptied = new LRUCache<string, KeyedRecord>({ max: MAX_EMPTIED, ttl, ttlResolution, perf });
  const finished = new LRUCache<string, KeyedRecord>({
    ...terms,
    dispose: (record, recordKey, reason) => {
      if (reason === 'evict') emptied.set(recordKey, emptyRecord(record));
    },
  });
  const held = new LRUCache<string, KeyedRecord>({
    ...terms,
    dispose: (record, recordKey, reason) => {
      if (reason === 'evict') finished.set(recordKey, record);
    },
  });
  return {
    find: (recordKey) => held.get(recordKey) ?? finished.get(recordKey) ?? emptied.get(recordKey),
    hold: (recordKey, record) => {
      finished.delete(recordKey);
      emptied.delete(recordKey);
      // A cache goes on with the size that a value came with: what has changed must come anew.
      held.delete(recordKey);
      held.set(recordKey, record);
    },
    keep: (recordKey, record) => {
      held.delete(recordKey);
      finished.delete(recordKey);
      emptied.delete(recordKey);
      finished.set(recordKey, record);
    },
    weigh: (recordKey, record) => {
      const ttl = finished.getRemainingTTL(recordKey);
      if (finished.delete(recordKey)) finished.set(recordKey, record, { ttl });
    },
  };
};

/** The record without its results: a mark stands for each. */
const emptyRecord = (record: KeyedRecord): KeyedRecord => {
  for (const index of record.results.keys()) record.started.add(index);
  record.results.clear();
  return record;
};
