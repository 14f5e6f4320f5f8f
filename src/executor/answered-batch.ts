import type { Warning } from '../contract/tool-result.ts';
import type { AdmittedBatch } from './admit-batch.ts';
import type { AnswerSize } from './answer-size.ts';
import type { Batch } from './batch.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { RanCall } from './call-end.ts';
import type { CallObserver, FailureLog, ToolInvoked } from './call-observer.ts';
import type { Duplicates } from './duplicate-calls.ts';
import type { OpenWork } from './open-work.ts';
import type { Redactor } from './redaction/redactor.ts';
import type { ResolvedCall } from './resolve-call.ts';

export type AnswerTerms = {
  readonly now: () => number;
  /** Unix milliseconds, for people to read. */
  readonly time: () => number;
  readonly observer: CallObserver;
  readonly failureLog: FailureLog;
  readonly redactor: Redactor;
  readonly maxResultBytes: number;
  /** Calls that a session's journal keeps; 0 = none. */
  readonly journal: number;
  /** Where a settlement that nobody waits for is noted, so that draining can. */
  readonly open: OpenWork;
};

export type RanBatch = AdmittedBatch & {
  readonly batch: Batch;
  readonly startedAt: number;
  readonly calls: readonly ResolvedCall[];
  readonly given: BatchArguments;
  readonly duplicates: Duplicates;
  readonly ran: ReadonlyMap<number, RanCall>;
  readonly size: AnswerSize;
  /** Said on every result that this batch made. */
  readonly notices: readonly Warning[];
};

/** A call and how it ended; `copy` of an earlier call of the batch, which alone ran. */
export type AnsweredCall = {
  readonly call: ResolvedCall;
  readonly ran: RanCall;
  readonly origin: 'own' | 'copy';
  readonly event: ToolInvoked;
};

/** A result's text, and what it was made of. */
export type Answer = AnsweredCall & {
  readonly result: string;
  readonly reference: string;
  /** Said of the call however it ends, late as well. */
  readonly standing: readonly Warning[];
};
