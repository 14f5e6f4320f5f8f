import type { Executed } from '../contract/failure.ts';

/** Marks our error classes across copies of this module and across processes, where `instanceof` fails. */
export const TOOL_ERROR: unique symbol = Symbol.for('recourse.tool-error');
type ToolErrorKind = 'retryable' | 'terminal' | 'upstream_rate_limited' | 'upstream_unavailable';

type ToolErrorOptions = {
  /** What to do differently, one sentence. */
  readonly hint?: string;
  readonly retryAfterMs?: number;
  /** A structured error payload: becomes the result's `value`. */
  readonly value?: unknown;
  /** Whether something may have happened. */
  readonly executed?: Executed;
  readonly cause?: unknown;
};

class ToolError extends Error {
  readonly [TOOL_ERROR]: ToolErrorKind;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly value: unknown;
  readonly executed: Executed | undefined;

  constructor(kind: ToolErrorKind, message: string, { cause, ...options }: ToolErrorOptions) {
    super(message, { cause });
    this[TOOL_ERROR] = kind;
    this.hint = options.hint;
    this.retryAfterMs = options.retryAfterMs;
    this.value = options.value;
    this.executed = options.executed;
  }
}

/**
 * "You called this wrong, fix your parameters" (seed 004). The model reads the text as it is. `executed`, for a write tool: `no` is
 * assumed, say otherwise if something may have happened.
 */
export class RetryableToolError extends ToolError {
  override readonly name: string = 'RetryableToolError';

  constructor(message: string, options: ToolErrorOptions = {}) {
    super('retryable', message, options);
  }
}

/**
 * "Repeating this call is pointless." The model reads the text as it is. `executed`, for a write tool: `yes` is assumed, say
 * otherwise if nothing, or perhaps nothing, has happened.
 */
export class TerminalToolError extends ToolError {
  override readonly name: string = 'TerminalToolError';

  constructor(message: string, options: Omit<ToolErrorOptions, 'retryAfterMs'> = {}) {
    super('terminal', message, options);
  }
}

const UPSTREAM_CODES: ReadonlySet<unknown> = new Set(['upstream_rate_limited', 'upstream_unavailable']);
const UPSTREAM_EXECUTED: ReadonlySet<unknown> = new Set(['no', 'maybe', 'yes']);
const UPSTREAM_USE =
  "Write new UpstreamToolError('upstream_unavailable' or 'upstream_rate_limited', text, { executed: 'no' or 'maybe' }).";

/** What the tool talks to is at fault: it limits us (`upstream_rate_limited`) or cannot be reached or heard. */
export class UpstreamToolError extends ToolError {
  override readonly name: string = 'UpstreamToolError';

  /** `executed` is `no` only when the request certainly never took effect (refused, 429), else `maybe`. */
  constructor(
    code: 'upstream_rate_limited' | 'upstream_unavailable',
    message: string,
    options: Omit<ToolErrorOptions, 'value' | 'executed'> & { readonly executed: 'no' | 'maybe' },
  ) {
    // In JavaScript nothing else says so, and what it would come to says nothing of it.
    if (!UPSTREAM_CODES.has(code) || !UPSTREAM_EXECUTED.has(options?.executed)) throw new TypeError(UPSTREAM_USE);
    super(code, message, options);
  }
}
