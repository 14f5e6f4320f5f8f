import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addServerProblems, ProblemError } from './problem-handler.ts';

/** Whoever calls, as far as the routes care. */
export type RequestCaller = { readonly tenant: string; readonly mayUse: (tool: string) => boolean };

/** Why a batch is not taken now, and when it may be. */
export type Shed = { readonly reason: string; readonly retryAfterSeconds: number };

declare module 'fastify' {
  interface FastifyRequest {
    caller: RequestCaller | null;
  }
}

export type GateOptions = {
  readonly authenticate: (key: string | undefined) => RequestCaller | null;
  readonly mayComeFrom: (headers: {
    readonly origin: string | undefined;
    readonly host: string | undefined;
    readonly secFetchSite: string | undefined;
  }) => boolean;
  readonly isDraining: () => boolean;
  /** Whether the service has too much to do for a batch of this caller; null where it has not. */
  readonly shed: (caller: string) => Shed | null;
  readonly createId: () => string;
};

// What operators and browsers read without a key; also open while draining.
const OPEN_PATHS: ReadonlySet<string> = new Set(['/live', '/ready', '/metrics', '/openapi.json']);

const isOpen = (request: FastifyRequest): boolean => {
  const path = request.routeOptions.url;
  return path === undefined || OPEN_PATHS.has(path) || path.startsWith('/docs');
};

// The only requests that cost much, and the only ones that are ever refused for it.
const isBatch = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'POST' && routeOptions.url === '/tool-calls';

/** Decides before a body is read whether a request comes in: its origin, its key, and whether the service still takes calls. */
export const addRequestGate = (app: FastifyInstance, options: GateOptions): void => {
  addServerProblems(app.server, options.createId);
  app.decorateRequest('caller', null);
  // A callback, not a promise: this runs for every request.
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    done(toRefusal(request, options));
  });
};

const toRefusal = (request: FastifyRequest, options: GateOptions): ProblemError | undefined => {
  const { origin, host } = request.headers;
  if (host === undefined && request.raw.httpVersion === '1.1')
    return new ProblemError(400, 'bad_request', 'The request has no Host header.');
  if (!options.mayComeFrom({ origin, host, secFetchSite: textOf(request.headers['sec-fetch-site']) }))
    return new ProblemError(403, 'forbidden_origin', 'This origin may not call. Add it to ALLOWED_ORIGINS.');
  if (isOpen(request)) return undefined;
  if (options.isDraining())
    return new ProblemError(503, 'draining', 'The service is stopping. Send the batch again.', { 'retry-after': '1' });
  request.caller = options.authenticate(keyOf(request));
  if (request.caller === null) {
    const detail = 'Send a valid key as Authorization: Bearer … or X-API-Key.';
    return new ProblemError(401, 'unauthorized', detail, { 'www-authenticate': 'Bearer' });
  }
  return isBatch(request) ? toOverload(options.shed(callerKeyOf(request))) : undefined;
};

const toOverload = (shed: Shed | null): ProblemError | undefined => {
  if (shed === null) return undefined;
  const detail = `The service has too much to do (${shed.reason}). Nothing has run; send the batch again after the time in Retry-After.`;
  return new ProblemError(503, 'overloaded', detail, { 'retry-after': String(shed.retryAfterSeconds) });
};

/** The caller the gate let in. */
export const callerOf = (request: FastifyRequest): RequestCaller => {
  if (request.caller === null) throw new ProblemError(401, 'unauthorized', 'Send a valid key.');
  return request.caller;
};

/** Between whom the service shares its slots: tenants, and the addresses of those who have no key. */
export const callerKeyOf = (request: FastifyRequest): string => {
  const { tenant } = callerOf(request);
  return tenant === 'anonymous' ? (request.socket.remoteAddress ?? tenant) : tenant;
};

const textOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0];

const keyOf = (request: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? textOf(request.headers['x-api-key']);
