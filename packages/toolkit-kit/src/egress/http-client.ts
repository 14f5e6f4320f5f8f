import { Agent } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { createGuardedConnector } from './connector.ts';
import { type Answer, exchange, type NoAnswer } from './exchange.ts';
import type { Lookup } from './lookup.ts';
import { decideNextHop, type Hop, isRedirect, MAX_REDIRECTS, type NextHop } from './redirects.ts';
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

type HttpGet = Pick<HttpRequest, 'url' | 'headers' | 'limitMs' | 'signal'> & {
  /** Decompressed bytes of a successful body to keep. */
  readonly maxBytes: number;
};

export type HttpClient = ReturnType<typeof createHttpClient>;

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
export const createHttpClient = (options: HttpClientOptions) => {
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
      sendFollowing(request, { dispatcher: dispatchers[request.repeats], clock, signal }),
    );

  return {
    /** Follows redirects and retries. Rejects with a RetryableToolError where a redirect is refused. */
    get: ({ maxBytes, ...request }: HttpGet): Promise<Fetched> =>
      send({
        ...request,
        wantedBytes: (status) => decideWantedBytes(status, maxBytes),
        nextHop: (trail, _status, location) => decideNextHop(trail, location, ports),
        repeats: 'transport',
      }),
    /** Any request. Rejects with what `nextHop` throws. */
    send,
    /** Ends all connections, running requests included. */
    close: async (): Promise<void> => {
      await Promise.all([dispatchers.transport.destroy(), dispatchers.never.destroy()]);
    },
  };
};

const decideWantedBytes = (status: number, maxBytes: number): number => {
  if (isRedirect(status) || isTransientStatus(status)) return 0;
  return isSuccess(status) ? maxBytes : ERROR_BODY_BYTES;
};

type Means = { readonly dispatcher: Agent; readonly clock: RetryClock; readonly signal: AbortSignal };

const sendFollowing = async (request: HttpRequest, { dispatcher, clock, signal }: Means): Promise<Fetched> => {
  const { url, headers, method = 'GET', body, limitMs, wantedBytes, nextHop, isTransient, longestWaitMs } = request;
  const limits = { clock, deadlineMs: clock.now() + limitMs, signal, isTransient, longestWaitMs };
  const trail: [Hop, ...Hop[]] = [{ url, headers, method, ...(body === undefined ? {} : { body }) }];
  // nextHop refuses the hop after the last permitted one; the bound here only makes the end visible.
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const hop = trail[redirects] ?? trail[0];
    const attempt = (): Promise<Answer | NoAnswer> => exchange(hop, { dispatcher, signal, wantedBytes });
    const { outcome, attempts } =
      request.repeats === 'never' ? { outcome: await attempt(), attempts: 1 } : await retryTransport(attempt, limits);
    request.signal.throwIfAborted();
    const next = findNextHop(trail, outcome, nextHop);
    if (next === null) return { ...outcome, url: hop.url, attempts, redirects };
    trail.push(next);
  }
  throw new Error('A redirect went past the limit.');
};

const findNextHop = (trail: readonly [Hop, ...Hop[]], outcome: Answer | NoAnswer, nextHop: NextHop): Hop | null => {
  if (outcome.kind !== 'answer' || !isRedirect(outcome.status)) return null;
  const location = outcome.headers.get('location');
  return location === undefined ? null : nextHop(trail, outcome.status, location);
};
