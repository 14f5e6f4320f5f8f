import type { Effects } from '../contract/failure.ts';
import type { ToolContext, ToolLog, ToolProgress } from '../tools/tool.ts';

/** Makes a call's log, with the call's ids on every line. */
export type CreateCallLog = (ids: {
  readonly requestId: string;
  readonly tool: string;
  readonly callId: string | number | null;
}) => ToolLog;

export type CallFacts = {
  readonly requestId: string;
  readonly tool: string;
  readonly callId: string | number | null;
  readonly session: string | null;
  /** null or left out: callers have no keys. */
  readonly tenant?: string | null;
  readonly caller?: string | null;
  readonly effects: Effects;
  readonly retriesLeft: number;
  readonly timeoutMs: number;
  /** null or left out: the batch came without an Idempotency-Key. */
  readonly idempotencyKey?: string | null;
  /** null or left out: the batch is not traced. */
  readonly traceparent?: string | null;
  readonly createLog: CreateCallLog;
  /** Where progress goes; null or left out: to the call's log. */
  readonly onProgress?: ((update: ToolProgress) => void) | null;
};

// A handler that reports every row it reads must not drown the log.
const MAX_PROGRESS = 1000;

/** A call's context and the way to abort its signal. Signal, log and progress are made when the handler first asks for them. */
export class CallContext implements ToolContext {
  readonly session: string | null;
  readonly tenant: string | null;
  readonly caller: string | null;
  readonly callId: string | number | null;
  readonly effects: Effects;
  readonly retriesLeft: number;
  readonly timeoutMs: number;
  readonly idempotencyKey: string | null;
  readonly traceparent: string | null;
  readonly #facts: CallFacts;
  #controller: AbortController | undefined;
  #log: ToolLog | undefined;
  #reason: Error | undefined;
  #progressLeft = MAX_PROGRESS;
  #progress: ((update: ToolProgress) => void) | undefined;

  constructor(facts: CallFacts) {
    this.session = facts.session;
    this.tenant = facts.tenant ?? null;
    this.caller = facts.caller ?? null;
    this.callId = facts.callId;
    this.effects = facts.effects;
    this.retriesLeft = facts.retriesLeft;
    this.timeoutMs = facts.timeoutMs;
    this.idempotencyKey = facts.idempotencyKey ?? null;
    this.traceparent = facts.traceparent ?? null;
    this.#facts = facts;
  }

  get isLastAttempt(): boolean {
    return this.retriesLeft === 0;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get log(): ToolLog {
    this.#log ??= this.#facts.createLog(this.#facts);
    return this.#log;
  }

  // Bound: handlers take it out of the context.
  get progress(): (update: ToolProgress) => void {
    this.#progress ??= (update) => this.#report(update);
    return this.#progress;
  }

  #report(update: ToolProgress): void {
    if (this.#progressLeft === 0) return;
    this.#progressLeft -= 1;
    const { onProgress } = this.#facts;
    if (typeof onProgress === 'function') onProgress(update);
    else this.log.debug('progress', { ...update });
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
