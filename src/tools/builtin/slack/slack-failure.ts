import { findNoAnswer, toNoAnswerFailure } from '../../http/no-answer-error.ts';
import { parseRetryAfter } from '../../http/retry-after.ts';
import { showText } from '../../http/show-url.ts';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from '../../tool-errors.ts';
import { type SlackRefusal, toSlackRefusal } from './slack-refusal.ts';

type SlackFailure = RetryableToolError | TerminalToolError | UpstreamToolError;

/** `retry`: another call may do better. `terminal`: none will. `doubt`: none will, and something may have happened. */
export type RefusalText = { readonly kind: 'retry' | 'terminal' | 'doubt'; readonly text: string };

/** What a method's own refusals mean, by Slack's word for them. */
export type RefusalTexts = ReadonlyMap<string, RefusalText>;

/** The answer as it came, before the client library saw it. */
export type SeenAnswer = { readonly status: number; readonly retryAfter: string | undefined; readonly body: string };

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

/**
 * The failure of a request to Slack, from what its client library threw and what was seen of the answer. `executed` is
 * `no` where nothing was sent, or Slack refused; `maybe` where it did not say.
 */
export const toSlackFailure = (
  thrown: unknown,
  { seen, refusals }: { readonly seen: SeenAnswer | null; readonly refusals: RefusalTexts },
): SlackFailure => {
  const silence = findNoAnswer(thrown);
  if (silence !== undefined) return toNoAnswerFailure(silence, 'Slack');
  if (seen === null) return toUnavailable('The request to Slack failed', 'maybe', thrown);
  const refusal = toSlackRefusal(seen.body);
  if (seen.status === TOO_MANY_REQUESTS || (refusal !== undefined && RATE_LIMITED.has(refusal.code)))
    return toRateLimited(seen);
  if (seen.status >= FIRST_SERVER_ERROR || seen.status === REQUEST_TIMEOUT)
    return toUnavailable(`Slack failed (HTTP ${seen.status})`, 'maybe', thrown);
  if (refusal !== undefined) return toRefused(refusal, refusals);
  if (seen.status !== 200) return toStranger(seen.status);
  return toUnreadable(thrown);
};

/** The failure for an answer of Slack's that is none: what became of the request is not known. */
export const toUnreadable = (cause: unknown): UpstreamToolError =>
  toUnavailable('Slack sent an answer that cannot be read', 'maybe', cause);

const toUnavailable = (what: string, executed: 'no' | 'maybe', cause: unknown): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', `${what}. Try again later.`, { executed, cause });

const toRateLimited = ({ retryAfter }: SeenAnswer): UpstreamToolError => {
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now());
  const when = retryAfterMs === undefined ? 'later' : `in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s`;
  return new UpstreamToolError('upstream_rate_limited', `Slack allows no more requests for now. Try again ${when}.`, {
    executed: 'no',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};

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
  if (OUT_OF_ORDER.has(code)) return toUnavailable(`Slack is out of order (${code})`, 'maybe', undefined);
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
const toStranger = (status: number): TerminalToolError =>
  toTerminal(`HTTP ${status} came instead of an answer of Slack's. A human must check SLACK_API_URL.`);
