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

/** The RFC 9457 body of an answer that is not a success. */
export const toProblem = (status: number, code: string, detail: string, requestId: string): Problem => ({
  type: `urn:recourse:problem:${code}`,
  title: STATUS_CODES[status] ?? 'Error',
  status,
  code,
  detail,
  request_id: requestId,
});

export type Words = readonly [code: string, detail: string];

const WORDS: ReadonlyMap<number, Words> = new Map<number, Words>([
  [400, ['bad_request', 'The request is malformed.']],
  [404, ['not_found', 'There is no resource at this path.']],
  [408, ['request_timeout', 'The request did not arrive in time. Send it again, faster.']],
  [413, ['body_too_large', 'The body is larger than MAX_BODY_BYTES. Send fewer or smaller calls.']],
  [414, ['uri_too_long', 'The path is too long.']],
  [415, ['unsupported_media_type', "Send application/json in UTF-8 (with curl: -H 'content-type: application/json')."]],
  [417, ['expectation_failed', 'Only Expect: 100-continue is supported.']],
  [
    429,
    ['too_many_pipelined', 'Too many requests wait on this connection. Wait for their answers before you send more.'],
  ],
  [431, ['headers_too_large', 'The headers are too large.']],
  [503, ['unavailable', 'The service is stopping. Try again.']],
]);

export const wordsOf = (status: number): Words => WORDS.get(status) ?? ['bad_request', 'The request is malformed.'];

const statusOf = (error: unknown): number => {
  if (typeof error !== 'object' || error === null) return 500;
  const status: unknown = Reflect.get(error, 'statusCode');
  // Of @fastify/static, about paths that no file can have: there is nothing there.
  if (status === 403 || Reflect.get(error, 'code') === 'ENAMETOOLONG') return 404;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
};

const INTERNAL_ERROR: Words = ['internal_error', 'The service failed; this is not a fault of the request. Try again.'];

/** An error of the HTTP layer, in whichever form it is answered. */
export type HttpFailure = {
  readonly problem: Problem;
  readonly headers: Readonly<Record<string, string>>;
  readonly isBug: boolean;
};

/** What an error comes to. `throw null` reaches an error handler as it is: nothing is read from it unchecked. */
export const toHttpFailure = (error: unknown, requestId: string): HttpFailure => {
  if (error instanceof ProblemError) {
    const { status, code, message, headers } = error;
    return { problem: toProblem(status, code, message, requestId), headers, isBug: false };
  }
  const found = statusOf(error);
  const isBug = found >= 500 && !WORDS.has(found);
  const status = isBug ? 500 : found;
  const [code, detail] = isBug ? INTERNAL_ERROR : wordsOf(status);
  return { problem: toProblem(status, code, detail, requestId), headers: {}, isBug };
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
