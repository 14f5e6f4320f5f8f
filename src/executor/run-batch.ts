import type { ToolRegistry } from '../tools/registry.ts';
import { type AdmittedBatch, admitBatch } from './admit-batch.ts';
import { createAnswerSize } from './answer-size.ts';
import type { Answer, RanBatch } from './answered-batch.ts';
import type { Batch } from './batch.ts';
import { createBatchArguments } from './batch-arguments.ts';
import type { BatchEnd } from './batch-end.ts';
import type { RanCall } from './call-end.ts';
import type { FailureLog } from './call-observer.ts';
import { findDuplicates } from './duplicate-calls.ts';
import { findRefusals } from './find-refusals.ts';
import { keepResults, openKeyOf, toEarlierEnds } from './idempotency/keyed-batch.ts';
import type { KeyedRun } from './idempotency/keyed-run.ts';
import type { KeyedStore } from './idempotency/keyed-store.ts';
import type { OpenWork } from './open-work.ts';
import type { Redactor } from './redaction/redactor.ts';
import { resolveCall } from './resolve-call.ts';
import { runCalls } from './run-calls.ts';
import type { CallSettings, RunningBatch } from './running-batch.ts';
import type { Permit, SessionStore } from './session-store.ts';
import { createNameSuggestions } from './suggest-names.ts';
import { watchLate } from './watch-late.ts';

/** One JSON text per call, in the order of the calls; or why a batch with an Idempotency-Key is not taken. */
export type BatchAnswer =
  | { readonly kind: 'results'; readonly results: readonly string[]; readonly origin: 'run' | 'replayed' }
  | { readonly kind: 'in_flight'; readonly retryAfterMs: number }
  | { readonly kind: 'other_body' };

export type ExecutorSettings = Omit<CallSettings, 'turns'> & {
  readonly registry: ToolRegistry;
  readonly sessions: SessionStore;
  /** Where batches without a session keep their budgets. */
  readonly requests: SessionStore;
  readonly keys: KeyedStore;
  readonly failureLog: FailureLog;
  readonly redactor: Redactor;
  /** Unix milliseconds, for people to read. */
  readonly time: () => number;
  /** Calls that a session's journal keeps; 0 = none. */
  readonly journal: number;
  readonly maxBatchCalls: number;
  /** What the values of one batch come to at most, in bytes of JSON. */
  readonly maxAnswerBytes: number;
  readonly batchConcurrency: number;
};

export type BatchTerms = ExecutorSettings &
  CallSettings & {
    readonly open: OpenWork;
    readonly isDraining: () => boolean;
    readonly answerBatch: (done: RanBatch) => Promise<readonly Answer[]>;
  };

// What a value costs as a result, in an answer and in a message, against what it costs to be written as JSON.
const RENDERING = 4;

/** A batch whose calls are looked up and whose record, if it has one, is held. */
type HeldBatch = Omit<RanBatch, keyof AdmittedBatch | 'ran' | 'notices'> & {
  readonly keyed: KeyedRun | null;
  /** By index: the ends that an earlier try of it left. */
  readonly earlier: ReadonlyMap<number, RanCall>;
};

const NO_ENDS: ReadonlyMap<number, RanCall> = new Map();
const NO_PERMITS: ReadonlyMap<string, Permit> = new Map();
const NOT_ADMITTED: AdmittedBatch = { admission: null, asked: [], verdicts: new Map() };

/**
 * The life of a batch: 1 look up its calls  2 open the record of its key  3 admit it to its session  4 run its calls
 * 5 settle and answer  6 keep the results. That of one call is `executeCall`.
 */
