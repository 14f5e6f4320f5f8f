import type { Problem } from './wire.ts';

export type RecourseErrorDetails = Omit<RecourseError, 'name' | 'message' | 'stack' | 'cause'>;

/** The service did not take a request, or could not be asked. What becomes of a call is a result and never this. */
export class RecourseError extends Error {
  override readonly name = 'RecourseError';
  /**
   * The code of the problem; `no_answer` where none came, `bad_answer` where it is not one of this service. Of `no_answer`
   * the `cause` is what `fetch` has thrown last.
   */
  readonly code: string;
  /** The status of the last answer; null where there was none. */
  readonly status: number | null;
  readonly problem: Problem | null;
  /** How long the service asks to wait; null where it does not say. */
  readonly retryAfterMs: number | null;
  /** What `recover` takes, and what the service's log calls the request. */
  readonly requestId: string;
  /** Executing again with this key runs nothing a second time. null where the request carried none. */
  readonly idempotencyKey: string | null;
  readonly attempts: number;
  /** Whether any attempt may have reached the tools. Where this is false, nothing has run. */
  readonly mayHaveRun: boolean;

  constructor(message: string, details: RecourseErrorDetails, cause?: unknown) {
    super(message, { cause });
    this.code = details.code;
    this.status = details.status;
    this.problem = details.problem;
    this.retryAfterMs = details.retryAfterMs;
    this.requestId = details.requestId;
    this.idempotencyKey = details.idempotencyKey;
    this.attempts = details.attempts;
    this.mayHaveRun = details.mayHaveRun;
  }
}
