import type { Warning } from '../../contract/tool-result.ts';
import type { CallObserver } from '../call-observer.ts';
import type { EarlierCall, HeldRecord, KeyedBatch, KeyedStore, ResultToKeep } from './keyed-store.ts';

/** What the record says, or that the store that keeps it is away. */
export type RecordState = 'held' | 'lost' | 'away';

/** A batch with an Idempotency-Key while it runs. Nothing here rejects. */
export type KeyedRun = {
  /** `away`: there is no record, so writes must not run and nothing is kept. */
  readonly state: 'held' | 'away';
  readonly earlier: ReadonlyMap<number, EarlierCall>;
  /** Notes that a write begins. Only where this says `held` may it. */
  readonly start: (index: number) => Promise<RecordState>;
  /** Keeps the results and lets the record go. `marked`: only which writes ran is kept. */
  readonly finish: (results: readonly ResultToKeep[]) => Promise<RecordState | 'marked'>;
  /** Replaces a kept result by what its handler came to after the answer. */
  readonly amend: (index: number, result: string) => Promise<void>;
  /** Holds the record no longer; for a batch that did not finish. */
  readonly letGo: () => void;
  /** Said on every result of the batch. */
  readonly notices: readonly Warning[];
};

export type OpenedKey =
  | { readonly kind: 'run'; readonly keyed: KeyedRun }
  | { readonly kind: 'complete'; readonly results: readonly string[] }
  | { readonly kind: 'in_flight'; readonly retryAfterMs: number }
  | { readonly kind: 'other_body' };

const NOT_DURABLE: Warning = {
  code: 'idempotency_not_durable',
  message: 'The Idempotency-Key is remembered only while this process lives.',
};
const NOT_KEPT: Warning = {
  code: 'idempotency_not_kept',
  message: 'The Idempotency-Key could not be kept: sending this batch again may run it again.',
};

// A third of the lease: two renewals may get lost.
const RENEW_EVERY_MS = 1500;

const NO_EARLIER: ReadonlyMap<number, EarlierCall> = new Map();

/** Opens the record of a key: of all that try at once, one gets to run the batch. */
export const openKey = async (
  batch: KeyedBatch,
  { keys, observer }: { readonly keys: KeyedStore; readonly observer: CallObserver },
): Promise<OpenedKey> => {
  const opening = await keys.open(batch);
  switch (opening.kind) {
    case 'unavailable':
      observer.keyUsed('unavailable');
      return { kind: 'run', keyed: AWAY };
    case 'in_flight':
      observer.keyUsed('conflict');
      return opening;
    case 'other_body':
      observer.keyUsed('mismatch');
      return opening;
    case 'complete':
      observer.keyUsed('replayed');
      return opening;
    case 'held':
      observer.keyUsed(opening.record.earlier.size === 0 ? 'new' : 'resumed');
      return { kind: 'run', keyed: holdRecord(opening.record, keys.durability) };
  }
};

const AWAY: KeyedRun = {
  state: 'away',
  earlier: NO_EARLIER,
  start: async () => 'away',
  finish: async () => 'away',
  amend: async () => undefined,
  letGo: () => undefined,
  notices: [NOT_KEPT],
};

const away = (): 'away' => 'away';

const holdRecord = (record: HeldRecord, durability: KeyedStore['durability']): KeyedRun => {
  // A renewal that fails is not the last word: the next may not, and `start` and `finish` ask the record themselves.
  const timer = setInterval(() => void record.renew().catch(away), RENEW_EVERY_MS);
  timer.unref();
  let isFinished = false;
  return {
    state: 'held',
    earlier: record.earlier,
    start: (index) => record.start(index).catch(away),
    finish: (results) => {
      isFinished = true;
      return record.commit(results).catch(away);
    },
    letGo: () => {
      clearInterval(timer);
      // Nobody waits for its lease to end; marks of writes that began stay.
      if (!isFinished) void record.commit([]).catch(away);
    },
    amend: (index, result) => record.amend(index, result).catch(() => undefined),
    notices: durability === 'process' ? [NOT_DURABLE] : [],
  };
};

/** A result's text with one more warning: for the rare case that something is known only after it was made. */
export const withWarning = (result: string, warning: Warning): string => {
  const parsed: { readonly warnings?: readonly Warning[] } = JSON.parse(result);
  return JSON.stringify({ ...parsed, warnings: [...(parsed.warnings ?? []), warning] });
};

export const NOT_RECORDED: Warning = {
  code: 'idempotency_not_recorded',
  message: 'The result may not have been kept under the Idempotency-Key: a repeat may not give this answer again.',
};