export const runBatch = async (batch: Batch, end: BatchEnd, terms: BatchTerms): Promise<BatchAnswer> => {
  const startedAt = terms.now();
  const given = createBatchArguments(batch.source);
  const { registry, maxBatchCalls } = terms;
  const { mayUse, reading } = batch;
  const suggestions = createNameSuggestions(registry.names, mayUse);
  const resolving = { registry, maxBatchCalls, mayUse, reading, suggestions };
  const calls = batch.calls.map((entry, index) => resolveCall(entry, index, resolving));
  const size = createAnswerSize(terms.maxAnswerBytes, batch.memory);
  const known = { batch, startedAt, calls, given, size, duplicates: findDuplicates(calls, given) };
  const opened = await openKeyOf(batch, calls, terms);
  if (opened === null) return runHeld({ ...known, keyed: null, earlier: NO_ENDS }, end, terms);
  if (opened.kind === 'in_flight' || opened.kind === 'other_body') return opened;
  if (opened.kind === 'complete') {
    const ran = toEarlierEnds(calls, opened, { ...terms, mayUse: batch.mayUse });
    const answers = await terms.answerBatch({ ...known, ...NOT_ADMITTED, ran, notices: [] });
    return { kind: 'results', results: answers.map(({ result }) => result), origin: 'replayed' };
  }
  try {
    const earlier = toEarlierEnds(calls, opened, { ...terms, mayUse: batch.mayUse });
    return await runHeld({ ...known, keyed: opened.keyed, earlier }, end, terms);
  } finally {
    opened.keyed.letGo();
  }
};

const runHeld = async (held: HeldBatch, end: BatchEnd, terms: BatchTerms): Promise<BatchAnswer> => {
  const { batch, calls, given, duplicates, keyed, earlier } = held;
  const refusals = findRefusals(calls, given, keyed, earlier, terms);
  const settled = refusals.size === 0 ? earlier : new Map([...earlier, ...refusals]);
  const asked = calls.filter(({ index }) => !duplicates.copies.has(index) && !settled.has(index));
  const admitted = await admitBatch(batch, asked, given, terms);
  const running = toRunning(held, admitted, settled, end, terms);
  const now = await runCalls(batch, calls, duplicates, running, terms);
  // A copy whose result an earlier try kept has one of its own.
  const ran = earlier.size === 0 ? now : new Map([...now, ...earlier]);
  const done = { ...held, ...admitted, ran, notices: keyed?.notices ?? [] };
  const rendered = RENDERING * held.size.heldBytes();
  const answers = await terms.turns.inTurn(rendered, () => {
    terms.turns.spend(rendered);
    return terms.answerBatch(done);
  });
  const results = keyed === null ? answers.map(({ result }) => result) : await keepResults(answers, keyed);
  const { requestId } = batch;
  watchLate(answers, { ...terms, requestId, startedAt: held.startedAt, admission: admitted.admission, keyed });
  return { kind: 'results', results, origin: 'run' };
};

const toRunning = (
  { batch, given, size, keyed }: HeldBatch,
  { admission, verdicts }: AdmittedBatch,
  settled: ReadonlyMap<number, RanCall>,
  end: BatchEnd,
  { isDraining, redactor }: BatchTerms,
): RunningBatch => ({
  requestId: batch.requestId,
  session: batch.sessionKey,
  caller: batch.caller,
  trace: batch.trace,
  onProgress: toProgressListener(batch.onProgress, redactor),
  given,
  size,
  end,
  permits: admission?.permits ?? NO_PERMITS,
  verdicts,
  settled,
  keyed: keyed === null || batch.idempotency === null ? null : { key: batch.idempotency.key, run: keyed },
  isDraining,
});

const MAX_PROGRESS_LENGTH = 1000;

/** What a tool reports goes out of the service, so it is redacted as what it says beside its value is. */
const toProgressListener = (onProgress: Batch['onProgress'], redactor: Redactor): Batch['onProgress'] =>
  onProgress === null
    ? null
    : (index, { progress, total, message }) => {
        if (!Number.isFinite(progress)) return;
        onProgress(index, {
          progress,
          total: Number.isFinite(total) ? total : undefined,
          message: typeof message === 'string' ? redactor.said(message, MAX_PROGRESS_LENGTH, 'result') : undefined,
        });
      };
