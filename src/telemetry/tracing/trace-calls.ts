import { type Context, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import type { BatchTrace } from '../../executor/batch-trace.ts';
import type { ToolInvoked } from '../../executor/call-observer.ts';
import { type SpanText, toCallAttributes, toStatusMessage } from './call-attributes.ts';
import { ATTRIBUTE, toCallSpanName } from './span-names.ts';
import type { TraceGuard } from './trace-guard.ts';
import { formatTraceparent } from './traceparent.ts';

export type CallTracing = SpanText & {
  readonly tracer: Tracer;
  readonly guard: TraceGuard;
};

/** The request that the calls belong to. */
export type TracedRequest = {
  readonly context: Context;
  /** Unix milliseconds, without steps of the wall clock. */
  readonly clock: () => number;
  readonly counted: (event: ToolInvoked) => void;
};

type StartedCall = { readonly span: Span; readonly startedAt: number; readonly queueMs: number };

/** One span per call of a batch, from the start of its handler to its answer. */
export const traceCalls = (request: TracedRequest, tracing: CallTracing): BatchTrace => {
  const { tracer, guard } = tracing;
  const started = new Map<number, StartedCall>();
  const start = (tool: string, startedAt: number): Span =>
    tracer.startSpan(toCallSpanName(tool), { startTime: startedAt }, request.context);
  return {
    callStarted: guard((call, queueMs) => {
      const startedAt = request.clock();
      const span = start(call.tool.name, startedAt);
      started.set(call.index, { span, startedAt, queueMs });
      return formatTraceparent(span.spanContext());
    }, null),
    callEnded: guard((event, answer) => {
      request.counted(event);
      const begun = started.get(event.index);
      // One that never started, or is a copy, is a moment: that of its answer.
      const startedAt = begun?.startedAt ?? request.clock();
      const span = begun?.span ?? start(event.tool, startedAt);
      span.setAttributes(toCallAttributes(event, answer, tracing));
      if (begun !== undefined) span.setAttribute(ATTRIBUTE.queueMs, Math.round(begun.queueMs * 100) / 100);
      if (!event.success) span.setStatus({ code: SpanStatusCode.ERROR, message: toStatusMessage(event, tracing) });
      span.end(begun === undefined ? startedAt : startedAt + event.durationMs);
    }, undefined),
  };
};
