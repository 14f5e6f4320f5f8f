import type { FastifyInstance } from 'fastify';
import type { BeginTrace } from './request-tracing.ts';

/** Begins the trace of every batch before anything else is done for it, and ends it when its answer is sent. */
export const addRequestTracing = (app: FastifyInstance, beginTrace: BeginTrace | null): void => {
  if (beginTrace === null) return;
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST' && request.routeOptions.url === '/tool-calls') {
      const { headers, id } = request;
      const traceparent = textOf(headers['traceparent']);
      const tracestate = textOf(headers['tracestate']);
      const trace = beginTrace({ method: 'POST', route: '/tool-calls', requestId: id, traceparent, tracestate });
      request.trace = trace;
      reply.raw.once('close', () => trace?.ended(reply.statusCode));
    }
    done();
  });
};

const textOf = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : undefined;
