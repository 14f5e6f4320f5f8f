import { randomUUID } from 'node:crypto';
import type {
  EarlierCall,
  FoundAnswer,
  IdempotencyStore,
  KeyedBatch,
  LeasedRecord,
  Opening,
  ResultToKeep,
} from '../../executor/idempotency-store.ts';
import { tenantOfKey } from '../../memory/bounded-store.ts';
import type { StoreMemory } from '../../memory/store-memory.ts';
import type { Decide, RecordStore, Records } from '../../store/record-store.ts';
import type { Seals } from '../../store/seals.ts';
import type { Weight } from '../share-kind.ts';
import { inRoom, type StoreSpace, UNLIMITED_SPACE } from '../store-space.ts';
import {
  type Answer,
  type AnswerRecord,
  answerKind,
  type IdempotencyRecord,
  idempotencyKind,
  removeCall,
  STARTED,
  setCall,
} from './idempotency-kinds.ts';
import { type Names, readByNames, reserveByNames, updateByNames } from './record-names.ts';
import { capResult, LEASE_MS, RECORD_TTL_MS, type ResultLimits, readResults, withoutRoom } from './result-cap.ts';
import { mayAmend, mayCommit, settleCall, toResult } from './standing-results.ts';

// What is larger is committed in several updates, of which each makes sense alone: a batch that is admitted meanwhile waits 50 ms for
// its answer, on the same connection.
const PIECE_BYTES = 512 * 1024;

// A record that could fill the memory for results alone would leave no other its own.
const RECORDS_AT_LEAST = 4;

/** Records of keyed batches in any store of records: each step is one decision on the record. `open` and `find` never reject. */
export const createIdempotencyStore = ({
  store,
  durability,
  space = UNLIMITED_SPACE,
  toNames = (recordKey) => [recordKey],
  ...options
}: {
  readonly store: RecordStore;
  readonly durability: IdempotencyStore['durability'];
  /** Where results take room. Left out: there is room for all. */
  readonly space?: Pick<StoreSpace, 'take' | 'give'>;
  readonly maxResultBytes?: number;
  /** Under which names the record of a key is found, in the order in which they are taken. Left out: under its own. */
  readonly toNames?: Seals['toNames'];
  /** That of this process, where the records are in it. */
  readonly memory?: Pick<StoreMemory, 'limitOf'>;
}): IdempotencyStore => {
  const { maxResultBytes, memory } = options;
  const maxRecordBytes = memory && Math.floor(memory.limitOf('results') / RECORDS_AT_LEAST);
  const limits = { maxResultBytes, maxRecordBytes };
  const records = store.open(idempotencyKind);
  const answers = store.open(answerKind);
  return {
    durability,
    open: async (requested) => {
      const id = randomUUID();
      const names = toNames(requested.recordKey);
      const decide: Decide<IdempotencyRecord, Claim> = (record, now) => reserveRecord(record, requested, id, now);
      const named = await orAway(() => reserveByNames(records, names, id, decide));
      if (named === AWAY) return findComplete(records, requested, names);
      const { claim, name } = named;
      const batch = { ...requested, recordKey: name };
      if (claim.kind === 'complete') {
        const remembered = await remember(answers, batch, claim.life, []);
        return { kind: 'complete', results: claim.results, isFound: remembered === 'kept' };
      }
      if (claim.kind !== 'held') return claim;
      return openLeased({ ...claim, batch, id, limits, records, answers, space });
    },
    look: async ({ recordKey, ...batch }) => {
      const look = (record: IdempotencyRecord, now: number) => reserveRecord({ ...record }, batch, LOOKED, now);
      const found = await orAway(() => readByNames(records, toNames(recordKey), look));
      if (found === AWAY) return { kind: 'unavailable' };
      if (found === null) return { kind: 'open', earlier: new Map(), mayBePending: false };
      return found.kind === 'held' ? { ...found, kind: 'open' } : found;
    },
    find: (requestKey) =>
      orAway(async () => {
        const answer = await answers.read(requestKey, (state) => state.answer);
        return answer === null ? null : records.read(answer.record, (record, now) => toFound(record, answer, now));
      }),
    settle: async ({ recordKey, place, requestKey }, uncapped, kind) => {
      const capped = capResult(uncapped, 0, limits);
      const weight = createWeight(Buffer.byteLength(capped));
      const hasRoom = (await space.take(tenantOfKey(recordKey), 'results', weight)) === null;
      const result = hasRoom ? capped : withoutRoom(capped);
      const kept = kind === 'final' ? result : null;
      await updateByNames(records, toNames(recordKey), (record) => settleCall(record, place, kept));
      if (requestKey !== '') await answers.update(requestKey, settleAnswer(place, result, kind), 'long');
    },
  };
};

