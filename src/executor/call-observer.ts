import type { Effects, Executed, FailureCode, Fault, Outcome } from '../contract/failure.ts';
import type { BudgetMode, DryRunVerdict, RetryState } from '../contract/tool-result.ts';
import type { Tool } from '../tools/tool.ts';
import type { Failure } from './call-outcome.ts';
import type { Denial } from './session-store.ts';

/** One call that has got its answer: every call, on every exit; `code` is null on success. */
export type ToolInvoked = {
  readonly requestId: string;
  /** Of the trace the batch belongs to, 32 hex digits; null without one. */
  readonly traceId: string | null;
  readonly tenant: string;
  /** The name of the key that sent it; null while anonymous. */
  readonly key: string | null;
  /** Opaque session key, null without a session. */
  readonly session: string | null;
  readonly index: number;
  readonly callId: string | number | null;
  /** A registered name, or `_unknown`: safe as a metric label. */
  readonly tool: string;
  readonly success: boolean;
  readonly outcome: Outcome;
  readonly executed: Executed;
  readonly code: FailureCode | null;
  readonly fault: Fault | null;
  readonly fatal: boolean;
  readonly replayed: boolean;
  readonly durationMs: number;
  /** What the model read. */
  readonly message: string;
  /** The value as JSON text; `null` on failures without a payload. Failures are events like successes. */
  readonly valueJson: string;
};

/** One batch that has got its answer. Durations in milliseconds. */
export type BatchAnswered = {
  readonly requestId: string;
  /** Who made that: this service, or the caller. */
  readonly idBy: 'service' | 'caller';
  readonly traceId: string | null;
  readonly tenant: string;
  /** The name of the key that sent it; null while anonymous. */
  readonly key: string | null;
  readonly session: string | null;
  readonly calls: number;
  readonly failed: number;
  readonly durationMs: number;
  readonly slowestCallMs: number;
  /** Whether its call was accepted by another batch, which has told of it as well. */
  readonly isResumed: boolean;
};

export type BudgetDecision = {
  readonly tool: string;
  readonly decision: 'free' | 'retry' | 'denied';
  readonly denial: Denial | null;
  readonly mode: BudgetMode;
};

/** Where calls run: inside the service, or in tool hosts. */
export type Pool = 'inline' | 'hosted';

export const poolOf = ({ runsIn }: Pick<Tool, 'runsIn'>): Pool => (runsIn === 'host' ? 'hosted' : 'inline');

/**
 * Why the service did not take on work: a batch before it was read (`queue`, `event_loop`, `memory`, `files`,
 * `request_memory`), or a call that waited or wanted to (`queue_full`, `deadline`).
 */
export type ShedReason = 'queue' | 'event_loop' | 'memory' | 'files' | 'request_memory' | 'queue_full' | 'deadline';

/**
 * What became of a batch with an Idempotency-Key, or of a write whose id is its key: `new`, or `resumed` where part of it ran again; `replayed` without
 * running, `joined` where that had to be waited for; refused for a `conflict` (still in flight) or `mismatch` (422); `unknown` = a write whose first try nobody saw end;
 * `unavailable` = the store was away.
 */
export type KeyUse = 'new' | 'resumed' | 'replayed' | 'joined' | 'conflict' | 'mismatch' | 'unknown' | 'unavailable';

