import { LRUCache } from 'lru-cache';
import type { HeldRecord, KeyedBatch, KeyedStore } from '../../executor/idempotency/keyed-store.ts';
import { bytesOf, type CapResult, createResultCap } from './kept-result.ts';
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

const MAX_BYTES = 64 * 1024 * 1024;
// What an answer weighs beside its own results, roughly.
const ANSWER_BYTES = 512;

/** What one request was answered: results of a record, and those that only this answer has. */
type Answer = {
  readonly recordKey: string;
  readonly life: number;
  readonly calls: number;
  readonly own: ReadonlyMap<number, string>;
};

/**
 * Records of keyed batches in this process: the embedded default. Keeps at most `maxRecords` finished ones and as many
 * that batches hold, within about `maxBytes` together; the least recently used are forgotten first, held ones last.
 */
export const createMemoryKeyedStore = (options: {
  readonly maxRecords: number;
  readonly now: () => number;
  readonly maxBytes?: number;
  readonly maxResultBytes?: number;
}): KeyedStore => {
  const { maxRecords, now, maxBytes = MAX_BYTES } = options;
  const records = createKeyedRecords({ maxRecords, maxBytes: maxBytes * 0.75, now });
  const answers = createAnswers(maxRecords, maxBytes / 4, now);
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
        if (!isTaken) answers.set(requestKey, { recordKey, life: record.life, calls, own });
      };
      const claim = claimRecord(record, batch, now());
      if (claim.kind === 'complete') remember(new Map());
      if (claim.kind !== 'held') return claim;
      records.hold(recordKey, record);
      const cap = createResultCap(record.results.values(), options.maxResultBytes);
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

const createAnswers = (max: number, maxBytes: number, now: () => number): LRUCache<string, Answer> =>
  new LRUCache({
    max,
    maxSize: Math.ceil(maxBytes),
    sizeCalculation: ({ own }) => ANSWER_BYTES + bytesOf(own.values()),
    ttl: RECORD_TTL_MS,
    ttlResolution: 0,
    perf: { now },
  });

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
      if (state === 'held') record.started.add(index);
      return state;
    },
    commit: async (results) => {
      if (!isOurs()) return 'lost';
      const kept = results.map((one) => ({ ...one, result: cap(one.result) }));
      for (const { index, kind } of kept) if (kind === 'final') finals.add(index);
      commitResults(record, kept);
      records.keep(recordKey, record);
      parts.remember(toOwnResults(kept));
      return 'held';
    },
    amend: async (index, result) => {
      if (records.find(recordKey) !== record || !finals.has(index) || !record.results.has(index)) return;
      record.results.set(index, cap(result));
      records.weigh(recordKey, record);
    },
  };
};