/** Of a call that was said not to have happened, and has, the answer alone says something else than the record. */
const settleAnswer =
  (place: number, result: string, kind: 'final' | 'repeatable') =>
  ({ answer }: AnswerRecord): void => {
    const at = answer?.own.findIndex(([index]) => index === place) ?? -1;
    if (at >= 0) answer?.own.splice(at, 1, [place, result]);
    else if (kind === 'repeatable') answer?.own.push([place, result]);
  };

/** Before any call is accepted what an answer may name is there, whatever happens to the store after this. */
const openLeased = async (parts: Try): Promise<Opening> => {
  const { answers, batch, life, mayBePending } = parts;
  const record = new HeldRecord(parts);
  if (batch.answer !== 'promised' && !mayBePending) return { kind: 'held', record };
  if ((await remember(answers, batch, life, null)) === 'kept') return { kind: 'held', record };
  void record.commit([]).catch(ignore);
  return { kind: 'unavailable' };
};

const toFound = (record: IdempotencyRecord, answer: Answer, now: number): FoundAnswer | null => {
  if (record.life !== answer.life) return null;
  const own = new Map(answer.own);
  const results = Array.from({ length: answer.calls }, (_, at) => own.get(at) ?? toResult(record.calls.get(at)));
  return { recordKey: answer.record, results, isOpen: toLeaseLeft(record, now) > 0, isPromised: record.promised };
};

const ignore = (): void => undefined;

/** What a store that takes no writes still says. */
const findComplete = async (
  records: Records<IdempotencyRecord>,
  { body, calls }: KeyedBatch,
  names: Names,
): Promise<Opening> => {
  const read = (record: IdempotencyRecord) => (record.body === body ? readCommitted(record, calls) : null);
  const results = await orAway(() => readByNames(records, names, read));
  return results === null || results === AWAY ? { kind: 'unavailable' } : { kind: 'complete', results, isFound: false };
};

/** All results, once a try has committed them; null: there are some to come. */
const readCommitted = (record: IdempotencyRecord, calls: number): readonly string[] | null =>
  record.committer === '' ? null : readResults(calls, (index) => toResult(record.calls.get(index)));

const AWAY = 'unavailable';

// The id of a try that does not open the record.
const LOOKED = '';

const orAway = async <Answer>(ask: () => Answer | Promise<Answer>): Promise<Answer | typeof AWAY> => {
  try {
    return await ask();
  } catch (_failed) {
    return AWAY;
  }
};

const toEarlierCalls = ({ calls }: IdempotencyRecord): ReadonlyMap<number, EarlierCall> =>
  new Map(
    [...calls].map(([index, result]) => [
      index,
      result === STARTED ? { state: 'started' } : { state: 'committed', result },
    ]),
  );

type Claim = ReturnType<typeof reserveRecord>;

/** What a batch that opens the record gets; `held` is a try of its own, with a lease. */
const reserveRecord = (
  record: IdempotencyRecord,
  { body, calls, answer }: Pick<KeyedBatch, 'body' | 'calls' | 'answer'>,
  id: string,
  now: number,
) => {
  const isNew = record.life === '';
  if (!isNew && record.body !== body) return { kind: 'other_body' } as const;
  const retryAfterMs = toLeaseLeft(record, now);
  if (retryAfterMs > 0) return { kind: 'in_flight', retryAfterMs } as const;
  const results = readCommitted(record, calls);
  if (results !== null) return { kind: 'complete', results, life: record.life } as const;
  if (isNew) {
    record.life = id;
    record.body = body;
  }
  const mayBePending = record.promised;
  record.promised ||= answer === 'promised';
  record.holder = id;
  record.leaseEndsAt = now + LEASE_MS;
  record.endsAt = now + RECORD_TTL_MS;
  return { kind: 'held', life: record.life, earlier: toEarlierCalls(record), mayBePending } as const;
};

