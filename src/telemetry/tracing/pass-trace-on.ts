import type { BatchTrace } from '../../executor/batch-trace.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

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
