import type { BatchTrace } from '../executor/call-observer.ts';

/** Where a request stands in its caller's trace. */
type TraceParent = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** One byte; its lowest bit says that the trace is sampled. */
  readonly traceFlags: number;
};

const SHAPE = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/**
 * Reads a `traceparent` (W3C Trace Context, version 00); null where it is malformed. Of a later version those fields
 * are read that it shares with this one, and of its flags the one that says sampled.
 */
export const parseTraceparent = (header: string | undefined): TraceParent | null => {
  const [, version, traceId, spanId, flags, more] = SHAPE.exec(header ?? '') ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  const traceFlags = Number.parseInt(flags, 16);
  if (version === '00') return more === undefined ? { traceId, spanId, traceFlags } : null;
  return { traceId, spanId, traceFlags: traceFlags & SAMPLED };
};

/** Always version 00: no byte of a caller is passed on that was not read. */
export const formatTraceparent = ({ traceId, spanId, traceFlags }: TraceParent): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;

/** Calls of which no span is made: their tools get this `traceparent`, if any. */
export const toUntracedCalls = (traceparent: string): BatchTrace => ({
  callStarted: () => traceparent,
  callEnded: () => undefined,
});

/** Where nothing is traced: the log names the caller's trace, and tools can go on with it. null without one. */
export const passTraceOn = ({ traceparent }: { readonly traceparent: string | undefined }) => {
  if (traceparent === undefined) return null;
  const parent = parseTraceparent(traceparent);
  if (parent === null) return null;
  const calls = toUntracedCalls(formatTraceparent(parent));
  return { traceId: parent.traceId, ofBatch: () => calls, ended: () => undefined };
};
