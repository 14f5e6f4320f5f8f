import { INVALID_SPAN_CONTEXT, type Tracer, trace } from '@opentelemetry/api';
import { ADD, NO_ARGUMENTS, toEvent } from '@recourse/test-support/traced-calls.ts';
import { expect, test } from 'vitest';
import { createBeginTrace } from '#src/request-trace.ts';

const REQUEST = {
  method: 'POST',
  route: '/tool-calls',
  requestId: 'request_0123456789',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: undefined,
} as const;

const refuse = (): never => {
  throw new Error('no');
};

/** A tracer whose spans throw at everything once the first one has begun; or from the very first call. */
const brokenTracer = (from: 'the first span' | 'then on'): Tracer => {
  let begun = from === 'then on' ? 0 : 1;
  const span = { ...trace.wrapSpanContext(INVALID_SPAN_CONTEXT), isRecording: () => true, spanContext: () => CONTEXT };
  const broken = { ...span, setAttribute: refuse, setAttributes: refuse, setStatus: refuse, end: refuse };
  return {
    startSpan: () => {
      begun += 1;
      if (begun > 1) return refuse();
      return { ...broken, ...METHODS, setAttributes: () => broken };
    },
    startActiveSpan: refuse,
  };
};

const CONTEXT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags: 1 };
const METHODS = {
  addEvent: refuse,
  addLink: refuse,
  addLinks: refuse,
  updateName: refuse,
  recordException: refuse,
} as const;

const createTracing = (tracer: Tracer, cutText: (text: string, limit: number) => string = (text) => text) => {
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  const now = () => performance.now();
  const beginTrace = createBeginTrace({ tracer, failed, cutText, content: 'kept', now, time: Date.now });
  return { beginTrace, failures };
};

test('a tracer that makes no span gives no trace', () => {
  const { beginTrace, failures } = createTracing(brokenTracer('the first span'));
  expect(beginTrace(REQUEST)).toBeNull();
  expect(failures).toEqual([new Error('no')]);
});

test('spans that throw disturb nothing, and each is told of', () => {
  const { beginTrace, failures } = createTracing(brokenTracer('then on'));
  const request = beginTrace(REQUEST);
  const calls = request?.ofBatch({ session: null });
  expect(calls?.callStarted(ADD, 0)).toBeNull();
  expect(calls?.callEnded(toEvent(), NO_ARGUMENTS)).toBeUndefined();
  expect(request?.ended(200)).toBeUndefined();
  expect(failures).toHaveLength(3);
  expect(request?.ofBatch({ session: 'anonymous:ab12' })).toBeNull();
});

test('a text that cannot be redacted is not sent', () => {
  const { beginTrace, failures } = createTracing(brokenTracer('then on'), refuse);
  expect(beginTrace(REQUEST)).toBeNull();
  expect(failures).toHaveLength(1);
});
