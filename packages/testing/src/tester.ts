import type { SessionView } from 'recourse-server/contract/session';
import type { FailureDetail, ToolChecked, ToolResult } from 'recourse-server/contract/tool-result';
import type { ToolProgress } from 'recourse-server/tools/tool';

// The face of `recourse-server/testing`, in types and one class: what stands behind it is no part of its declarations.

/** Runs tools as a service with default settings does, in this process and without HTTP. */
export type Tester = {
  /**
   * One call in a batch of its own, with the result that a caller gets: it does not reject where the call fails. It rejects
   * with a RefusedBatchError where the service answers no results, and with a TypeError where the arguments cannot be
   * written as JSON.
   */
  readonly call: (tool: string, args?: TestArguments, options?: CallOptions) => Promise<TestResult>;
  /** Several calls in one batch: one result per call, in the order of the calls. Rejects as `call` does. */
  readonly batch: (calls: readonly TestCall[], options?: BatchOptions) => Promise<readonly TestResult[]>;
  /** What a call would do, in `dry_run`: nothing runs but the tool's own check of arguments, and its `preview`. */
  readonly dryRun: (tool: string, args?: TestArguments, options?: Omit<CallOptions, 'lose'>) => Promise<ToolChecked>;
  /**
   * Asks the `reconcile` of a tool alone, as a service does that looks for this effect. Rejects with an Error where the tool has
   * none.
   */
  readonly reconcile: (tool: string, args: TestArguments, sought: SoughtEffect) => Promise<TestVerdict>;
  /** Calls of one session, of the tenant of that name. */
  readonly session: (id: string, options?: { readonly tenant?: string | undefined }) => TestSession;
  readonly clock: TestClock;
  /**
   * The lines that handlers have written by `context.log`, in their order; and, under the name of the tool, where its `reconcile`
   * failed, or has said what turned out to be wrong.
   */
  readonly logs: readonly TestLogLine[];
  /** Ends what still runs, as a service that stops: later calls are `shutting_down`. Resolves when every call is answered. */
  readonly close: () => Promise<void>;
};

export type TesterOptions = {
  /**
   * The moment at which the clock stands: only `clock.advance` moves it, and durations are exact. Left out: the clock runs
   * beside the real time.
   */
  readonly now?: Date | undefined;
};

/** The calls of one session. */
export type TestSession = {
  /** One round with one call. */
  readonly call: (tool: string, args?: TestArguments, options?: Omit<CallOptions, 'session'>) => Promise<TestResult>;
  /** One round: its calls in one batch. */
  readonly round: (
    calls: readonly TestCall[],
    options?: Omit<BatchOptions, 'session'>,
  ) => Promise<readonly TestResult[]>;
  /** The session as `GET /sessions/{id}` shows it, with the slices of the reducers that the tester was given. */
  readonly view: () => Promise<SessionView>;
};

/** The time of a tester: deadlines, budgets, circuits and sessions go by it. Timers inside a handler do not. */
export type TestClock = {
  /** Unix milliseconds. */
  readonly now: () => number;
  /**
   * Moves the time on by `ms` milliseconds. First what was begun goes on until it waits; then each deadline that is reached
   * passes, in order. Await it. Rejects with a RangeError unless `ms` is a finite number of at least 0.
   */
  readonly advance: (ms: number) => Promise<void>;
};

/** Arguments as a model sends them: an object, or a text that holds one. They become JSON on their way, as in a request. */
export type TestArguments = object | string;

/** One entry of `calls`, as in the body of `POST /tool-calls`. */
export type TestCall = {
  readonly name: string;
  /** Left out: `{}`. */
  readonly arguments?: TestArguments | null | undefined;
  readonly id?: string | number | null | undefined;
  /** Milliseconds; may only shorten the tool's own limit. */
  readonly timeout_ms?: number | undefined;
};