// A lease that ends later than any can is of a clock that was set back by more than a lease: it is over.
const toLeaseLeft = ({ leaseEndsAt }: IdempotencyRecord, now: number): number => {
  const left = Math.ceil(leaseEndsAt - now);
  return left > 2 * LEASE_MS ? 0 : Math.min(left, LEASE_MS);
};

/** Holds the record for another lease, unless another try has taken it over, or this one has committed. */
const renewLease = (record: IdempotencyRecord, id: string, now: number): 'held' | 'lost' => {
  if (record.holder !== id || record.leaseEndsAt === 0) return 'lost';
  record.leaseEndsAt = now + LEASE_MS;
  return 'held';
};

/** Results of a commit: with the last of them it ends the lease. */
type Piece = { readonly results: readonly ResultToKeep[]; readonly isLast: boolean };

const commitPiece = (record: IdempotencyRecord, id: string, { results, isLast }: Piece, now: number): void => {
  for (const one of results) {
    const { index, result } = one;
    if (mayCommit(record, one, id)) setCall(record, index, result);
    // Its call never ran.
    else if (record.calls.get(index) === STARTED) removeCall(record, index);
  }
  record.leaseEndsAt = isLast ? 0 : now + LEASE_MS;
  if (isLast) record.committer = id;
  record.endsAt = now + RECORD_TTL_MS;
};

/** At least one, for it is the last that ends the lease. */
const splitResults = (results: readonly ResultToKeep[]): readonly Piece[] => {
  let piece: ResultToKeep[] = [];
  let bytes = 0;
  const pieces = [piece];
  for (const one of results) {
    if (bytes >= PIECE_BYTES) {
      piece = [];
      bytes = 0;
      pieces.push(piece);
    }
    piece.push(one);
    bytes += one.kind !== 'repeatable' ? Buffer.byteLength(one.result) : 0;
  }
  return pieces.map((ofPiece, at) => ({ results: ofPiece, isLast: at === pieces.length - 1 }));
};

/** A try that holds its record, and what that and its answer are kept in. */
type Try = Omit<Extract<Claim, { readonly kind: 'held' }>, 'kind'> & {
  readonly records: Records<IdempotencyRecord>;
  readonly answers: Records<AnswerRecord>;
  readonly space: Pick<StoreSpace, 'take' | 'give'>;
  readonly batch: KeyedBatch;
  readonly id: string;
  readonly limits: ResultLimits;
};

/** The record for the try that holds it. */
class HeldRecord implements LeasedRecord {
  readonly earlier: LeasedRecord['earlier'];
  readonly mayBePending: boolean;
  readonly #try: Try;
  /** Calls whose results this try has committed; of one that is unknown, that result. */
  readonly #kept = new Map<number, string | null>();
  /** Of all results that the record has. */
  #bytes = 0;
  /** A commit was not answered: it may have ended the lease, and another try may have begun since. */
  #isUnsure = false;

  constructor(parts: Try) {
    this.#try = parts;
    this.earlier = parts.earlier;
    this.mayBePending = parts.mayBePending;
    for (const call of parts.earlier.values())
      if (call.state === 'committed') this.#bytes += Buffer.byteLength(call.result);
  }

  // The one step that a store which is away is not asked for: the call then does not run.
  readonly start = async (index: number): Promise<'held' | 'lost'> => {
    const { batch, id, records } = this.#try;
    return records.update(
      batch.recordKey,
      (record, now) => {
        const state = renewLease(record, id, now);
        if (state === 'held' && !record.calls.has(index)) setCall(record, index, STARTED);
        return state;
      },
      'long',
    );
  };

  readonly renew = (): Promise<'held' | 'lost'> => this.#update((record, now) => renewLease(record, this.#try.id, now));

