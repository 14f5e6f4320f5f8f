import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { BatchTrace, ToolInvoked, TracedAnswer } from 'recourse-server/executor/call-observer';
import { formatTraceparent, parseTraceparent, toUntracedCalls } from 'recourse-server/routes/traceparent';
import { ATTRIBUTE, EXECUTE_TOOL, nameCallSpan, nameRequestSpan, TOOL_TYPE } from './span-names.ts';

// As many characters as a request id may have.
const MAX_REQUEST_ID = 64;

type RequestTracing = SpanText & {
  readonly tracer: Tracer;
  /** Called with what a tracer throws: it disturbs nothing. */
  readonly failed: (error: unknown) => void;
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
 * came; null where the tracer throws. Whether it is sampled is decided here once: of a trace that is not, no span of a
 * call is made.
 */
export const createBeginTrace = (tracing: RequestTracing) => {
  const { tracer, cutText, now, time } = tracing;
  return guard(tracing, null, (request: RequestHead) => {
    // The spans of one trace must not disagree because the wall clock was set meanwhile.
    const offset = time() - now();
    const clock = (): number => offset + now();
    const parent = createParentContext(request, tracing);
    const name = nameRequestSpan(request.method, request.route);
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: clock() }, parent);
    const { traceId } = span.spanContext();
    if (!span.isRecording()) {
      const untraced = toUntracedCalls(formatTraceparent(span.spanContext()));
      return { traceId, ofBatch: () => untraced, ended: () => undefined };
    }
    span.setAttributes({
      [ATTRIBUTE.method]: request.method,
      [ATTRIBUTE.route]: request.route,
      [ATTRIBUTE.requestId]: cutText(request.requestId, MAX_REQUEST_ID),
    });
    return traceRequest(span, trace.setSpan(parent, span), clock, tracing);
  });
};

/** `work` that cannot disturb what it traces: where it throws it gives `otherwise`. */
const guard =
  <Parameters extends readonly unknown[], Result>(
    { failed }: Pick<RequestTracing, 'failed'>,
    otherwise: Result,
    work: (...parameters: Parameters) => Result,
  ): ((...parameters: Parameters) => Result) =>
  (...parameters) => {
    try {
      return work(...parameters);
    } catch (error) {
      failed(error);
      return otherwise;
    }
  };

// A tracestate with a secret in it is left out as a whole: what is left of it would be no tracestate.
const createParentContext = ({ traceparent, tracestate }: RequestHead, { cutText }: RequestTracing): Context => {
  const parent = parseTraceparent(traceparent);
  if (parent === null) return ROOT_CONTEXT;
  const isClean = tracestate !== undefined && cutText(tracestate, tracestate.length) === tracestate;
  const state = !isClean ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, { ...parent, ...state, isRemote: true });
};

type Counts = { calls: number; failed: number };

