import type { EarlierCall, KeyedBatch, ResultToKeep } from '../../executor/keyed-store.ts';

// How long a batch that says nothing holds its record; it says so every 1.5 s, so that two words may be lost.
export const LEASE_MS = 5000;
/** How long a record is kept after it was opened or committed. */
export const RECORD_TTL_MS = 24 * 60 * 60 * 1000;

/** The record of a keyed batch in this process. The twin of keyed-record.lua. */
export type KeyedRecord = {
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

/** A record that nobody holds yet. */
export const createKeyedRecord = (body: string, life: number): KeyedRecord => ({
  body,
  life,
  fence: 0,
  leaseEndsAt: null,
  committed: false,
  started: new Set(),
  results: new Map(),
});

export type Claim =
  | { readonly kind: 'other_body' }
  | { readonly kind: 'in_flight'; readonly retryAfterMs: number }
  | { readonly kind: 'complete'; readonly results: readonly string[] }
  | { readonly kind: 'held'; readonly earlier: ReadonlyMap<number, EarlierCall> };

/** What a batch that opens the record gets; `held` is a try of its own, with a lease. */
export const claimRecord = (record: KeyedRecord, batch: KeyedBatch, now: number): Claim => {
  if (record.body !== batch.body) return { kind: 'other_body' };
  const leftMs = (record.leaseEndsAt ?? now) - now;
  if (leftMs > 0) return { kind: 'in_flight', retryAfterMs: Math.ceil(leftMs) };
  const results = readResults(batch.calls, (index) => record.results.get(index));
  if (record.committed && results !== null) return { kind: 'complete', results };
  record.fence += 1;
  record.leaseEndsAt = now + LEASE_MS;
  return { kind: 'held', earlier: toEarlier(record) };
};

const toEarlier = ({ started, results }: KeyedRecord): ReadonlyMap<number, EarlierCall> => {
  const earlier = new Map<number, EarlierCall>();
  for (const index of started) earlier.set(index, { state: 'started' });
  for (const [index, result] of results) earlier.set(index, { state: 'committed', result });
  return earlier;
};

/** Ends the lease. What is repeatable leaves nothing: its call never ran. */
export const commitResults = (record: KeyedRecord, results: readonly ResultToKeep[]): void => {
  record.leaseEndsAt = null;
  record.committed = true;
  for (const { index, result, kind } of results) {
    record.started.delete(index);
    if (kind === 'final') record.results.set(index, result);
  }
};

/**
 * The results of an answer that are its own, by index: their calls run again with the same key, so that the record has
 * none.
 */
export const toOwnResults = (results: readonly ResultToKeep[]): ReadonlyMap<number, string> =>
  new Map(results.filter(({ kind }) => kind === 'repeatable').map(({ index, result }) => [index, result]));

/** All results of a batch in the order of its calls; null where one is missing. */
export const readResults = (
  calls: number,
  find: (index: number) => string | null | undefined,
): readonly string[] | null => {
  const results: string[] = [];
  for (let index = 0; index < calls; index += 1) {
    const result = find(index);
    if (typeof result !== 'string') return null;
    results.push(result);
  }
  return results;
};
