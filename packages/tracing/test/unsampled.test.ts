import { type Tracer, trace } from '@opentelemetry/api';
import { ADD, NO_ARGUMENTS, toEvent } from '@recourse/test-support/traced-calls.ts';
import { expect, test } from 'vitest';
import { createBeginTrace } from '#src/request-trace.ts';

const CONTEXT = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags: 0 };

test('of a trace that is not sampled no span of a call is made and no text is looked at', () => {
  const asked: string[] = [];
  const tracer: Tracer = {
    startSpan: (name) => {
      asked.push(name);
      return trace.wrapSpanContext(CONTEXT);
    },
    startActiveSpan: () => {
      throw new Error('not asked for');
    },
  };
  const fail = (error: unknown): never => {
    throw error;
  };
  const beginTrace = createBeginTrace({
    tracer,
    failed: fail,
    cutText: () => fail(new Error('looked at')),
    content: 'kept',
    now: () => performance.now(),
    time: Date.now,
  });
  const head = { method: 'POST', route: '/tool-calls', requestId: 'r', traceparent: undefined, tracestate: undefined };
  const request = beginTrace(head);
  expect(request?.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
  const calls = request?.ofBatch({ session: null });
  expect(calls?.callStarted(ADD, 0)).toBe('00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00');
  calls?.callEnded(toEvent(), NO_ARGUMENTS);
  request?.ended(200);
  expect(asked).toEqual(['POST /tool-calls']);
});
