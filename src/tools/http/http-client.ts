import { Agent } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { type Answer, exchange, type NoAnswer } from './exchange.ts';
import { createGuardedConnector } from './guarded-connector.ts';
import { isSuccess } from './is-success.ts';
import type { Lookup } from './lookup.ts';
import { type Hop, isRedirect, MAX_REDIRECTS, toNextHop } from './redirects.ts';
import type { PortRule } from './target-url.ts';
import { withTimeLimit } from './time-limit.ts';
import { isTransientStatus, type RetryClock, retryTransport, systemRetryClock } from './transport-retries.ts';

export type HttpClientOptions = {
  readonly mayConnect: AddressPolicy;
  readonly lookup: Lookup;
  readonly ports: PortRule;
  readonly clock?: RetryClock;
};

export type HttpGet = Hop & {
  /** Decompressed bytes of a successful body to keep. */
  readonly maxBytes: number;
  /** Milliseconds for everything: redirects, retries and the body. */
  readonly limitMs: number;
  /** The caller's own end; when it aborts, `get` rejects with its reason. */
  readonly signal: AbortSignal;
};

/** What came of a GET. `url` is the last hop's, `attempts` how often that one was asked. */
export type Fetched = (Answer | NoAnswer) & { readonly url: URL; readonly attempts: number };

export type HttpClient = {
  /** Follows redirects and retries. Rejects with a RetryableToolError where a redirect is refused. */
  readonly get: (request: HttpGet) => Promise<Fetched>;
  /** Ends all connections, running requests included. */
  readonly close: () => Promise<void>;
};

const CONNECT_TIMEOUT_MS = 5_000;
// Also the most a server may ask for: an idle connection per host is a file descriptor a stranger holds.
const KEEP_ALIVE_MS = 4_000;
const ERROR_BODY_BYTES = 2_000;

/**
 * A client for safe requests to places a model names. Connections go to permitted addresses only, at every hop, and
 * through no proxy, whatever the environment says. No cookies are kept.
 */
export const createHttpClient = (options: HttpClientOptions): HttpClient => {
  const { mayConnect, lookup, ports, clock = systemRetryClock } = options;
  const dispatcher = new Agent({
    connect: createGuardedConnector({ mayConnect, lookup, timeoutMs: CONNECT_TIMEOUT_MS }),
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // Idle times only; the limit of the whole call is what counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    get: (request) =>
      withTimeLimit(request.signal, request.limitMs, (signal) =>
        getFollowing(request, { dispatcher, clock, ports }, signal),
      ),
    close: () => dispatcher.destroy(),
  };
};

type Means = { readonly dispatcher: Agent; readonly clock: RetryClock; readonly ports: PortRule };

const getFollowing = async (
  request: HttpGet,
  { dispatcher, clock, ports }: Means,
  signal: AbortSignal,
): Promise<Fetched> => {
  const { maxBytes, limitMs } = request;
  const wantedBytes = (status: number): number => {
    if (isRedirect(status) || isTransientStatus(status)) return 0;
    return isSuccess(status) ? maxBytes : ERROR_BODY_BYTES;
  };
  const limits = { clock, deadlineMs: clock.now() + limitMs, signal };
  const trail: [Hop, ...Hop[]] = [{ url: request.url, headers: request.headers }];
  let hop: Hop = trail[0];
  // toNextHop refuses the hop after the last permitted one; the bound here only makes the end visible.
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const current = hop;
    const { outcome, attempts } = await retryTransport(
      () => exchange(current, { dispatcher, signal, wantedBytes }),
      limits,
    );
    request.signal.throwIfAborted();
    const location = toLocation(outcome);
    if (location === undefined) return { ...outcome, url: current.url, attempts };
    hop = toNextHop(trail, location, ports);
    trail.push(hop);
  }
  throw new Error('A redirect went past the limit.');
};

const toLocation = (outcome: Answer | NoAnswer): string | undefined =>
  outcome.kind === 'answer' && isRedirect(outcome.status) ? outcome.headers.get('location') : undefined;
