import type { Effects } from '../contract/failure.ts';
import type { ToolContext, ToolLog, ToolProgress } from '../tools/tool.ts';
import { toJsonValue } from './json-proof.ts';

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
  /** Read when the handler asks for it. Left out: it can have no effect. */
  readonly effectId?: string;
  /** null or left out: the batch is not traced. */
  readonly traceparent?: string | null;
  readonly createLog: CreateCallLog;
  /** Where progress goes; null or left out: to the call's log. */
  readonly onProgress?: ((update: ToolProgress) => void) | null;
  /** Where parts go, as JSON text; null or left out: nobody watches, and they are dropped unread. */
  readonly onPart?: ((valueJson: string) => void) | null;
};

// A handler that reports every row it reads must not drown the log.
const MAX_PROGRESS = 1000;

// What one call may show: a page of text a part, and more than anybody reads while it runs.
const MAX_PARTS = 1000;
const MAX_PART_BYTES = 262_144;
const MAX_PARTS_BYTES = 4_194_304;

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
  #part: ((value: unknown) => void) | undefined;

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

  get effectId(): string {
    return this.#facts.effectId ?? '';
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

  /** Whether anybody watches what the handler shows. */
  get showsParts(): boolean {
    return typeof this.#facts.onPart === 'function';
  }

  // Bound, as progress is.
  get part(): (value: unknown) => void {
    const { onPart } = this.#facts;
    if (typeof onPart !== 'function') return dropPart;
    this.#part ??= createPart(onPart, (reason) => this.log.warn('parts of a call are dropped', { reason }));
    return this.#part;
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

const PARTS_LIMIT = `a call may show ${MAX_PARTS} parts of ${MAX_PART_BYTES} bytes each, ${MAX_PARTS_BYTES} together`;

const dropPart = (): void => undefined;

// Made by the first part, not by the call: most show none, and each member of a context costs every call.
const createPart = (
  onPart: (valueJson: string) => void,
  warn: (reason: string) => void,
): ((value: unknown) => void) => {
  let partsLeft = MAX_PARTS;
  let bytesLeft = MAX_PARTS_BYTES;
  let hasWarned = false;
  const warnOnce = (reason: string): void => {
    if (!hasWarned) warn(reason);
    hasWarned = true;
  };
  return (value) => {
    const proof = partsLeft === 0 ? null : toJsonValue(value, Math.min(MAX_PART_BYTES, bytesLeft));
    if (proof?.kind !== 'json') {
      warnOnce(proof?.kind === 'invalid' ? `a part is not JSON: ${proof.problem}` : PARTS_LIMIT);
      return;
    }
    partsLeft -= 1;
    bytesLeft -= Buffer.byteLength(proof.json);
    onPart(proof.json);
  };
};