const traceRequest = (span: Span, context: Context, clock: () => number, tracing: RequestTracing) => {
  let counts: Counts | null = null;
  return {
    traceId: span.spanContext().traceId,
    ofBatch: guard(tracing, null, ({ session }: { readonly session: string | null }): BatchTrace | null => {
      counts = { calls: 0, failed: 0 };
      if (session !== null) span.setAttribute(ATTRIBUTE.conversation, session);
      return traceCalls(context, clock, counts, tracing);
    }),
    ended: guard(tracing, undefined, (status: number | null): void => {
      if (counts !== null) span.setAttributes({ [ATTRIBUTE.calls]: counts.calls, [ATTRIBUTE.failed]: counts.failed });
      endRequest(span, status);
      span.end(clock());
    }),
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

/** One span per call of a batch, from the start of its handler to its answer. */
const traceCalls = (context: Context, clock: () => number, counts: Counts, tracing: RequestTracing): BatchTrace => {
  const started = new Map<number, { readonly span: Span; readonly startedAt: number; readonly queueMs: number }>();
  const start = (tool: string, startedAt: number): Span =>
    tracing.tracer.startSpan(nameCallSpan(tool), { startTime: startedAt }, context);
  return {
    callStarted: guard<Parameters<BatchTrace['callStarted']>, string | null>(tracing, null, (call, queueMs) => {
      const startedAt = clock();
      const span = start(call.tool.name, startedAt);
      started.set(call.index, { span, startedAt, queueMs });
      return formatTraceparent(span.spanContext());
    }),
    callEnded: guard<Parameters<BatchTrace['callEnded']>, void>(tracing, undefined, (event, answer) => {
      counts.calls += 1;
      if (!event.success) counts.failed += 1;
      const begun = started.get(event.index);
      // One that never started, or is a copy, is a moment: that of its answer.
      const startedAt = begun?.startedAt ?? clock();
      const span = begun?.span ?? start(event.tool, startedAt);
      span.setAttributes(toCallAttributes(event, answer, tracing));
      if (begun !== undefined) span.setAttribute(ATTRIBUTE.queueMs, Math.round(begun.queueMs * 100) / 100);
      if (!event.success) span.setStatus({ code: SpanStatusCode.ERROR, message: findStatusMessage(event, tracing) });
      // The duration counts from before the span's own start: the span must not outlast the request's.
      span.end(begun === undefined ? startedAt : Math.min(startedAt + event.durationMs, clock()));
    }),
  };
};

/** What spans may say of a call in free text. */
type SpanText = {
  /** The first `limit` characters of a text, without secrets. */
  readonly cutText: (text: string, limit: number) => string;
  /** Whether arguments and results are in spans. */
  readonly content: 'kept' | 'left_out';
};

/** What a call's span says of it. Every text that is not ours is redacted. */
export const toCallAttributes = (event: ToolInvoked, answer: TracedAnswer, text: SpanText): Attributes => ({
  [ATTRIBUTE.operation]: EXECUTE_TOOL,
  [ATTRIBUTE.tool]: event.tool,
  [ATTRIBUTE.toolType]: TOOL_TYPE,
  [ATTRIBUTE.index]: event.index,
  [ATTRIBUTE.outcome]: event.outcome,
  [ATTRIBUTE.executed]: event.executed,
  ...(event.replayed ? { [ATTRIBUTE.replayed]: true } : {}),
  ...(event.session === null ? {} : { [ATTRIBUTE.conversation]: event.session }),
  ...toIdAttribute(event, text),
  ...(event.success ? {} : toFailureAttributes(event, answer)),
  ...(text.content === 'kept' ? toContentAttributes(event, answer, text) : {}),
});

// Nobody looks a longer one up; cut, it would not be found, and might show half a secret.
const MAX_ID = 256;

const toIdAttribute = ({ callId }: ToolInvoked, { cutText }: SpanText): Attributes => {
  const id = callId === null ? '' : String(callId);
  return id === '' || id.length > MAX_ID ? {} : { [ATTRIBUTE.callId]: cutText(id, MAX_ID) };
};

const toFailureAttributes = ({ code, fault, fatal }: ToolInvoked, { retry }: TracedAnswer): Attributes => ({
  ...(code === null ? {} : { [ATTRIBUTE.error]: code }),
  ...(fault === null ? {} : { [ATTRIBUTE.fault]: fault }),
  ...(fatal ? { [ATTRIBUTE.fatal]: true } : {}),
  ...(retry === null
    ? {}
    : {
        [ATTRIBUTE.retryAllowed]: retry.allowed,
        [ATTRIBUTE.retryRemaining]: retry.remaining,
        [ATTRIBUTE.retryLimitedBy]: retry.limited_by,
      }),
});

const toContentAttributes = (event: ToolInvoked, answer: TracedAnswer, { cutText }: SpanText): Attributes => {
  const argumentsText = answer.argumentsText();
  // That of a replay stands in the span of the call that ran.
  const hasResult = !event.replayed && (event.success || event.valueJson !== 'null');
  return {
    ...(argumentsText === null ? {} : { [ATTRIBUTE.arguments]: cutText(argumentsText, MAX_CONTENT) }),
    ...(hasResult ? { [ATTRIBUTE.result]: cutText(event.valueJson, MAX_CONTENT) } : {}),
  };
};

const MAX_CONTENT = 8192;
const MAX_MESSAGE = 300;

/** What the model read of a failure, as a span's status says it. */
export const findStatusMessage = ({ message }: ToolInvoked, { cutText }: SpanText): string =>
  cutText(message, MAX_MESSAGE);