/** What goes with a batch: members and headers of `POST /tool-calls`. Times in milliseconds. */
export type BatchOptions = {
  /** The `session_id`. Left out: the batch has no session. */
  readonly session?: string | undefined;
  /** The `round_id`: batches of a session with the same one are one round. */
  readonly roundId?: string | undefined;
  /** The Idempotency-Key. A repeat with the same key and the same calls replays the results. */
  readonly key?: string | undefined;
  readonly order?: 'parallel' | 'sequential' | undefined;
  readonly onError?: 'continue' | 'stop' | undefined;
  /** Of the whole batch; at most five minutes count. */
  readonly deadlineMs?: number | undefined;
  /** Aborted: the caller has gone away, and nobody waits for the answer. */
  readonly signal?: AbortSignal | undefined;
  /** Whose sessions and keys these are. Left out: those of a service without API keys. */
  readonly tenant?: string | undefined;
  /** Whether the caller's API key may use a tool. Left out: every tool. */
  readonly mayUse?: ((tool: string) => boolean) | undefined;
  /** Has the process of each of its runs die. Left out: none does. */
  readonly lose?: Loss | undefined;
};

/**
 * When the process of a run dies, so that nobody knows what it did. `run`: before the handler begins. `answer`: when the handler
 * has ended, whatever it returned or threw. A signal: when it aborts, if the handler has begun by then and not ended.
 */
export type Loss = 'run' | 'answer' | AbortSignal;

/** The effect that a `reconcile` looks for. */
export type SoughtEffect = {
  readonly effectId: string;
  /** When the write began, in Unix milliseconds. Left out: now. */
  readonly startedAt?: number | undefined;
};

/** What a `reconcile` has answered. */
export type TestVerdict = {
  readonly verdict: 'happened' | 'did_not_happen' | 'unclear';
  /** Of `happened`; else null. */
  readonly value: unknown;
  /** For the model; `''` where it gave none. */
  readonly message: string;
  /** Of `unclear`, where it named one; else null. */
  readonly retryAfterMs: number | null;
  /**
   * What is wrong: it threw, gave no verdict, took too long or was given wrong arguments, which counts as unclear; or its value does
   * not fit `output`. null: nothing.
   */
  readonly problem: string | null;
};

/** What goes with one call. Times in milliseconds. */
export type CallOptions = Omit<BatchOptions, 'order' | 'onError'> & {
  /** The id that the model gave the call. */
  readonly id?: string | number | undefined;
  /** The `timeout_ms` of the call: may only shorten the tool's own limit. */
  readonly timeoutMs?: number | undefined;
};

type Result = Omit<ToolResult, 'success' | 'error'> & {
  /** What the handler reported by `context.progress`, in its order. No part of what a caller of the service gets. */
  readonly progress: readonly ToolProgress[];
  /** What the handler showed by `context.part`, or yielded, in its order, without secrets. No part of the result either. */
  readonly parts: readonly unknown[];
};

/** A call that succeeded: the result as the service answers it. */
export type TestSuccess = Readonly<Result & { success: true; error: null }>;

/** A call that did not: the result as the service answers it, and what was thrown. */
export type TestFailure = Readonly<
  Result & {
    success: false;
    error: FailureDetail;
    /** What the handler threw; undefined where it threw nothing. No part of what a caller of the service gets. */
    thrown: unknown;
  }
>;

/** One result. `success` tells which of the two it is. */
export type TestResult = TestSuccess | TestFailure;

/** A line that a handler wrote by `context.log`. */
export type TestLogLine = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  /** As the handler gave them; `{}` where it gave none. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly tool: string;
  /** The id of the call; null where it has none. */
  readonly callId: string | number | null;
};

/** The service answers the batch with a problem instead of results. Nothing of it has run. */
export class RefusedBatchError extends Error {
  override readonly name = 'RefusedBatchError';
  /** The HTTP status of the answer. */
  readonly status: 400 | 409 | 422;
  /** The code of the problem: `invalid_request`, `idempotency_key_in_flight`, `idempotency_key_reused`, … */
  readonly code: string;

  constructor(status: 400 | 409 | 422, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
