import type { HeldRecord, KeyedBatch, KeyedStore } from '../../executor/keyed-store.ts';
import { type BoundedStore, tenantOfKey } from '../../memory/bounded-store.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import { textBytes } from '../../memory/text-bytes.ts';
import { type CapResult, createResultCap } from './kept-result.ts';
import {
  claimRecord,
  commitResults,
  createKeyedRecord,
  type KeyedRecord,
  LEASE_MS,
  RECORD_TTL_MS,
  readResults,
  toOwnResults,
} from './keyed-record.ts';
import { createKeyedRecords, type KeyedRecords } from './keyed-records.ts';

// Measured: an answer with the key of its record, and the place of a result of its own.
const ANSWER_BYTES = 150;
const OWN_BYTES = 100;

/** What one request was answered: results of a record, and those that only this answer has. */
type Answer = {
  readonly recordKey: string;
  readonly life: number;
  readonly calls: number;
  readonly own: ReadonlyMap<number, string>;
};

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
  const records = createKeyedRecords({ memory, now });
  const answers = openAnswers(memory, now);
  let lives = 0;
  const bornOrKnown = ({ recordKey, body }: KeyedBatch): KeyedRecord => {
    const known = records.find(recordKey);
    if (known !== undefined) return known;
    lives += 1;
    return createKeyedRecord(body, lives);
  };
  return {
    durability: 'process',
    open: async (batch) => {
      const record = bornOrKnown(batch);
      const { recordKey, requestKey, calls } = batch;
      const remember = (own: Answer['own']): void => {
        // The request id of another key's batch stays with that one.
        const isTaken = (answers.peek(requestKey)?.recordKey ?? recordKey) !== recordKey;
        if (!isTaken)
          answers.set(requestKey, { recordKey, life: record.life, calls, own }, toAnswerBytes(recordKey, own));
      };
      const claim = claimRecord(record, batch, now());
      if (claim.kind === 'complete') remember(NOTHING);
      if (claim.kind !== 'held') return claim;
      records.hold(recordKey, record);
      const cap = createResultCap(record.results.values(), { ...options, maxRecordBytes: records.maxRecordBytes });
      const hold = createHold({ recordKey, record, records, cap, now, remember });
      return { kind: 'held', record: { earlier: claim.earlier, ...hold } };
    },
    find: async (requestKey) => {
      const answer = answers.get(requestKey);
      const record = answer === undefined ? undefined : records.find(answer.recordKey);
      if (answer === undefined || record?.life !== answer.life) return null;
      return readResults(answer.calls, (index) => answer.own.get(index) ?? record.results.get(index));
    },
  };
};

const NOTHING: Answer['own'] = new Map();

const openAnswers = (memory: StoreMemory, now: () => number): BoundedStore<Answer> =>
  memory.open('answers', { tenantOf: tenantOfKey, ttl: { ms: RECORD_TTL_MS, renewed: 'never' }, now });

const toAnswerBytes = (recordKey: string, own: Answer['own']): number => {
  let bytes = ANSWER_BYTES + textBytes(recordKey);
  for (const result of own.values()) bytes += OWN_BYTES + textBytes(result);
  return bytes;
};

const createHold = (parts: {
  readonly recordKey: string;
  readonly record: KeyedRecord;
  readonly records: KeyedRecords;
  readonly cap: CapResult;
  readonly now: () => number;
  readonly remember: (own: Answer['own']) => void;
}): Omit<HeldRecord, 'earlier'> => {
  const { recordKey, record, records, cap, now } = parts;
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
    renew,
    start: async (index) => {
      const state = await renew();
      if (state === 'lost') return state;
      record.started.add(index);
      records.weighMarks(recordKey, record);
      return state;
    },
    commit: async (results) => {
      if (!isOurs()) return 'lost';
      const kept = results.map((one) => ({ ...one, result: cap(one.result) }));
      for (const { index, kind } of kept) if (kind === 'final') finals.add(index);
      commitResults(record, kept);
      records.keep(recordKey, record);
      const own = toOwnResults(kept);
      parts.remember(own.size === 0 ? NOTHING : own);
      return 'held';
    },
    amend: async (index, result) => {
      if (records.find(recordKey) !== record || !finals.has(index) || !record.results.has(index)) return;
      record.results.set(index, cap(result));
      records.weighResults(recordKey, record);
    },
  };
};
