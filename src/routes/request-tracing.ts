import type { BatchTrace } from '../executor/batch-trace.ts';

/** The trace of one request. */
export type RequestTrace = {
  /** 32 hex digits: the caller's where it sent a valid `traceparent`. */
  readonly traceId: string;
  /** How the calls of its batch are traced; `session` is the opaque key of the session, null without one. */
  readonly ofBatch: (batch: { readonly session: string | null }) => BatchTrace | null;
  /** The last byte of the answer is sent; null where the client went away before. */
  readonly ended: (status: number | null) => void;
};

/** Begins the trace of a request; null where nothing is traced and the caller sent no valid `traceparent`. Never throws. */
export type BeginTrace = (request: {
  readonly method: string;
  /** The route's pattern, never the path. */
  readonly route: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
}) => RequestTrace | null;
