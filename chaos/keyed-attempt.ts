import { createHash } from 'node:crypto';
import type { ToolResult } from '#src/contract/tool-result.ts';
import type { PlannedBatch } from './plan-batch.ts';

/** What is remembered of a result: enough to tell whether another one is the same, in little memory. */
export type SeenResult = Pick<ToolResult, 'outcome' | 'executed'> & {
  readonly code: string;
  readonly isReplayed: boolean;
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

export const toSeenResult = (result: ToolResult): SeenResult => {
  const codes = (result.warnings ?? []).map(({ code }) => code);
  const { replayed, warnings, ...said } = result;
  const kept = (warnings ?? []).filter(({ code }) => code !== NOT_RECORDED);
  return {
    outcome: result.outcome,
    executed: result.executed,
    code: result.error?.code ?? 'ok',
    isReplayed: replayed === true,
    warnings: new Set(codes),
    digest: createHash('sha1')
      .update(JSON.stringify([said, kept]))
      .digest('base64'),
  };
};

export const isAnswered = (attempt: Attempt): attempt is AnsweredAttempt => attempt.end.kind === 'answered';

/**
 * There was no record while it ran: an answer says so where a call ran. Where none did there is nothing to say, so an answer
 * that ran nothing and replays nothing may be one of them.
 */
export const isUnrecorded = (attempt: Attempt): boolean =>
  hasWarning(attempt, NOT_KEPT) ||
  (attempt.end.kind === 'answered' &&
    attempt.end.results.every(({ executed, isReplayed }) => executed === 'no' && !isReplayed));

export const hasWarning = ({ end }: Attempt, code: string): boolean =>
  end.kind === 'answered' && end.results.some(({ warnings }) => warnings.has(code));
