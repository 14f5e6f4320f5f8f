import { ProblemError } from './problem-handler.ts';

/** Why a request is not let in, in the words its sender reads. None of them says which part of a credential was wrong. */
export const noHost = (): ProblemError => new ProblemError(400, 'bad_request', 'The request has no Host header.');

export const foreignOrigin = (): ProblemError =>
  new ProblemError(
    403,
    'forbidden_origin',
    'This origin or host may not call. Add the origin to ALLOWED_ORIGINS; without keys ask for a loopback host.',
  );

export const draining = (request: 'batch' | 'other'): ProblemError => {
  const detail = `The service is stopping. ${request === 'batch' ? 'Send the batch again.' : 'Ask again in a moment.'}`;
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
    'Whose token this is cannot be checked now. Nothing has run; try again after the time in Retry-After.',
    { 'retry-after': '1' },
  );

export const operationNotAllowed = (detail: string): ProblemError =>
  new ProblemError(403, 'operation_not_allowed', detail);

export const rateLimited = (retryAfterMs: number): ProblemError =>
  new ProblemError(
    429,
    'rate_limited',
    'This caller has sent too many requests. Nothing has run; try again after the time in Retry-After.',
    { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  );

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
    `The service has too much to do (${reason}). Nothing has run; send the batch again after the time in Retry-After.`,
    { 'retry-after': String(retryAfterSeconds) },
  );
