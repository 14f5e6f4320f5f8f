import type { EarlierCall, HeldRecord, KeyedBatch, KeyedStore, ResultToKeep } from '../../executor/keyed-store.ts';
import { tenantOfKey, textBytes } from '../../memory/bounded-store.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import { createResultCap, LEASE_MS, RECORD_TTL_MS, readResults, toAllResults, toOwnResults } from './keyed-results.ts';

/** The record of a keyed batch in this process. keyed.lua is the twin. */
type KeyedRecord = {
  readonly body: string;
  /** No two records have one: a key that was forgotten begins another life. */
  readonly life: number;
  /** The number of the try that holds it, or held it last. */
  fence: number;
  /** When the hold lapses; null once the try has committed. */
  leaseEndsAt: number | null;
  committed: boolean;
  /** Calls that began, and of which nobody knows how they ended. */
  readonly started: Set<number>;
  /** JSON texts, by the index of the call. */
  readonly results: Map<number, string>;
};

/** What one request was answered: results of a record, and those that only this answer has. */
type Answer = {
  readonly recordKey: string;
  readonly life: number;
  readonly calls: number;
  readonly own: ReadonlyMap<number, string>;
};

// Measured: a record with its two collections, and an index in one of them; an answer with the key of its record, and the
// place of a result of its own.
const RECORD_BYTES = 530;
const MARK_BYTES = 60;
const ANSWER_BYTES = 150;
const OWN_BYTES = 100;

const NOTHING: Answer['own'] = new Map();

/**
 * Records of keyed batches in this process: the embedded default, within the bytes that `memory` gives its stores. Of the
 * tenant that holds most the least recently used are forgotten first: results before marks, held records last.
 */
export const createMemoryKeyedStore = (options: {
  readonly memory: StoreMemory;
  readonly now: () => number;
  readonly maxResultBytes?: number;
}): KeyedStore => {
  const { memory, now } = options;
  const records = openRecords(memory, now);
  const answers = memory.open<Answer>('answers', toStoreOptions(now));
  let lives = 0;
  const createRecord = (body: string): KeyedRecord => {
    lives += 1;
    const firstTry = { life: lives, fence: 0, leaseEndsAt: null, committed: false };
    return { body, ...firstTry, started: new Set(), results: new Map() };
  };
  return {
    durability: 'process',
    open: async (batch) => {
      const { recordKey, requestKey, calls, body } = batch;
      const record = records.find(recordKey) ?? createRecord(body);
      const remember = (own: Answer['own']): void => {
        // The request id of another key's batch stays with that one.
        const isTaken = (answers.peek(requestKey)?.recordKey ?? recordKey) !== recordKey;
        if (!isTaken)
          answers.set(requestKey, { recordKey, life: record.life, calls, own }, toAnswerBytes(recordKey, own));
      };
      const opening = claimRecord(record, batch, now());
      if (opening.kind === 'complete') remember(NOTHING);
      if (opening.kind !== 'held') return opening;
      records.hold(recordKey, record);
      const cap = createResultCap(record.results.values(), { ...options, maxRecordBytes: records.maxRecordBytes });
      return { kind: 'held', record: createHold({ recordKey, record, records, cap, now, remember }) };
    },
    find: async (requestKey) => {
      const answer = answers.get(requestKey);
      const record = answer === undefined ? undefined : records.find(answer.recordKey);
      if (answer === undefined || record?.life !== answer.life) return null;
      return readResults(answer.calls, (index) => answer.own.get(index) ?? record.results.get(index));
    },
  };
};

const toStoreOptions = (now: () => number) =>
  ({ tenantOf: tenantOfKey, now, ttl: { ms: RECORD_TTL_MS, renewed: 'never' } }) as const;

const toAnswerBytes = (recordKey: string, own: Answer['own']): number => {
  let bytes = ANSWER_BYTES + textBytes(recordKey);
  for (const result of own.values()) bytes += OWN_BYTES + textBytes(result);
  return bytes;
};

/** What a batch that opens the record gets; `held` is a try of its own, with a lease. */
const claimRecord = (record: KeyedRecord, { body, calls }: KeyedBatch, now: number) => {
  if (record.body !== body) return { kind: 'other_body' } as const;
  const leftMs = (record.leaseEndsAt ?? now) - now;
  if (leftMs > 0) return { kind: 'in_flight', retryAfterMs: Math.ceil(leftMs) } as const;
  const results = readResults(calls, (index) => record.results.get(index));
  if (record.committed && results !== null) return { kind: 'complete', results } as const;
  record.fence += 1;
  record.leaseEndsAt = now + LEASE_MS;
  return { kind: 'held' } as const;
};

