import type * as z from 'zod';
import type { Rate } from '../auth/callers.ts';
import type { Problem } from '../contract/tool-result.ts';

/**
 * Not by `import`: that reads every export of the module, and one of them, the class `WebSocket`, then loads Node's own HTTP
 * client (measured: 46 ms of a start, and 4 MB).
 */
export const { ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');

/** Why a request is not taken. Thrown by our own routes, answered as problem+json. */
export class ProblemError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

type Words = readonly [code: string, detail: string, headers?: Readonly<Record<string, string>>];

const MALFORMED: Words = ['bad_request', 'The request is malformed.'];
const INTERNAL_ERROR: Words = ['internal_error', 'The service failed; this is not a fault of the request. Try again.'];

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [404, ['not_found', 'There is no resource at this path.']],
  [408, ['request_timeout', 'The request did not arrive in time. Send it again, faster.']],
  [413, ['body_too_large', 'The body is larger than MAX_BODY_BYTES. Send fewer or smaller calls.']],
  [414, ['uri_too_long', 'The path is too long.']],
  [415, ['unsupported_media_type', "Send application/json in UTF-8 (with curl: -H 'content-type: application/json')."]],
  [417, ['expectation_failed', 'Only Expect: 100-continue is supported.']],
  [
    429,
    [
      'too_many_pipelined',
      'Too many requests wait on this connection. Wait for their answers before you send more.',
      { 'Retry-After': '1' },
    ],
  ],
  [431, ['headers_too_large', 'The headers are too large.']],
  [503, ['unavailable', 'The service is stopping. Try again.']],
]);

/** The problem that an HTTP status of the framework, or of Node's parser, stands for. */
export const createHttpProblem = (status: number): ProblemError =>
  new ProblemError(status, ...(WORDS.get(status) ?? MALFORMED));

const statusOf = (error: unknown): number => {
  if (typeof error !== 'object' || error === null) return 500;
  const status: unknown = Reflect.get(error, 'statusCode');
  // Of @fastify/static, about paths that no file can have: there is nothing there.
  if (status === 403 || Reflect.get(error, 'code') === 'ENAMETOOLONG') return 404;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
};

/**
 * What an error of the HTTP layer comes to: its RFC 9457 body and headers. `isBug`: it is ours. `throw null` reaches an error
 * handler as it is: nothing is read from it unchecked.
 */
export const toHttpFailure = (
  error: unknown,
  requestId: string,
): Pick<ProblemError, 'headers'> & { readonly problem: Problem; readonly isBug: boolean } => {
  const found = error instanceof ProblemError ? error : statusOf(error);
  const isBug = typeof found === 'number' && found >= 500 && !WORDS.has(found);
  const known = isBug ? new ProblemError(500, ...INTERNAL_ERROR) : found;
  const { status, code, message, headers } = typeof known === 'number' ? createHttpProblem(known) : known;
  const title = STATUS_CODES[status] ?? 'Error';
  const problem = { type: `urn:recourse:problem:${code}`, title, status, code, detail: message, request_id: requestId };
  return { problem, headers, isBug };
};

/** Why a request is not let in, in the words its sender reads. None of them says which part of a credential was wrong. */
export const noHost = (): ProblemError => new ProblemError(400, 'bad_request', 'The request has no Host header.');

export const foreignOrigin = (): ProblemError =>
  new ProblemError(
    403,
    'forbidden_origin',
    'Requests from this origin or for this host are refused. Add the origin to ALLOWED_ORIGINS; without keys use a loopback host.',
  );

export const draining = (request: 'batch' | 'other'): ProblemError => {
  const detail = `The service is stopping. ${request === 'batch' ? 'Send the batch again.' : 'Retry in a moment.'}`;
  return new ProblemError(503, 'draining', detail, { 'retry-after': '1' });
};

/** The same whatever was sent instead of a valid credential. */
export const unauthorized = (): ProblemError =>
  new ProblemError(401, 'unauthorized', 'Send a valid key as Authorization: Bearer … or X-API-Key.', {
    'www-authenticate': 'Bearer',
  });

export const issuerAway = (): ProblemError =>
  new ProblemError(
    503,
    'auth_unavailable',
    'The token cannot be verified now. Nothing has run; retry after the time in Retry-After.',
    { 'retry-after': '1' },
  );

export const operationNotAllowed = (detail: string): ProblemError =>
  new ProblemError(403, 'operation_not_allowed', detail);

/**
 * A request that is one too many of the rate of a key or token, or of an address. With the header fields of
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
export const rateLimited = (
  of: 'key' | 'address',
  { rate, retryAfterMs }: { readonly rate: Rate; readonly retryAfterMs: number },
): ProblemError => {
  const [windowSeconds, retryAfterSeconds] = [rate.windowMs, retryAfterMs].map((ms) =>
    Math.max(1, Math.ceil(ms / 1000)),
  );
  return new ProblemError(
    429,
    'rate_limited',
    `This ${of} may send ${rate.requests} requests in ${windowSeconds} s, and has sent them. Nothing has run; retry after the time in Retry-After.`,
    {
      'retry-after': String(retryAfterSeconds),
      ratelimit: `"${of}";r=0;t=${retryAfterSeconds}`,
      'ratelimit-policy': `"${of}";q=${rate.requests};w=${windowSeconds}`,
    },
  );
};

export const overloaded = ({
  reason,
  retryAfterSeconds,
}: {
  readonly reason: string;
  readonly retryAfterSeconds: number;
}): ProblemError =>
  new ProblemError(
    503,
    'overloaded',
    `The service is overloaded (${reason}). Nothing has run; send the batch again after the time in Retry-After.`,
    { 'retry-after': String(retryAfterSeconds) },
  );

/** What an id under which nothing is kept is answered, and whoever may not see what is. */
export const createNotStoredProblem = (): ProblemError => new ProblemError(404, 'result_not_kept', NOT_KEPT);

const NOT_KEPT =
  'No results are stored under this request id: its batch had no Idempotency-Key, did not prefer an asynchronous answer and joined no pending call, is still waiting for its first answer, has expired, or its results were evicted because the store needed memory.';

/** What a store that is away means to whoever asks it for a session. */
export const createStoreProblem = (): ProblemError =>
  new ProblemError(503, 'store_unavailable', 'The session store is unavailable. Try again.', {
    'retry-after': '1',
  });

/** What the query of a request says; a problem names the first parameter that is wrong. */
export const readQuery = <Query>(schema: z.ZodType<Query>, query: unknown): Query => {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const [{ path, message } = { path: [], message: 'is not valid' }] = parsed.error.issues;
  throw new ProblemError(400, 'invalid_query', `${path.length === 0 ? 'query' : path.join('.')}: ${message}`);
};