  readonly commit: LeasedRecord['commit'] = async (results, answer) => {
    const { batch, space } = this.#try;
    let bytes = this.#bytes;
    const capped = results.map((one) => {
      const result = this.#cap(one.result, bytes);
      bytes += Buffer.byteLength(result);
      return { ...one, result };
    });
    const weight = createWeight(bytes - this.#bytes);
    const hasRoom = capped.length === 0 || (await this.#takeRoom(weight));
    // The marks of writes that began stay: none of them runs again.
    const stored = hasRoom ? capped : capped.filter(({ kind }) => kind === 'repeatable');
    // What runs again with the same key is in its answer alone, for the record has none of it.
    const own = stored.filter(({ kind }) => kind === 'repeatable');
    const commit = () => this.#commitAll(stored, hasRoom ? own : null, answer);
    // What is tried again takes its room again.
    const state = await (hasRoom ? inRoom(space, tenantOfKey(batch.recordKey), weight, commit) : commit());
    this.#isUnsure = false;
    this.#bytes = bytes;
    if (state === 'lost') return 'lost';
    if (!hasRoom) return 'marked';
    for (const one of stored) this.#noteKept(one);
    return 'held';
  };

  readonly amend = async (index: number, result: string): Promise<void> => {
    const { life } = this.#try;
    const unknown = this.#kept.get(index);
    if (unknown === undefined) return;
    const capped = this.#cap(result, this.#bytes);
    const bytes = Buffer.byteLength(capped);
    this.#bytes += bytes;
    if (!(await this.#takeRoom(createWeight(bytes)))) return;
    await this.#update((record) => {
      if (record.life === life && mayAmend(record, index, unknown)) setCall(record, index, capped);
    });
  };

  #noteKept({ index, kind, result }: ResultToKeep): void {
    if (kind !== 'repeatable') this.#kept.set(index, kind === 'unknown' ? result : null);
  }

  #cap(result: string, usedBytes: number): string {
    return capResult(result, usedBytes, this.#try.limits);
  }

  async #update<Result>(decide: Decide<IdempotencyRecord, Result>): Promise<Result> {
    return this.#try.records.update(this.#try.batch.recordKey, decide, 'always');
  }

  async #takeRoom(weight: Weight): Promise<boolean> {
    const { batch, mayBePending, space } = this.#try;
    // A caller that was told to ask again finds its results by this record alone.
    const what = batch.answer === 'promised' || mayBePending ? 'pending_results' : 'results';
    return (await space.take(tenantOfKey(batch.recordKey), what, weight)) === null;
  }

  /**
   * `own`: what only this answer has; null: it is not to be found. The answer goes with the last piece, in one command where there is
   * one server. Where a death leaves one of the two alone, `find` knows of nothing, or of what a later try commits.
   */
  async #commitAll(
    results: readonly ResultToKeep[],
    own: readonly ResultToKeep[] | null,
    answer: 'named' | undefined,
  ): Promise<'held' | 'lost'> {
    const { batch, id, life, answers } = this.#try;
    const wasUnsure = this.#isUnsure;
    this.#isUnsure = true;
    let state: 'held' | 'lost' = 'held';
    let remembered: 'kept' | 'away' = 'kept';
    for (const piece of splitResults(results)) {
      const committed = this.#update((record, now) => {
        if (record.holder !== id) return wasUnsure && record.committer === id ? 'held' : 'lost';
        commitPiece(record, id, piece, now);
        return 'held';
      });
      const isAnswered = piece.isLast && own !== null;
      [state, remembered] = await Promise.all([committed, isAnswered ? remember(answers, batch, life, own) : 'kept']);
      if (state === 'lost') break;
    }
    // The record of another try has, or will have, other results.
    const found = state === 'lost' ? await remember(answers, batch, life, results) : remembered;
    if (found === 'away' && answer === 'named') throw new Error('The answer could not be kept.');
    return state;
  }
}

const createWeight = (bytes: number): Weight => ({ bytes, endsAt: Date.now() + RECORD_TTL_MS });

/**
 * Notes what a request was answered; `own` are the results that only this answer has; null: it is not answered yet, and what an
 * earlier try of it was answered stays. So does the answer of another record. Never rejects: without it `find` knows of nothing,
 * and a record that was kept stays kept.
 */
const remember = (
  answers: Records<AnswerRecord>,
  { recordKey, requestKey, calls }: KeyedBatch,
  life: string,
  own: readonly ResultToKeep[] | null,
): Promise<'kept' | 'away'> => {
  const results = (own ?? []).map(({ index, result }): [number, string] => [index, result]);
  const answer = { record: recordKey, life, calls, own: results };
  const note = (state: AnswerRecord): void => {
    const before = state.answer ?? { ...answer, life: '' };
    if (before.record === recordKey && (own !== null || before.life !== life)) state.answer = answer;
  };
  const update = async (): Promise<void> =>
    requestKey === '' ? undefined : answers.update(requestKey, note, 'always');
  return update().then(
    () => 'kept',
    () => 'away',
  );
};
