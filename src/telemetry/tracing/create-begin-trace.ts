import {
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { BatchTrace } from '../../executor/batch-trace.ts';
import type { ToolInvoked } from '../../executor/call-observer.ts';
import { toUntracedCalls } from './pass-trace-on.ts';
import { ATTRIBUTE, toRequestSpanName } from './span-names.ts';
import { type CallTracing, traceCalls } from './trace-calls.ts';
import { formatTraceparent, parseTraceparent } from './traceparent.ts';

// As many characters as a request id may have.
const MAX_REQUEST_ID = 64;

export type RequestTracing = CallTracing & {
  /** Milliseconds that never step back. */
  readonly now: () => number;
  /** Unix milliseconds. */
  readonly time: () => number;
};

type RequestHead = {
  readonly method: string;
  readonly route: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
};

/**
 * Begins the trace of a request with a span of its own, as a part of its caller's trace where a valid `traceparent`
 * came. Whether it is sampled is decided here once: of a trace that is not, no span of a call is made.
 */
export const createBeginTrace = (tracing: RequestTracing) =>
  tracing.guard((request: RequestHead) => {
    const clock = createClock(tracing);
    const parent = toParentContext(request, tracing);
    const name = toRequestSpanName(request.method, request.route);
    const span = tracing.tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: clock() }, parent);
    if (!span.isRecording()) return toUnsampledTrace(span);
    span.setAttributes({
      [ATTRIBUTE.method]: request.method,
      [ATTRIBUTE.route]: request.route,
      [ATTRIBUTE.requestId]: tracing.cutText(request.requestId, MAX_REQUEST_ID),
    });
    return toRecordedTrace(span, trace.setSpan(parent, span), clock, tracing);
  }, null);

/** The spans of one trace must not disagree because the wall clock was set meanwhile. */
const createClock = ({ now, time }: RequestTracing): (() => number) => {
  const offset = time() - now();
  return () => offset + now();
};

// A tracestate with a secret in it is left out as a whole: what is left of it would be no tracestate.
const toParentContext = ({ traceparent, tracestate }: RequestHead, { cutText }: RequestTracing): Context => {
  const parent = parseTraceparent(traceparent);
  if (parent === null) return ROOT_CONTEXT;
  const isClean = tracestate !== undefined && cutText(tracestate, tracestate.length) === tracestate;
  const state = !isClean ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...parent, ...state, isRemote: true });
};

const toUnsampledTrace = (span: Span) => {
  const context = span.spanContext();
  return {
    traceId: context.traceId,
    ofBatch: (): BatchTrace => toUntracedCalls(formatTraceparent(context)),
    ended: () => undefined,
  };
};

const toRecordedTrace = (span: Span, context: Context, clock: () => number, tracing: CallTracing) => {
  let answered: { calls: number; failed: number } | null = null;
  const ofBatch = ({ session }: { readonly session: string | null }): BatchTrace => {
    const counts = { calls: 0, failed: 0 };
    answered = counts;
    if (session !== null) span.setAttribute(ATTRIBUTE.conversation, session);
    const counted = ({ success }: ToolInvoked): void => {
      counts.calls += 1;
      if (!success) counts.failed += 1;
    };
    return traceCalls({ context, clock, counted }, tracing);
  };
  const ended = (status: number | null): void => {
    if (answered !== null) {
      span.setAttributes({ [ATTRIBUTE.calls]: answered.calls, [ATTRIBUTE.failed]: answered.failed });
    }
    endRequest(span, status);
    span.end(clock());
  };
  return {
    traceId: span.spanContext().traceId,
    ofBatch: tracing.guard(ofBatch, null),
    ended: tracing.guard(ended, undefined),
  };
};

/** By OpenTelemetry's rules for servers a 4xx is no error of the service's; failed calls have spans of their own. */
const endRequest = (span: Span, status: number | null): void => {
  if (status === null) {
    // As the calls say it whose client went away.
    span.setAttribute(ATTRIBUTE.error, 'cancelled');
    return;
  }
  span.setAttribute(ATTRIBUTE.status, status);
  if (status < 500) return;
  span.setAttribute(ATTRIBUTE.error, String(status));
  span.setStatus({ code: SpanStatusCode.ERROR });
};
