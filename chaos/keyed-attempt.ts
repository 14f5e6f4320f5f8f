import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { PlannedBatch, PlannedCall } from './plan-batch.ts';

/** What is remembered of a result: enough to tell whether another one is the same, in little memory. */
export type SeenResult = Pick<ToolResult, 'outcome' | 'executed'> & {
  readonly code: string;
  readonly isReplayed: boolean;
  /** Of an equal call before it in the batch: it is marked as replayed, too. */
  readonly isCopy: boolean;
  readonly warnings: ReadonlySet<string>;
  /** Of all but what an answer may add to a result that is kept. */
  readonly digest: string;
};

/** One sending of a keyed batch. Times are of `performance.now()`. */
export type Attempt = {
  readonly requestId: string;
  readonly sentAt: number;
  readonly endedAt: number;
  readonly end:
    | { readonly kind: 'answered'; readonly results: readonly SeenResult[]; readonly isReplayed: boolean }
    /** 409, before anything ran. */
    | { readonly kind: 'conflict' }
    /** 503, or nobody listened: nothing ran. */
    | { readonly kind: 'turned_away' }
    /** Nobody knows what became of it. */
    | { readonly kind: 'lost' };
};

export type AnsweredAttempt = Attempt & { readonly end: { readonly kind: 'answered' } };

export type KeyedBatch = PlannedBatch & { readonly key: string };

/** All attempts of one key. */
export type KeyRecord = {
  readonly batch: KeyedBatch;
  readonly attempts: Attempt[];
};

/** The answer could not be written down: a repeat need not give it again. */
export const NOT_RECORDED = 'idempotency_not_recorded';
/** There was no record, for Redis was away. */
export const NOT_KEPT = 'idempotency_not_kept';

export const toSeenResult = (result: ToolResult, calls: KeyedBatch['calls']): SeenResult => {
  const codes = (result.warnings ?? []).map(({ code }) => code);
  const { replayed, warnings, ...said } = result;
  const kept = (warnings ?? []).filter(({ code }) => code !== NOT_RECORDED);
  return {
    outcome: result.outcome,
    executed: result.executed,
    code: result.error?.code ?? 'ok',
    isReplayed: replayed === true,
    isCopy: isCopy(result.index, calls),
    warnings: new Set(codes),
    digest: createHash('sha1')
      .update(JSON.stringify([said, kept]))
      .digest('base64'),
  };
};

const isCopy = (index: number, calls: KeyedBatch['calls']): boolean => {
  const call = calls[index] ?? null;
  return call !== null && calls.slice(0, index).some((other) => other !== null && isEqual(call, other));
};

const isEqual = (one: PlannedCall, other: PlannedCall): boolean =>
  one.id !== null && isDeepStrictEqual([one.id, one.name, one.arguments], [other.id, other.name, other.arguments]);

export const isAnswered = (attempt: Attempt): attempt is AnsweredAttempt => attempt.end.kind === 'answered';

/**
 * There was no record while it ran: an answer says so where a call ran. Where none did there is nothing to say, so an answer
 * that ran nothing and replays nothing may be one of them.
 */
export const isUnrecorded = (attempt: Attempt): boolean =>
  hasWarning(attempt, NOT_KEPT) ||
  (attempt.end.kind === 'answered' &&
    attempt.end.results.every(({ executed, isReplayed, isCopy }) => executed === 'no' && (!isReplayed || isCopy)));

export const hasWarning = ({ end }: Attempt, code: string): boolean =>
  end.kind === 'answered' && end.results.some(({ warnings }) => warnings.has(code));
