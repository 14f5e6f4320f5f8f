import { isSuccess } from '../../http/is-success.ts';
import { findNoAnswer } from '../../http/no-answer-error.ts';
import { showText } from '../../http/show-url.ts';
import { RetryableToolError, TerminalToolError, type UpstreamToolError } from '../../tool-errors.ts';
import { type SlackRefusal, toSlackRefusal } from './slack-refusal.ts';
import { toRateLimited, toRetryAfterMs, toSilent, toUnavailable, toUnreadableText } from './slack-unavailable.ts';
import type { Course, SeenAnswer } from './watched-fetch.ts';

type SlackFailure = RetryableToolError | TerminalToolError | UpstreamToolError;

/** `retry`: another call may do better. `terminal`: none will. `doubt`: none will, and something may have happened. */
export type RefusalText = { readonly kind: 'retry' | 'terminal' | 'doubt'; readonly text: string };

/** What a method's own refusals mean, by Slack's word for them. */
export type RefusalTexts = ReadonlyMap<string, RefusalText>;

/** What the failure of a request is made of. */
export type FailureTerms = {
  readonly course: Course;
  readonly refusals: RefusalTexts;
  /** What is said where nobody knows whether it was done; undefined where doing it twice does no harm. */
  readonly doubt: string | undefined;
};

// docs.slack.dev/reference/methods, errors of all methods.
const BAD_CREDENTIALS: ReadonlySet<string> = new Set([
  ...['invalid_auth', 'not_authed', 'token_revoked', 'token_expired', 'account_inactive', 'not_allowed_token_type'],
]);
const RATE_LIMITED: ReadonlySet<string> = new Set(['ratelimited', 'rate_limited']);
// By Slack's own words something of the request may have been done before these.
const OUT_OF_ORDER: ReadonlySet<string> = new Set([
  ...['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org'],
]);
const BAD_ARGUMENTS: ReadonlySet<string> = new Set(['invalid_arguments', 'invalid_arg_name', 'invalid_array_arg']);
const FIRST_SERVER_ERROR = 500;
const REQUEST_TIMEOUT = 408;
const TOO_MANY_REQUESTS = 429;
const SEE_OTHER = 303;

/**
 * The failure of a request to Slack, from what its client library threw and what became of it. `executed` is `no` where
 * nothing was sent, or Slack refused; `maybe` where it did not say.
 */
export const toSlackFailure = (thrown: unknown, terms: FailureTerms): SlackFailure => {
  const { course, doubt } = terms;
  const silence = findNoAnswer(thrown);
  if (silence !== undefined) return toSilent(silence, doubt);
  if (!course.sent) return toNotSent(thrown);
  if (course.answer === null) return toUnavailable('The request to Slack failed', { doubt, cause: thrown });
  return toAnswered(course.answer, thrown, terms);
};

const toAnswered = (seen: SeenAnswer, cause: unknown, { refusals, doubt }: FailureTerms): SlackFailure => {
  const { status } = seen;
  const refusal = toSlackRefusal(seen.body);
  const code = refusal?.code ?? '';
  if (status === TOO_MANY_REQUESTS || RATE_LIMITED.has(code)) return toRateLimited(seen);
  const terms = { doubt, cause, retryAfterMs: toRetryAfterMs(seen) };
  if (status >= FIRST_SERVER_ERROR || status === REQUEST_TIMEOUT)
    return toUnavailable(`Slack failed (HTTP ${status})`, terms);
  if (OUT_OF_ORDER.has(code)) return toUnavailable(`Slack is out of order (${code})`, terms);
  if (refusal !== undefined) return toRefused(refusal, refusals);
  return isSuccess(status) ? toUnavailable(toUnreadableText(seen), terms) : toStranger(status, doubt);
};

// Slack's library did not get as far as sending: Slack has no part in it, and nobody else's calls need suffer.
const toNotSent = (cause: unknown): RetryableToolError =>
  new RetryableToolError('These arguments cannot be written into a request to Slack. Change them.', {
    executed: 'no',
    cause,
  });

const toRefused = ({ code, needed }: SlackRefusal, refusals: RefusalTexts): SlackFailure => {
  const known = refusals.get(code);
  if (known !== undefined) return toKnown(known);
  if (BAD_CREDENTIALS.has(code))
    return toTerminal(
      `Slack does not accept the token (${code}). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.`,
    );
  if (code === 'missing_scope')
    return toTerminal(
      `The Slack app lacks the scope ${needed === undefined ? 'for this' : `'${showText(needed, 100)}'`}. A human must add it to the app and install the app again.`,
    );
  if (BAD_ARGUMENTS.has(code))
    return new RetryableToolError(`Slack does not accept these arguments (${code}). Correct them.`, { executed: 'no' });
  return toTerminal(`Slack refused: '${code}'. A human must find out why: docs.slack.dev/reference/methods.`);
};

const toKnown = ({ kind, text }: RefusalText): SlackFailure => {
  if (kind === 'retry') return new RetryableToolError(text, { executed: 'no' });
  return kind === 'terminal' ? toTerminal(text) : new TerminalToolError(text, { executed: 'maybe' });
};

// Nothing happened, which is not what is assumed of a tool that gives up.
const toTerminal = (text: string): TerminalToolError => new TerminalToolError(text, { executed: 'no' });

// Slack itself answers 200 and 429, and 5xx when it fails: who says 302 or 404 stands before it, and did not pass it on.
// 303 says where the answer is to what was passed on (RFC 9110, section 15.4.4).
const toStranger = (status: number, doubt: string | undefined): TerminalToolError => {
  const text = `HTTP ${status} came instead of an answer of Slack's. A human must check SLACK_API_URL.`;
  if (doubt === undefined || status !== SEE_OTHER) return toTerminal(text);
  return new TerminalToolError(`${text} ${doubt}`, { executed: 'maybe' });
};
