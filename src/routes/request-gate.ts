import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate, Authentication, Caller, Operation } from '../auth/callers.ts';
import type { OriginRule } from '../auth/origins.ts';
import type { LimitRate } from '../auth/rate-limits.ts';
import { addServerProblems } from './problem-handler.ts';
import type { ProblemError } from './problems.ts';
import {
  draining,
  foreignOrigin,
  issuerAway,
  noHost,
  operationNotAllowed,
  overloaded,
  rateLimited,
  unauthorized,
} from './problems.ts';
import { NO_ROOM, type RequestLease } from './request-memory.ts';
import { headerOf } from './watch-requests.ts';

/** Why a request was refused for who sent it, or for how often. */
export type GateRefusal =
  | Extract<Authentication, { kind: 'refused' }>['reason']
  | 'operation'
  | 'origin'
  | 'rate'
  | 'unavailable'
  | 'overloaded';

/** Why a batch is not taken now, and when it may be. */
type Shed = { readonly reason: string; readonly retryAfterSeconds: number };

/** How long the body of a batch is in bytes; or a request that has none, and no large answer. */
export type RequestSize = number | 'no body';

declare module 'fastify' {
  interface FastifyRequest {
    door: Endpoint;
    caller: Caller | null;
  }
}

export type GateOptions = {
  readonly authenticate: Authenticate;
  readonly mayComeFrom: OriginRule;
  /** Left out: callers come as often as they like. */
  readonly limitRate?: LimitRate;
  /** Notified of every request that is refused for its sender, or because there is too much to do. */
  readonly onRefused?: (refused: {
    readonly reason: GateRefusal;
    /** null as far as it is not known. */
    readonly tenant: string | null;
    readonly key: string | null;
    readonly address: string;
  }) => void;
  readonly isDraining: () => boolean;
  /** Whether the service has too much to do for a batch of this caller; null where it has not. */
  readonly shed: (caller: string) => Shed | null;
  /** Calls `tell` now or later, and gives the way to call it off: when a refusal for too much to do is told. Left out: now. */
  readonly paceRefusal?: (tell: () => void) => () => void;
  /** Takes memory for a request of this caller and its answer; null where there is none. Left out: there always is. */
  readonly holdRequest?: (caller: string, of: RequestSize) => RequestLease | null;
  readonly createId: () => string;
};

/**
 * Decides before a body is read whether a request comes in: 1 its origin  2 whether the service still takes calls
 * 3 its key  4 what the key may do  5 how often it has come  6 whether the service has too much to do, and memory for
 * the request and its answer.
 */
export const addRequestGate = (app: FastifyInstance, options: GateOptions): void => {
  addServerProblems(app.server, options.createId);
  app.decorateRequest('door', 'other');
  app.decorateRequest('caller', null);
  // A callback, not a promise: this runs for every request, and most are decided at once.
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    request.door = endpointOf(request.method, request.route);
    const refusal = findRefusal(request, options);
    const settle = (known: Refusal): void => {
      if (known?.code === 'overloaded' && options.paceRefusal !== undefined)
        reportAtPace(reply, options.paceRefusal, () => done(known));
      else done(known);
    };
    if (refusal instanceof Promise) void settleLater(refusal, request, reply).then(settle, done);
    else settle(refusal);
  });
};

/** Whether the request shows a key or a token that is good, on a path that asks for none. Where nobody needs a key, all do. */
export const isKnown = (
  request: FastifyRequest,
  { authenticate }: Pick<GateOptions, 'authenticate'>,
): boolean | Promise<boolean> => {
  const found = authenticate(credentialOf(request));
  return found instanceof Promise ? found.then(({ kind }) => kind === 'known') : found.kind === 'known';
};

/** Known at once, where it can be: the gate stands before every request. */
type Refusal = ProblemError | undefined;

const settleLater = async (
  found: Promise<Refusal>,
  request: FastifyRequest,
  { raw }: FastifyReply,
): Promise<Refusal> => {
  const refusal = await found;
  // The connection may have gone before there was anything to release.
  if (raw.destroyed) request.hold?.release();
  return refusal;
};

const findRefusal = (request: FastifyRequest, options: GateOptions): Refusal | Promise<Refusal> => {
  const { origin, host, 'user-agent': userAgent } = request.headers;
  if (host === undefined && request.raw.httpVersion === '1.1') return noHost();
  if (!options.mayComeFrom({ origin, host, secFetchSite: headerOf(request, 'sec-fetch-site'), userAgent })) {
    tellRefused('origin', request, options);
    return foreignOrigin();
  }
  const { door } = request;
  if (door === 'open') return undefined;
  if (options.isDraining()) return draining(door);
  const found = options.authenticate(credentialOf(request));
  return found instanceof Promise
    ? found.then((authentication) => admit(request, authentication, options))
    : admit(request, found, options);
};

