import type { FastifyInstance } from 'fastify';
import type { BeginTrace } from './request-tracing.ts';

/**
 * Begins the trace of every batch that the gate has let in, before its body is read, and ends it when its answer is sent or nobody
 * waits for it any more. null: nothing is traced.
 */
export const addRequestTracing = (app: FastifyInstance, beginTrace: BeginTrace | null): void => {
  if (beginTrace === null) return;
  app.addHook('onRequest', (request, { raw }, done) => {
    if (request.door === 'batch') {
      const { headers, id } = request;
      const traceparent = textOf(headers['traceparent']);
      const tracestate = textOf(headers['tracestate']);
      const route = request.route ?? '/tool-calls';
      const trace = beginTrace({ method: 'POST', route, requestId: id, traceparent, tracestate });
      request.trace = trace;
      // Not onResponse: it does not run where the client has gone.
      if (trace !== null) raw.once('close', () => trace.ended(raw.writableFinished ? raw.statusCode : null));
    }
    done();
  });
};

const textOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;
