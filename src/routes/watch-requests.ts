import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BatchTrace } from '../executor/call-observer.ts';
import type { RequestLease } from './request-memory.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The pattern of the route that it has met; undefined where it has met none. */
    route: string | undefined;
    /** What it takes of the memory for requests; null for what is open to all. Released when its answer is sent. */
    hold: RequestLease | null;
    trace: RequestTrace | null;
  }
}

/** A header's text; the first where there are several. */
export const headerOf = ({ headers }: Pick<FastifyRequest, 'headers'>, name: string): string | undefined => {
  const header = headers[name];
  return typeof header === 'string' ? header : header?.[0];
};

export type WatchOptions = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Called for every answer that was sent to its last byte. */
  readonly onResponse: (request: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }) => void;
};

/** Notes which route each request has met, times its answer, and releases what that held when it is sent. */
export const watchRequests = (app: FastifyInstance, { now, onResponse }: WatchOptions): void => {
  const routeOf = createRouteLookup();
  const observe = ({ method, route = '_unmatched' }: FastifyRequest, status: number, ms: number): void =>
    onResponse({ method, route, status, seconds: ms / 1000 });
  app.decorateRequest('route', undefined);
  app.decorateRequest('hold', null);
  app.decorateRequest('trace', null);
  // Not onResponse: with it Fastify watches each answer by two listeners of its own, and times it.
  app.addHook('onRequest', (request, { raw }, done) => {
    const startedAt = now();
    request.route = routeOf(request);
    // It comes when the system has taken the last byte, or when the connection has gone.
    raw.on('close', () => {
      request.hold?.release();
      if (raw.writableFinished) observe(request, raw.statusCode, now() - startedAt);
    });
    done();
  });
};

// Fastify makes an object of ten members to tell the route. A path without parameters is a route itself: the last one is known.
const createRouteLookup = (): ((request: FastifyRequest) => string | undefined) => {
  let last = { method: '', path: '' };
  return (request) => {
    const { method, url } = request;
    // The same text each time: its hash is computed once.
    if (last.path === url && last.method === method) return last.path;
    const route = request.routeOptions.url;
    if (route === url) last = { method, path: url };
    return route;
  };
};

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

/**
 * Begins the trace of every batch that the gate has let in, before its body is read, and ends it when its answer is sent or
 * its client has gone. null: nothing is traced.
 */
export const addRequestTracing = (app: FastifyInstance, beginTrace: BeginTrace | null): void => {
  if (beginTrace === null) return;
  app.addHook('onRequest', (request, { raw }, done) => {
    if (request.door === 'batch') {
      request.trace = beginTrace({
        method: 'POST',
        route: request.route ?? '/tool-calls',
        requestId: request.id,
        traceparent: headerOf(request, 'traceparent'),
        tracestate: headerOf(request, 'tracestate'),
      });
      // Not onResponse: it does not run where the client has gone.
      if (request.trace !== null)
        raw.once('close', () => request.trace?.ended(raw.writableFinished ? raw.statusCode : null));
    }
    done();
  });
};
