import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AnswerHold } from './answer-hold.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The pattern of the route that it has met; undefined where it has met none. */
    route: string | undefined;
    /** What it takes of the memory for answers; null for what is open to all. Released when its answer is sent. */
    hold: AnswerHold | null;
  }
}

export type WatchOptions = {
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Hears of every answer that was sent to its last byte. */
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
    // The same text each time: whoever looks it up need not hash it again.
    if (last.path === url && last.method === method) return last.path;
    const route = request.routeOptions.url;
    if (route === url) last = { method, path: url };
    return route;
  };
};
