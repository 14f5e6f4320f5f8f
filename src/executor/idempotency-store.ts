/** A batch that came with an Idempotency-Key, or a call whose id is its key: that is a batch of one. */
export type KeyedBatch = {
  /** Opaque, one key of one tenant. */
  readonly recordKey: string;
  /** Opaque, one request id of one tenant: under it the answer can be asked for again; '': it is only a part of one. */
  readonly requestKey: string;
  /** Digest of what makes two bodies the same. */
  readonly body: string;
  readonly calls: number;
  /**
   * `promised`: its caller is told to ask for the results again, so `open` notes first what they are found under. Every later try of
   * the key is told that its calls may be pending.
   */
  readonly answer?: 'promised';
};

/** A call of an earlier try: its result was kept, or it was started and nobody knows how it ended. */
export type EarlierCall = { readonly state: 'committed'; readonly result: string } | { readonly state: 'started' };

/**
 * A result as it goes into the record. `repeatable`: the same key runs the call again, for it never ran. `unknown`: it is kept where
 * the record has no result, for a check may have found out more meanwhile.
 */
export type ResultToKeep = {
  readonly index: number;
  /** JSON text. */
  readonly result: string;
  readonly kind: 'final' | 'repeatable' | 'unknown';
};

/** The record while this batch holds it: a lease of 5 s under a fencing number. Everything rejects when the store fails. */
export type LeasedRecord = {
  /** Results and marks of earlier tries, by index; empty on the first. */
  readonly earlier: ReadonlyMap<number, EarlierCall>;
  /** An earlier try was promised: it may have accepted its calls as pending ones, or does so yet if it was frozen. */
  readonly mayBePending: boolean;
  /** Notes that this call begins, before it does. `lost`: another batch holds the record, and the call must not run. */
  readonly start: (index: number) => Promise<'held' | 'lost'>;
  /** Holds the record for another 5 s. */
  readonly renew: () => Promise<'held' | 'lost'>;
  /**
   * Writes the results and ends the lease; may be tried again where it rejected. Marks of calls that are not among them
   * stay. `marked`: there was no room for the results, and the marks alone are kept. `lost`: the results are found under
   * the request key alone. `named`: its answer names that key, so it rejects unless `find` knows of the results.
   */
  readonly commit: (results: readonly ResultToKeep[], answer?: 'named') => Promise<'held' | 'marked' | 'lost'>;
  /**
   * Replaces a result that this try committed as final by what its handler came to after the answer, also where another
   * try has begun: it runs no such call again. One that was unknown is replaced only while it is still there.
   */
  readonly amend: (index: number, result: string) => Promise<void>;
};

/** What is found under a request key. */
export type FoundAnswer = {
  /** Names the calls that the batch has accepted, each with its place. */
  readonly recordKey: string;
  /** In the order of the calls, JSON text; null: it is not kept, or not yet. */
  readonly results: readonly (string | null)[];
  /** The batch runs, and more may come. */
  readonly isOpen: boolean;
  /** A try of it was promised: its calls are, or were, pending ones. */
  readonly isPromised: boolean;
};

/** Where all results are kept, these. */
export const toWhole = ({ results }: FoundAnswer): readonly string[] | null => {
  const stored = results.filter((result) => result !== null);
  return stored.length === results.length ? stored : null;
};

export type Opening =
  | { readonly kind: 'held'; readonly record: LeasedRecord }
  /** Every call is committed. `isFound`: and `find` knows of it by this request, too. */
  | { readonly kind: 'complete'; readonly results: readonly string[]; readonly isFound: boolean }
  | { readonly kind: 'in_flight'; readonly retryAfterMs: number }
  | { readonly kind: 'other_body' }
  /** The store is away: nothing can be promised. */
  | { readonly kind: 'unavailable' };

/** What a try would find, were it to open the record now. `open`: it would get to run. */
export type KeyLook =
  | ({ readonly kind: 'open' } & Pick<LeasedRecord, 'earlier' | 'mayBePending'>)
  | { readonly kind: 'complete'; readonly results: readonly string[] }
  | Extract<Opening, { kind: 'in_flight' | 'other_body' | 'unavailable' }>;

/** Where a result is that is unknown. `requestKey`: under which it was answered; '': under none. */
export type SettledPlace = { readonly recordKey: string; readonly place: number; readonly requestKey: string };

/**
 * Records of keyed batches, for 24 hours. `open` is atomic: of any number of replicas that open one key at once, one
 * holds it. A result beyond the cap is kept without its value, and says so.
 */
export type IdempotencyStore = {
  /** `process`: forgotten when this process ends. */
  readonly durability: 'durable' | 'process';
  readonly open: (batch: KeyedBatch) => Promise<Opening>;
  /** What `open` would find: nothing is held, noted or kept alive. */
  readonly look: (batch: Pick<KeyedBatch, 'recordKey' | 'body' | 'calls'>) => Promise<KeyLook>;
  /**
   * The results of the last commit under this request key, of the record that was committed or promised under it first: another
   * one changes nothing. Null where there is none.
   */
  readonly find: (requestKey: string) => Promise<FoundAnswer | null | 'unavailable'>;
  /**
   * Puts what a check has found in the place of a result that is unknown: `final` results stand under the key; a `repeatable` one stands
   * under its request id alone, and the same key runs the call again. A result that is known stays. Rejects where the store fails.
   */
  readonly settle: (place: SettledPlace, result: string, kind: 'final' | 'repeatable') => Promise<void>;
};

/** What the record says, or that the store that keeps it is away. */
export type RecordState = 'held' | 'lost' | 'away';

/** The record of an Idempotency-Key while its batch runs. Nothing here rejects. */
export type RecordLease = {
  /** `away`: there is no record, so writes must not run and nothing is kept. */
  readonly state: 'held' | 'away';
  /** Notes that a write begins. Only where this says `held` may it. */
  readonly start: (index: number) => Promise<RecordState>;
  /**
   * Keeps the results and lets the record go. `marked`: only which writes ran is kept. `given_back`: nothing is, for the
   * pending call did not run and another worker will run it.
   */
  readonly finish: (results: readonly ResultToKeep[]) => Promise<RecordState | 'marked' | 'given_back'>;
  /** Replaces a kept result by what its handler came to after the answer. */
  readonly amend: (index: number, result: string) => Promise<void>;
  /** Holds the record no longer; for a batch that did not finish. */
  readonly release: () => void;
};
