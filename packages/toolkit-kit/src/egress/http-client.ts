import { Agent } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { createGuardedConnector } from './connector.ts';
import { type Answer, exchange, type NoAnswer } from './exchange.ts';
import type { Lookup } from './lookup.ts';
import { type Hop, isRedirect, MAX_REDIRECTS, type NextHop, type RequestHeaders, toNextHop } from './redirects.ts';
import { isSuccess } from './response-status.ts';
import type { PortRule } from './target-url.ts';
import { withTimeLimit } from './time-limit.ts';
import { isTransientStatus, type RetryClock, retryTransport, systemRetryClock } from './transport-retries.ts';

export type HttpClientOptions = {
  readonly mayConnect: AddressPolicy;
  readonly lookup: Lookup;
  readonly ports: PortRule;
  readonly clock?: RetryClock;
};

type HttpGet = {
  readonly url: URL;
  readonly headers: RequestHeaders;
  /** Decompressed bytes of a successful body to keep. */
  readonly maxBytes: number;
  /** Milliseconds for everything: redirects, retries and the body. */
  readonly limitMs: number;
  /** The caller's own end; when it aborts, `get` rejects with its reason. */
  readonly signal: AbortSignal;
};

type HttpRequest = Hop & {
  /** How many decompressed bytes of the body of an answer of this status to keep; 0 = none. */
  readonly wantedBytes: (status: number) => number;
  /** Milliseconds for everything: redirects, retries and the body. */
  readonly limitMs: number;
  /** The caller's own end; when it aborts, `send` rejects with its reason. */
  readonly signal: AbortSignal;
  /** Which redirects are followed; of one that is not, the answer is what came. */
  readonly nextHop: NextHop;
  /** `transport`: failures that pass are tried again, up to three times. Only for what does no harm twice. */
  readonly repeats: 'transport' | 'never';
  /** Milliseconds that a repeat is waited for at most. Default: as long as `limitMs` leaves. */
  readonly longestWaitMs?: number | undefined;
  /** Which statuses are failures that pass. Default: 429, 502, 503, 504. */
  readonly isTransient?: ((status: number) => boolean) | undefined;
};

/** What came of a request. `url` is the last hop's, `attempts` how often that one was asked, `redirects` how many came before it. */
export type Fetched = (Answer | NoAnswer) & {
  readonly url: URL;
  readonly attempts: number;
  readonly redirects: number;
};

export type HttpClient = {
  /** Follows redirects and retries. Rejects with a RetryableToolError where a redirect is refused. */
  readonly get: (request: HttpGet) => Promise<Fetched>;
  /** Any request. Rejects with what `nextHop` throws. */
  readonly send: (request: HttpRequest) => Promise<Fetched>;
  /** Ends all connections, running requests included. */
  readonly close: () => Promise<void>;
};

const CONNECT_TIMEOUT_MS = 5_000;
// Also the most a server may ask for: an idle connection per host is a file descriptor a stranger holds.
const KEEP_ALIVE_MS = 4_000;
// A front that closes an idle connection in the moment in which a request is sent leaves it unknown whether it arrived. What may be
// sent again does so; what may not takes a connection that was used a moment ago, or a fresh one.
const KEEP_ALIVE_OF_WRITES_MS = 1_000;
const ERROR_BODY_BYTES = 2_000;

/**
 * A client for requests to places that a model or a document names. Connections go to permitted addresses only, at every hop, and
 * through no proxy, whatever the environment says. No cookies are kept.
 */
export const createHttpClient = (options: HttpClientOptions): HttpClient => {
  const { mayConnect, lookup, ports, clock = systemRetryClock } = options;
  const connect = createGuardedConnector({ mayConnect, lookup, timeoutMs: CONNECT_TIMEOUT_MS });
  const createAgent = (keepAliveMs: number): Agent =>
    new Agent({
      connect,
      allowH2: false,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // Idle times only; the limit of the whole call is what counts.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  const dispatchers = { transport: createAgent(KEEP_ALIVE_MS), never: createAgent(KEEP_ALIVE_OF_WRITES_MS) };
  const send = (request: HttpRequest): Promise<Fetched> =>
    withTimeLimit(request.signal, request.limitMs, (signal) =>
      sendFollowing(request, { dispatcher: dispatchers[request.repeats], clock }, signal),
    );
  return {
    get: ({ maxBytes, ...request }) =>
      send({
        ...request,
        wantedBytes: (status) => toWantedBytes(status, maxBytes),
        nextHop: (trail, _status, location) => toNextHop(trail, location, ports),
        repeats: 'transport',
      }),
    send,
    close: async () => {
      await Promise.all([dispatchers.transport.destroy(), dispatchers.never.destroy()]);
    },
  };
};

const toWantedBytes = (status: number, maxBytes: number): number => {
  if (isRedirect(status) || isTransientStatus(status)) return 0;
  return isSuccess(status) ? maxBytes : ERROR_BODY_BYTES;
};

type Means = { readonly dispatcher: Agent; readonly clock: RetryClock };

const sendFollowing = async (
  request: HttpRequest,
  { dispatcher, clock }: Means,
  signal: AbortSignal,
): Promise<Fetched> => {
  const { limitMs, wantedBytes, nextHop, repeats, isTransient, longestWaitMs } = request;
  const limits = { clock, deadlineMs: clock.now() + limitMs, signal, isTransient, longestWaitMs };
  const trail: [Hop, ...Hop[]] = [toFirstHop(request)];
  let hop: Hop = trail[0];
  // nextHop refuses the hop after the last permitted one; the bound here only makes the end visible.
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const current = hop;
    const attempt = (): Promise<Answer | NoAnswer> => exchange(current, { dispatcher, signal, wantedBytes });
    const { outcome, attempts } =
      repeats === 'never' ? { outcome: await attempt(), attempts: 1 } : await retryTransport(attempt, limits);
    request.signal.throwIfAborted();
    const next = toNext(trail, outcome, nextHop);
    if (next === null) return { ...outcome, url: current.url, attempts, redirects: hops };
    hop = next;
    trail.push(hop);
  }
  throw new Error('A redirect went past the limit.');
};

const toFirstHop = ({ url, headers, method = 'GET', body }: Hop): Hop =>
  body === undefined ? { url, headers, method } : { url, headers, method, body };

const toNext = (trail: readonly [Hop, ...Hop[]], outcome: Answer | NoAnswer, nextHop: NextHop): Hop | null => {
  if (outcome.kind !== 'answer' || !isRedirect(outcome.status)) return null;
  const location = outcome.headers.get('location');
  return location === undefined ? null : nextHop(trail, outcome.status, location);
};
