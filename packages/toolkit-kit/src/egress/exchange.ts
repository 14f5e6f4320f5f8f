import type { Readable } from 'node:stream';
import type { Executed } from 'recourse-server/contract/failure';
import { type Dispatcher, errors, request } from 'undici';
import { type BoundedBody, discardBody, readBoundedBody, UnreadableBodyError } from './bounded-body.ts';
import { AddressRefusedError, ConnectFailure } from './connector.ts';
import { codeOf } from './error-code.ts';
import type { Hop, HttpMethod } from './redirects.ts';
import { isSuccess } from './response-status.ts';
import { untilAborted, withTimeLimit } from './time-limit.ts';

/** What the server said. `headers` has lower-case names. */
export type Answer = {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: BoundedBody;
};

/** Why there is no answer. Names of look-up failures that a repeat cannot mend are `no_such_host`. */
export type Silence =
  | 'address_refused'
  | 'not_sent'
  | 'no_such_host'
  | 'lookup_failed'
  | 'not_connected'
  | 'bad_certificate'
  | 'lost'
  | 'too_slow'
  | 'unreadable';

/** No answer: `executed` says whether the request may have reached the server, `code` is the system's word for it. */
export type NoAnswer = {
  readonly kind: 'no_answer';
  readonly reason: Silence;
  readonly executed: Extract<Executed, 'no' | 'maybe'>;
  readonly code: string;
  readonly cause: unknown;
  /** Where the head of an answer came and its body did not. */
  readonly status?: number;
};

type ExchangeOptions = {
  readonly dispatcher: Dispatcher;
  /** Ends the exchange: `too_slow`, or a body that is cut where one had begun. */
  readonly signal: AbortSignal;
  /** How much of the body of an answer of this status is wanted; 0 = none. */
  readonly wantedBytes: (status: number) => number;
};

// Enough for the few words an error page starts with; a dripping one must not eat the time of the call.
const ERROR_BODY_MS = 1_000;
const NONE: BoundedBody = { bytes: new Uint8Array(0), cut: null };

/** One request to one place, no redirect followed, nothing repeated. Never rejects. */
export const exchange = async (hop: Hop, options: ExchangeOptions): Promise<Answer | NoAnswer> => {
  const { dispatcher, signal } = options;
  const { url, headers, method = 'GET', body: sentBody = null } = hop;
  let status: number | undefined;
  const withStatus = (none: NoAnswer): NoAnswer => (status === undefined ? none : { ...none, status });
  try {
    const onInfo = createInterimLimit();
    const sent = request(url, { dispatcher, headers, signal, method, body: sentBody, onInfo });
    // undici 8.12 hears the signal only once the request has a connection; until then this is what ends the wait.
    const response = await untilAborted(sent, signal);
    status = response.statusCode;
    const wanted = hasBody(method, status) ? options : { ...options, wantedBytes: () => 0 };
    const received = new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
    const body = await readBody(status, received.get('content-encoding') ?? '', response.body, wanted);
    if (body.cut === 'time' && body.bytes.byteLength === 0 && isSuccess(status))
      return withStatus(createNoAnswer('too_slow', 'maybe', signal.reason));
    return { kind: 'answer', status, headers: received, body };
  } catch (thrown) {
    return withStatus(signal.aborted ? createNoAnswer('too_slow', 'maybe', thrown) : classifySilence(thrown));
  }
};

// Early hints come once or twice (RFC 8297); a server that sends nothing else would be listened to until the deadline.
const MOST_INTERIM_ANSWERS = 32;

const createInterimLimit = (): (() => void) => {
  let count = 0;
  return () => {
    count += 1;
    if (count > MOST_INTERIM_ANSWERS) throw new UnreadableBodyError('too many interim (1xx) responses');
  };
};

// A gzip decoder would call the body that is not there a broken one (RFC 9110, sections 9.3.2, 15.3.5, 15.4.5).
const hasBody = (method: HttpMethod, status: number): boolean =>
  method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304;

const readBody = async (
  status: number,
  encoding: string,
  body: Readable,
  { signal, wantedBytes }: ExchangeOptions,
): Promise<BoundedBody> => {
  const maxBytes = wantedBytes(status);
  if (maxBytes === 0) {
    discardBody(body);
    return NONE;
  }
  if (isSuccess(status)) return readBoundedBody(body, { encoding, maxBytes, signal });
  // The status is the answer; a body that cannot be read does not change it.
  return withTimeLimit(signal, ERROR_BODY_MS, (soon) =>
    readBoundedBody(body, { encoding, maxBytes, signal: soon }).catch(() => NONE),
  );
};

const createNoAnswer = (
  reason: Silence,
  executed: NoAnswer['executed'],
  cause: unknown,
  code = codeOf(cause),
): NoAnswer => ({
  kind: 'no_answer',
  reason,
  executed,
  code,
  cause,
});

const classifySilence = (thrown: unknown): NoAnswer => {
  if (thrown instanceof AddressRefusedError) return createNoAnswer('address_refused', 'no', thrown);
  if (thrown instanceof ConnectFailure) return createNoAnswer(decideConnectReason(thrown), 'no', thrown, thrown.code);
  // Before a connection is looked for: a header, a body or a URL that the client does not write.
  if (thrown instanceof errors.InvalidArgumentError || thrown instanceof errors.NotSupportedError)
    return createNoAnswer('not_sent', 'no', thrown);
  if (thrown instanceof UnreadableBodyError) return createNoAnswer('unreadable', 'maybe', thrown, thrown.message);
  if (thrown instanceof errors.HTTPParserError || thrown instanceof errors.HeadersOverflowError)
    return createNoAnswer('unreadable', 'maybe', thrown);
  return createNoAnswer('lost', 'maybe', thrown);
};

// Final words of name servers: no such name, no address for it, not a name.
const NO_SUCH_HOST: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
// The codes of Node's TLS and of OpenSSL's certificate checks.
const BAD_CERTIFICATE =
  /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|CRL_|ERROR_IN_C|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_(CA|PURPOSE)$|PATH_LENGTH_|HOSTNAME_MISMATCH)/;

const decideConnectReason = ({ stage, code }: ConnectFailure): Silence => {
  if (stage === 'lookup') return NO_SUCH_HOST.has(code) ? 'no_such_host' : 'lookup_failed';
  return BAD_CERTIFICATE.test(code) ? 'bad_certificate' : 'not_connected';
};
