import type { Effects, Executed } from '../../../contract/failure.ts';
import type { Answer } from '../../http/exchange.ts';
import { showUrl } from '../../http/show-url.ts';
import { retryAfterOf } from '../../http/transport-retries.ts';
import { RetryableToolError, TerminalToolError, TOOL_ERROR, UpstreamToolError } from '../../tool-errors.ts';

/** What a failure's text needs to know beside the answer. */
export type FailedCall = {
  /** The name of the import, for the people who set it up. */
  readonly importName: string;
  /** What the API says is wrong. */
  readonly apiMessage: string | null;
  /** `{ status, body }`, for the result's `value`. */
  readonly payload: unknown;
  readonly nowMs: number;
};

export type Failure = RetryableToolError | TerminalToolError | UpstreamToolError;
type Verdict = { readonly kind: 'retry' | 'failed' | 'human' | 'busy'; readonly says: string };

const retry = (says: string): Verdict => ({ kind: 'retry', says });
const failed = (says: string): Verdict => ({ kind: 'failed', says });
const human = (says: string): Verdict => ({ kind: 'human', says });
const busy = (says: string): Verdict => ({ kind: 'busy', says });

// What each status means for whoever called; RFC 9110, section 15.5, and RFC 6585.
const VERDICTS: ReadonlyMap<number, Verdict> = new Map([
  [400, retry('the API does not understand the request')],
  [401, human('the API does not accept our credentials')],
  [402, failed('the API wants to be paid')],
  [403, human('our credentials do not allow this')],
  [404, retry('not found')],
  [405, failed('the API does not know this operation')],
  [406, failed('the API has no form of answer that we read')],
  [407, human('a proxy before the API wants credentials')],
  [408, busy('the API waited too long for the request')],
  [409, retry('this conflicts with what is there')],
  [410, failed('this is gone for good')],
  [412, retry('a condition of the request does not hold')],
  [413, retry('the request is too large')],
  [414, retry('the request is too long')],
  [415, failed('the API does not take this media type')],
  [422, retry('the API cannot work with these values')],
  [423, retry('this is locked')],
  [424, retry('something that this depends on failed')],
  [425, busy('the API wants the request later')],
  [426, failed('the API wants another protocol')],
  [428, retry('the API wants a condition in the request, such as If-Match')],
  [429, busy('rate limit exceeded')],
  [431, retry('the request headers are too large')],
  [451, failed('this is withheld for legal reasons')],
]);

const verdictOn = (status: number): Verdict => {
  if (status >= 500) return busy('the API failed');
  return VERDICTS.get(status) ?? retry('the API refused the request');
};

// Answered before anything was done; any other failure of a server may have come half-way.
const NOT_EXECUTED: ReadonlySet<number> = new Set([425, 429]);

/** The error for an answer of 400 or above. For a write, `executed` is `no` for what the API refused. */
export const toAnswerFailure = (answer: Answer, call: FailedCall): Failure => {
  const { status } = answer;
  const { kind, says } = verdictOn(status);
  const text = `HTTP ${status}: ${endSentence(call.apiMessage ?? says)}`;
  const { payload: value, importName } = call;
  if (isHiddenRateLimit(answer)) return toBusyFailure(answer, text, call);
  switch (kind) {
    case 'busy':
      return toBusyFailure(answer, text, call);
    case 'retry':
      return new RetryableToolError(text, { value, hint: 'Correct the arguments, or look up what is there first.' });
    case 'human':
      return new TerminalToolError(text, {
        value,
        executed: 'no',
        hint: `A human must see to this: the setting 'auth' of the OpenAPI import '${importName}'.`,
      });
    case 'failed':
      return new TerminalToolError(text, { value, executed: 'no', hint: 'Do not repeat this call.' });
  }
};

const endSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** 403 with a wait: how GitHub and others say 429. */
const isHiddenRateLimit = ({ status, headers }: Answer): boolean =>
  status === 403 && (headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0');

const toBusyFailure = (answer: Answer, text: string, { nowMs }: FailedCall): UpstreamToolError => {
  const retryAfterMs = retryAfterOf(answer, nowMs);
  const isLimit = answer.status === 429 || answer.status === 403;
  const executed: Extract<Executed, 'no' | 'maybe'> = isLimit || NOT_EXECUTED.has(answer.status) ? 'no' : 'maybe';
  const when = retryAfterMs === undefined ? 'later' : `in ${Math.max(1, Math.ceil(retryAfterMs / 1_000))} s`;
  return new UpstreamToolError(
    isLimit ? 'upstream_rate_limited' : 'upstream_unavailable',
    executed === 'no' ? `${text} Try again ${when}.` : text,
    { executed, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  );
};

/** A redirect that leads out of what the import may ask. */
export const toRedirectFailure = (
  { status, headers }: Answer,
  effects: Effects,
  removeSecrets: (text: string) => string,
): Failure => {
  const target = showUrl(removeSecrets(headers.get('location') ?? 'nowhere'));
  const text = `HTTP ${status}: the API redirects to '${target}', which is not followed.`;
  return effects === 'read'
    ? new TerminalToolError(text, { hint: 'Do not repeat this call.' })
    : new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
};

/**
 * The error for a write that was redirected: whoever redirected it may have done it, whatever the last place says. What
 * would say otherwise says `maybe`.
 */
export const afterRedirect = (failure: Failure, effects: Effects): Failure => {
  if (effects === 'read' || failure.executed === 'maybe') return failure;
  const { message, hint, cause } = failure;
  const told = { executed: 'maybe', cause, ...(hint === undefined ? {} : { hint }) } as const;
  if (failure instanceof TerminalToolError) return new TerminalToolError(message, { ...told, value: failure.value });
  // Of an idempotent call, which may be repeated, the arguments are what counts.
  if (failure instanceof RetryableToolError)
    return effects === 'write'
      ? new UpstreamToolError('upstream_unavailable', message, { executed: 'maybe', cause })
      : new RetryableToolError(message, { ...told, value: failure.value });
  const { retryAfterMs } = failure;
  const isLimit = failure[TOOL_ERROR] === 'upstream_rate_limited';
  return new UpstreamToolError(isLimit ? 'upstream_rate_limited' : 'upstream_unavailable', message, {
    ...told,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};
