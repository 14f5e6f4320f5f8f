import { type BoundedStoreOptions, tenantOfKey } from '../../memory/bounded-store.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import { textBytes } from '../../memory/text-bytes.ts';
import { type KeyedRecord, RECORD_TTL_MS } from './keyed-record.ts';

/** Records by key, within the bytes of the stores `leases`, `marks` and `results`. */
export type KeyedRecords = {
  readonly find: (recordKey: string) => KeyedRecord | undefined;
  /** Keeps a record that a batch holds. */
  readonly hold: (recordKey: string, record: KeyedRecord) => void;
  /** Keeps a record that has been committed, for another day. */
  readonly keep: (recordKey: string, record: KeyedRecord) => void;
  /** Weighs a record anew of which one more call has begun. */
  readonly weighMarks: (recordKey: string, record: KeyedRecord) => void;
  /** Weighs a record anew whose result was amended; its time goes on. */
  readonly weighResults: (recordKey: string, record: KeyedRecord) => void;
  /** What the results of one record may come to, in bytes. */
  readonly maxRecordBytes: number;
};

// Measured: a record with its two collections, and an index in one of them.
const RECORD_BYTES = 530;
const MARK_BYTES = 60;
// A record that could fill the store alone would leave no other its results.
const RECORDS_AT_LEAST = 4;

/**
 * Three stores, of each tenant the least recently used first out. A held record that is displaced goes to the marks and
 * only from there does it go: a flood of keys does not make a running batch lose its record. The results of all records
 * are weighed apart from them: a record that loses them is remembered as calls that ran and of which nothing else is known.
 */
export const createKeyedRecords = ({
  memory,
  now,
}: {
  readonly memory: StoreMemory;
  readonly now: () => number;
}): KeyedRecords => {
  const terms = { tenantOf: tenantOfKey, now, ttl: { ms: RECORD_TTL_MS, renewed: 'never' } } satisfies Omit<
    BoundedStoreOptions<KeyedRecord>,
    'limitBytes'
  >;
  const marks = memory.open<KeyedRecord>('marks', {
    ...terms,
    onGone: (recordKey, _record, reason) => {
      if (reason !== 'deleted') results.delete(recordKey);
    },
  });
  const leases = memory.open<KeyedRecord>('leases', {
    ...terms,
    onGone: (recordKey, record, reason) => {
      if (reason === 'full' || reason === 'share') marks.set(recordKey, record, toMarkBytes(record));
      else if (reason !== 'deleted') results.delete(recordKey);
    },
  });
  const results = memory.open<KeyedRecord>('results', {
    ...terms,
    onGone: (recordKey, record, reason) => {
      if (reason === 'deleted') return;
      emptyRecord(record);
      weighMarks(recordKey, record);
    },
  });
  const weighMarks = (recordKey: string, record: KeyedRecord): void => {
    marks.weigh(recordKey, toMarkBytes(record));
    leases.weigh(recordKey, toMarkBytes(record));
  };
  return {
    weighMarks,
    maxRecordBytes: Math.floor(results.limitBytes / RECORDS_AT_LEAST),
    find: (recordKey) => {
      const record = leases.get(recordKey) ?? marks.get(recordKey);
      if (record !== undefined) results.get(recordKey);
      return record;
    },
    hold: (recordKey, record) => {
      marks.delete(recordKey);
      leases.set(recordKey, record, toMarkBytes(record));
    },
    keep: (recordKey, record) => {
      leases.delete(recordKey);
      marks.set(recordKey, record, toMarkBytes(record));
      if (record.results.size > 0) results.set(recordKey, record, toResultBytes(record));
    },
    weighResults: (recordKey, record) => results.weigh(recordKey, toResultBytes(record)),
  };
};

const toMarkBytes = ({ body, started, results }: KeyedRecord): number =>
  RECORD_BYTES + textBytes(body) + (started.size + results.size) * MARK_BYTES;

const toResultBytes = ({ results }: KeyedRecord): number => {
  let bytes = 0;
  for (const result of results.values()) bytes += textBytes(result);
  return bytes;
};

/** The record without its results: a mark stands for each. */
const emptyRecord = (record: KeyedRecord): void => {
  for (const index of record.results.keys()) record.started.add(index);
  record.results.clear();
};