/** The record for the try that holds it. */
const createHold = (parts: {
  readonly recordKey: string;
  readonly record: KeyedRecord;
  readonly records: ReturnType<typeof openRecords>;
  readonly cap: (result: string) => string;
  readonly now: () => number;
  readonly remember: (own: Answer['own']) => void;
}): HeldRecord => {
  const { recordKey, record, records, cap, now, remember } = parts;
  const { fence } = record;
  const finals = new Set<number>();
  // False where the record was taken over, or forgotten.
  const isOurs = (): boolean => records.find(recordKey) === record && record.fence === fence;
  const renew = async () => {
    if (!isOurs() || record.leaseEndsAt === null) return 'lost';
    record.leaseEndsAt = now() + LEASE_MS;
    return 'held';
  };
  return {
    earlier: toEarlierCalls(record),
    renew,
    start: async (index) => {
      const state = await renew();
      if (state === 'lost') return state;
      record.started.add(index);
      records.weighMarks(recordKey, record);
      return state;
    },
    commit: async (results) => {
      const capped = results.map((one) => ({ ...one, result: cap(one.result) }));
      if (!isOurs()) {
        remember(toAllResults(capped));
        return 'lost';
      }
      for (const { index, kind } of capped) if (kind === 'final') finals.add(index);
      commitResults(record, capped);
      records.keep(recordKey, record);
      const own = toOwnResults(capped);
      remember(own.size === 0 ? NOTHING : own);
      return 'held';
    },
    amend: async (index, result) => {
      if (records.find(recordKey) !== record || !finals.has(index) || !record.results.has(index)) return;
      record.results.set(index, cap(result));
      records.weighResults(recordKey, record);
    },
  };
};

const toEarlierCalls = ({ started, results }: KeyedRecord): ReadonlyMap<number, EarlierCall> => {
  const earlier = new Map<number, EarlierCall>();
  for (const index of started) earlier.set(index, { state: 'started' });
  for (const [index, result] of results) earlier.set(index, { state: 'committed', result });
  return earlier;
};

/** Ends the lease. What is repeatable leaves nothing: its call never ran. */
const commitResults = (record: KeyedRecord, results: readonly ResultToKeep[]): void => {
  record.leaseEndsAt = null;
  record.committed = true;
  for (const { index, result, kind } of results) {
    record.started.delete(index);
    if (kind === 'final') record.results.set(index, result);
  }
};

// A record that could fill the store alone would leave no other its results.
const RECORDS_AT_LEAST = 4;

/**
 * Records by key in three stores, `leases`, `marks` and `results`: of each tenant the least recently used first out. A held
 * record that is displaced goes to the marks and only from there does it go: a flood of keys does not make a running batch
 * lose its record. The results of all records are weighed apart from them: a record that loses them is remembered as calls
 * that ran and of which nothing else is known.
 */
const openRecords = (memory: StoreMemory, now: () => number) => {
  const storeOptions = toStoreOptions(now);
  const marks = memory.open<KeyedRecord>('marks', {
    ...storeOptions,
    onGone: (recordKey, _record, reason) => {
      if (reason !== 'deleted') results.delete(recordKey);
    },
  });
  const leases = memory.open<KeyedRecord>('leases', {
    ...storeOptions,
    onGone: (recordKey, record, reason) => {
      if (reason === 'full' || reason === 'share') marks.set(recordKey, record, toMarkBytes(record));
      else if (reason !== 'deleted') results.delete(recordKey);
    },
  });
  const results = memory.open<KeyedRecord>('results', {
    ...storeOptions,
    onGone: (recordKey, record, reason) => {
      if (reason === 'deleted') return;
      for (const index of record.results.keys()) record.started.add(index);
      record.results.clear();
      weighMarks(recordKey, record);
    },
  });
  /** Weighs a record anew of which one more call has begun. */
  const weighMarks = (recordKey: string, record: KeyedRecord): void => {
    marks.weigh(recordKey, toMarkBytes(record));
    leases.weigh(recordKey, toMarkBytes(record));
  };
  return {
    weighMarks,
    /** What the results of one record may come to, in bytes. */
    maxRecordBytes: Math.floor(results.limitBytes / RECORDS_AT_LEAST),
    find: (recordKey: string): KeyedRecord | undefined => {
      const record = leases.get(recordKey) ?? marks.get(recordKey);
      if (record !== undefined) results.get(recordKey);
      return record;
    },
    /** Keeps a record that a batch holds. */
    hold: (recordKey: string, record: KeyedRecord): void => {
      marks.delete(recordKey);
      leases.set(recordKey, record, toMarkBytes(record));
    },
    /** Keeps a record that has been committed, for another day. */
    keep: (recordKey: string, record: KeyedRecord): void => {
      leases.delete(recordKey);
      marks.set(recordKey, record, toMarkBytes(record));
      if (record.results.size > 0) results.set(recordKey, record, toResultBytes(record));
    },
    /** Weighs a record anew whose result was amended; its time goes on. */
    weighResults: (recordKey: string, record: KeyedRecord): void => results.weigh(recordKey, toResultBytes(record)),
  };
};

const toMarkBytes = ({ body, started, results }: KeyedRecord): number =>
  RECORD_BYTES + textBytes(body) + (started.size + results.size) * MARK_BYTES;

const toResultBytes = ({ results }: KeyedRecord): number => {
  let bytes = 0;
  for (const result of results.values()) bytes += textBytes(result);
  return bytes;
};
