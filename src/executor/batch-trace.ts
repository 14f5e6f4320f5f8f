import type { RetryState } from '../contract/tool-result.ts';
import type { Tool } from '../tools/tool.ts';
import type { ToolInvoked } from './call-observer.ts';

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
