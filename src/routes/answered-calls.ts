import type { PendingCall, RenderedResult } from '../contract/tool-result.ts';
import type { FoundAnswer } from '../executor/idempotency-store.ts';

/** How long a reading waits, in milliseconds, and for which ends; it waits no longer once `over` resolves. */
export type ResultsWait = {
  readonly waitMs: number;
  readonly until: 'all' | 'any';
  readonly over: Promise<void>;
};

/** Results as a batch was answered them, or would be now. `isPromised`: also where none was pending its status is told. */
export type AnsweredBatch = { readonly results: readonly RenderedResult[]; readonly isPromised: boolean };

/** Results as they are now. `pending` as long as any is; left out where none was, and no such answer was promised. */
export type ResultsNow = {
  readonly results: readonly RenderedResult[];
  readonly status?: 'pending' | 'done';
  /** Those of them that were answered as pending, and are the results of ends now. */
  readonly late: readonly RenderedResult[];
};

export type AnsweredListener = {
  readonly result: (index: number, result: RenderedResult) => void;
  readonly progress: (index: number, progress: NonNullable<PendingCall['progress']>) => void;
};

/** The parts of the calls of one batch, as one reader is told of them. */
export type PartsReading = {
  /** Tells of the parts of this call from now on. Resolves when they arrive; never rejects. */
  readonly watch: (index: number, handle: string) => Promise<void>;
  /** The same for those of the results that are pending. */
  readonly watchResults: (results: readonly RenderedResult[]) => void;
  readonly stop: () => void;
};

/** Results that were answered before, some of them as pending. Everything rejects with the store. */
export type AnsweredCalls = {
  /**
   * All results of a batch, JSON texts. Those that its store never got are of calls that it has accepted, or lost; null: no
   * such call is known, or results are to come.
   */
  readonly complete: (tenant: string, found: FoundAnswer) => Promise<readonly string[] | null>;
  /** The same results as they are now, or after a wait. */
  readonly read: (tenant: string, answered: AnsweredBatch, wait: ResultsWait | null) => Promise<ResultsNow>;
  /**
   * Tells of those that are pending until all have ended, or `over` resolves: how far each is, and each result once. Resolves
   * with all results as they are then.
   */
  readonly follow: (
    tenant: string,
    answered: readonly RenderedResult[],
    listener: AnsweredListener,
    over: Promise<void>,
  ) => Promise<readonly RenderedResult[]>;
  /** Tells one reader what handlers show from now on, of the calls that it is given. `listener`: JSON text. */
  readonly watchParts: (tenant: string, listener: (index: number, valueJson: string) => void) => PartsReading;
  /** Ends those that are pending where that does no harm, or in any case. */
  readonly cancel: (tenant: string, answered: readonly RenderedResult[], how: 'asked' | 'forced') => Promise<void>;
};
