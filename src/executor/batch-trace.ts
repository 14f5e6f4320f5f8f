import type { ToolInvoked } from './call-observer.ts';
import type { ReadyCall } from './resolve-call.ts';

/** How the calls of one batch are traced. A tracer that throws changes nothing. */
export type BatchTrace = {
  /**
   * The handler of a call begins, after it waited this long for a slot. Gives the W3C `traceparent` under which the
   * tool can go on with the trace; null where there is none.
   */
  readonly callStarted: (call: ReadyCall, queueMs: number) => string | null;
  /** A call has its answer: one that was never started too. */
  readonly callEnded: (event: ToolInvoked, given: { readonly arguments: unknown }) => void;
};
