import { ACCEPT_ENCODING } from './bounded-body.ts';
import type { Fetched, HttpClient } from './http-client.ts';
import { NoAnswerError } from './no-answer-error.ts';
import type { HttpMethod } from './redirects.ts';
import { isSuccess } from './response-status.ts';
import { isTransientStatus } from './transport-retries.ts';

export type ClientFetchOptions = {
  readonly client: Pick<HttpClient, 'send'>;
  /** Decompressed bytes of an answer that are kept. */
  readonly maxBytes: number;
  /** Milliseconds for one request, with its repeats and its body. */
  readonly limitMs: number;
  /** `transport`: failures that pass (429, 500, 502, 503, 504, lost connections) are tried again. Only for what does no harm twice. */
  readonly repeats: 'transport' | 'never';
  /** Milliseconds that a repeat is waited for at most, be it because the service asks for it. Default: 5 s. */
  readonly longestWaitMs?: number | undefined;
  /** Where requests go instead of the service's own address, whatever host the library names. Its path comes first. */
  readonly baseUrl?: URL | undefined;
  /** Ends a request to which the library gives no signal of its own. */
  readonly signal?: AbortSignal | undefined;
};

export type ClientFetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Says in the headers of an answer why the rest of its body is missing: `size` or `time`. */
export const CUT_HEADER = 'x-recourse-cut';

// What says why a request failed is short; an error page of any length is no file.
const MOST_ERROR_BYTES = 65_536;
// Whoever waits holds a place among the calls that may run at once; its caller can wait as well.
const LONGEST_WAIT_MS = 5_000;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);
const METHODS: readonly HttpMethod[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
// Of the connection or of the body as it was sent: what the library gets is neither. And the mark is ours alone.
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  'content-encoding',
  'content-length',
  'transfer-encoding',
  CUT_HEADER,
]);
// Headers holds bytes; a value with any other sign in it would be refused with an exception.
const NOT_BYTES = /[^\t\u0020-\u00ff]/;

/**
 * `fetch` for the client library of a service: bodies are bounded, repeats are ours, no proxy of the environment and no
 * redirect is followed. Rejects with a NoAnswerError where no answer came, and with the signal's reason.
 */
export const createClientFetch = (options: ClientFetchOptions): ClientFetch => {
  const { client, maxBytes, limitMs, repeats, baseUrl, longestWaitMs = LONGEST_WAIT_MS } = options;
  const idle = new AbortController().signal;
  return async (url, init = {}) => {
    const { text, type } = encodeBody(init.body);
    const headers = new Headers(init.headers);
    if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
    headers.set('accept-encoding', ACCEPT_ENCODING);
    const fetched = await client.send({
      url: placeBelow(new URL(readAddress(url)), baseUrl),
      method: parseMethod(init.method),
      headers: Object.fromEntries(headers),
      ...(text === null ? {} : { body: text }),
      wantedBytes: (status) => (isSuccess(status) ? maxBytes : Math.min(maxBytes, MOST_ERROR_BYTES)),
      limitMs,
      signal: init.signal ?? options.signal ?? idle,
      nextHop: () => null,
      repeats,
      longestWaitMs,
      isTransient: (status) => status === 500 || isTransientStatus(status),
    });
    if (fetched.kind === 'no_answer') throw new NoAnswerError(fetched);
    return createResponse(fetched);
  };
};

// A Request brings a method, headers and a body of its own, which nobody would see being left out.
const readAddress = (url: string | URL | Request): string | URL => {
  if (url instanceof Request) throw new TypeError('fetch accepts only a URL here.');
  return url;
};

const placeBelow = (url: URL, base: URL | undefined): URL => {
  if (base === undefined) return url;
  const place = new URL(base);
  place.pathname = `${base.pathname.replace(/\/$/, '')}${url.pathname}`;
  place.search = url.search;
  place.hash = '';
  return place;
};

const parseMethod = (method = 'GET'): HttpMethod => {
  const known = METHODS.find((one) => one === method.toUpperCase());
  if (known === undefined) throw new TypeError(`The method ${method} is not sent.`);
  return known;
};

/** A body and the media type that goes with it where the library names none (Fetch standard, "extract a body"). */
const encodeBody = (
  body: RequestInit['body'] | undefined,
): { readonly text: string | null; readonly type: string | null } => {
  if (body === undefined || body === null) return { text: null, type: null };
  if (typeof body === 'string') return { text: body, type: 'text/plain;charset=UTF-8' };
  if (body instanceof URLSearchParams)
    return { text: body.toString(), type: 'application/x-www-form-urlencoded;charset=UTF-8' };
  throw new TypeError('fetch accepts only text bodies here.');
};

const createResponse = (fetched: Extract<Fetched, { readonly kind: 'answer' }>): Response => {
  const { status, headers, body } = fetched;
  // Response knows no others, and a service that sends one is none that we know.
  if (status < 200 || status > 599)
    throw new NoAnswerError({
      kind: 'no_answer',
      reason: 'unreadable',
      executed: 'maybe',
      code: `status ${status}`,
      cause: undefined,
    });
  const passed = new Headers(
    [...headers].filter(([name, value]) => !NOT_PASSED_ON.has(name) && !NOT_BYTES.test(value)),
  );
  if (body.cut !== null) passed.set(CUT_HEADER, body.cut);
  return new Response(NO_BODY.has(status) ? null : Buffer.from(body.bytes), { status, headers: passed });
};