/** Watches what the executor does. A subscriber that throws changes nothing. */
export type CallObserver = {
  /** null: nobody watches single calls, and no event is made. */
  readonly toolInvoked: ((event: ToolInvoked) => void) | null;
  /** A call is answered for the first time. `tool` is the name it counts under, `failure` is null on success. */
  readonly callAnswered: (tenant: string, tool: string, failure: Failure | null, durationMs: number) => void;
  /** It has failed, and its result is made. */
  readonly callFailed: CallWatch['failed'];
  /** Calls of a batch have succeeded whose tool had failed in its session, in so many rounds in a row. */
  readonly callRecovered: CallWatch['recovered'];
  readonly batchAnswered: (event: BatchAnswered) => void;
  readonly budgetDecided: (event: BudgetDecision) => void;
  /** A call was accepted that may go on after its request. */
  readonly callAccepted: () => void;
  /** A call began to wait for a slot. */
  readonly callQueued: (pool: Pool) => void;
  /** It waits no longer, whatever came of it. */
  readonly callUnqueued: (pool: Pool) => void;
  /** A call waited this long for a slot before its handler began. */
  readonly callStarted: (pool: Pool, queueMs: number) => void;
  readonly callEnded: (pool: Pool) => void;
  readonly shed: (reason: ShedReason) => void;
  /**
   * These tools, and no others, may be called from now on: numbers of new ones begin at 0. Numbers of one that is gone
   * are kept for a while, for it may come back. `missing`: the tool is known and cannot be called.
   */
  readonly toolsOffered: (tools: readonly { readonly name: string; readonly effects: Effects | 'missing' }[]) => void;
  /** A handler ended after its call had been answered. */
  readonly lateResult: (tool: string, ended: 'returned' | 'threw') => void;
  /** A call was answered more than 250 ms after its time limit. */
  readonly deadlineOverrun: (tool: string) => void;
  /** The loop guard refused a call. */
  readonly loopDetected: (tool: string) => void;
  /** A dry run has said what a call would do. `tool` is the name it counts under. */
  readonly callChecked: (tool: string, would: DryRunVerdict) => void;
  /** What became of a key. */
  readonly keyUsed: (result: KeyUse) => void;
  /** Our own bug reached the last-resort net. */
  readonly contractViolated: (error: unknown, requestId: string) => void;
};

/**
 * Counts calls for the pages of people on call. It is told on the path of each call: it notes, and does its work later. Must not throw.
 */
export type CallWatch = {
  /** A call is answered for the first time. `tool` is the name it counts under, `failure` is null on success. */
  readonly answered: (tenant: string, tool: string, failure: Failure | null, durationMs: number) => void;
  /** The same call, where it has failed: `name` is what it asked for, `reference` what the log tells more of it under. */
  readonly failed: (
    event: ToolInvoked,
    failure: Failure,
    call: { readonly name: string | null; readonly reference: string },
    retry: RetryState | null,
  ) => void;
  readonly recovered: (tenant: string, tool: string, failedRounds: number) => void;
  /** A batch is answered. */
  readonly batch: (batch: BatchAnswered) => void;
};

/**
 * Writes the whole failure, with its cause chain, to the log, and gives the reference under which it stands there.
 * Repeating equal lines are not written again: the reference is then that of the last equal one.
 */
export type FailureLog = { readonly write: (call: ToolInvoked, failure: Failure) => string };

/** A call whose handler begins. */
export type TracedCall = { readonly index: number; readonly tool: Pick<Tool, 'name'> };

/** What a trace may want to know of an answered call beside its event. */
export type TracedAnswer = {
  /** The arguments as JSON text, without what the schema marks sensitive; null where no tool was to get them. Made when it is asked for. */
  readonly argumentsText: () => string | null;
  /** The budget after the call; null on success and where none was consulted. */
  readonly retry: RetryState | null;
};

/** How the calls of one batch are traced. A tracer that throws changes nothing. */
export type BatchTrace = {
  /**
   * The handler of a call begins, after it waited this long for a slot. Gives the W3C `traceparent` under which the
   * tool can go on with the trace; null where there is none.
   */
  readonly callStarted: (call: TracedCall, queueMs: number) => string | null;
  /** A call has its answer: one that was never started too. */
  readonly callEnded: (event: ToolInvoked, answer: TracedAnswer) => void;
};

export type CircuitState = 'closed' | 'open' | 'half_open';

/** Watches circuit breakers. Must not throw. */
export type CircuitObserver = {
  /** The worst state of any of the circuits of a tool, or of an upstream that tools share, is another one now. */
  readonly circuitChanged: (tool: string, state: CircuitState) => void;
};

const ignore = (): void => undefined;

/** Counts and logs nothing: for testers, and for measuring what the other one costs. */
export const SILENT_OBSERVER: CallObserver = {
  toolInvoked: null,
  callAnswered: ignore,
  callFailed: ignore,
  callRecovered: ignore,
  batchAnswered: ignore,
  budgetDecided: ignore,
  callAccepted: ignore,
  callQueued: ignore,
  callUnqueued: ignore,
  callStarted: ignore,
  callEnded: ignore,
  shed: ignore,
  toolsOffered: ignore,
  lateResult: ignore,
  deadlineOverrun: ignore,
  loopDetected: ignore,
  callChecked: ignore,
  keyUsed: ignore,
  contractViolated: ignore,
};