const admit = (
  request: FastifyRequest,
  authentication: Authentication,
  options: GateOptions,
): Refusal | Promise<Refusal> => {
  if (authentication.kind !== 'known') {
    tellRefused(authentication.kind === 'refused' ? authentication.reason : 'unavailable', request, options);
    return authentication.kind === 'refused' ? unauthorized() : issuerAway();
  }
  const { caller } = authentication;
  request.caller = caller;
  const operation = request.door === 'batch' ? 'call' : operationOf(request);
  if (!caller.may(operation)) {
    tellRefused('operation', request, options);
    return operationNotAllowed(MISSING_OPERATION[operation]);
  }
  const limited = options.limitRate?.(caller, addressOf(request)) ?? null;
  return limited instanceof Promise
    ? limited.then((known) => admitRated(request, known, options))
    : admitRated(request, limited, options);
};

const admitRated = (
  request: FastifyRequest,
  limited: Awaited<ReturnType<LimitRate>>,
  options: GateOptions,
): Refusal => {
  if (limited !== null) {
    tellRefused('rate', request, options);
    return rateLimited(request.caller?.rateKey === null ? 'address' : 'key', limited);
  }
  const full = findShortage(request, options);
  if (full === null) return undefined;
  tellRefused('overloaded', request, options);
  return overloaded(full);
};

const findShortage = (request: FastifyRequest, { shed, holdRequest }: GateOptions): Shed | null => {
  const callerKey = callerKeyOf(request);
  const isBatch = request.door === 'batch';
  const full = isBatch ? shed(callerKey) : null;
  if (full !== null || holdRequest === undefined) return full;
  request.hold = holdRequest(callerKey, isBatch ? bodyLengthOf(request) : 'no body');
  return request.hold === null ? NO_ROOM : null;
};

/** Bytes of the body that is to come; Infinity: it comes in chunks, and may have as many as a body may. */
const bodyLengthOf = ({ headers }: FastifyRequest): number =>
  Number(headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : Number.POSITIVE_INFINITY));

/** Tells of a request that is refused; also where only its route knows that its key may not do what it asks for. */
export const tellRefused = (
  reason: GateRefusal,
  request: FastifyRequest,
  { onRefused }: Pick<GateOptions, 'onRefused'>,
): void =>
  onRefused?.({
    reason,
    tenant: request.caller?.tenant ?? null,
    key: request.caller?.key ?? null,
    address: addressOf(request),
  });

export const MISSING_CALL = 'This key may not call tools. Use a key with the operation call.';

export const MISSING_OPERATION: Readonly<Record<Operation, string>> = {
  call: MISSING_CALL,
  read: 'This key may not read sessions or list pending calls. Use a key with the operation read.',
  reset:
    'This key may not reset or end sessions, nor cancel pending calls by key or tool. Use a key with the operation reset.',
  approve: 'This key may not approve calls. Use a key with the operation approve.',
  operate: 'This key may not make decisions of operators. Use a key with the operation operate.',
};

/** The caller the gate let in. */
export const callerOf = (request: FastifyRequest): Caller => {
  if (request.caller === null) throw unauthorized();
  return request.caller;
};

/** Between whom the service shares its slots: tenants, and the addresses of those who have no key. */
export const callerKeyOf = (request: FastifyRequest): string => {
  const { tenant } = callerOf(request);
  return tenant === 'anonymous' ? (request.socket.remoteAddress ?? tenant) : tenant;
};

// Of the connection: a header could name any.
const addressOf = (request: FastifyRequest): string => request.socket.remoteAddress ?? '';

/** The key or token that a request came with. */
export const credentialOf = (request: FastifyRequest): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? headerOf(request, 'x-api-key');

/** Which rules a request is let in by: none but those of its origin, those of a batch, or those of all else. */
type Endpoint = 'open' | 'batch' | 'other';

// What operators and browsers read without a key; also open while draining.
const OPEN_PATHS: ReadonlySet<string> = new Set(['/', '/live', '/ready', '/metrics', '/openapi.json']);
// Pages without data: what they show they ask for, with a key.
const OPEN_PAGES = ['/docs', '/console'];

const isOpen = (url: string | undefined): boolean =>
  url === undefined || OPEN_PATHS.has(url) || OPEN_PAGES.some((page) => url === page || url.startsWith(`${page}/`));

// Batches may have calls in them: the only requests that cost much, and the only ones that are ever refused for it.
/** `url`: the pattern of the route, undefined where there is none. */
export const endpointOf = (method: string, url: string | undefined): Endpoint => {
  if (method === 'POST' && (url === '/tool-calls' || url === '/mcp')) return 'batch';
  return isOpen(url) ? 'open' : 'other';
};

/** What the route asks for, else by path and method, so that a route which is forgotten here still needs a right. */
const operationOf = ({ method, route: url = '', routeOptions }: FastifyRequest): Operation => {
  const { operation } = routeOptions.config;
  if (operation !== undefined) return operation;
  if (!url.startsWith('/sessions/') && url !== '/calls/pending') return 'call';
  return method === 'DELETE' ? 'reset' : 'read';
};

/** Tells a refusal when it is its turn, or when its client has gone, whose turn is then another's. */
const reportAtPace = ({ raw }: FastifyReply, pace: NonNullable<GateOptions['paceRefusal']>, tell: () => void): void => {
  let isTold = false;
  const reportOnce = (): void => {
    if (isTold) return;
    isTold = true;
    tell();
  };
  const callOff = pace(reportOnce);
  if (isTold) return;
  raw.once('close', () => {
    callOff();
    reportOnce();
  });
};
