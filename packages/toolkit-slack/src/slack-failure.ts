import {
  type ClientFetch,
  CUT_HEADER,
  findNoAnswer,
  isSuccess,
  type NoAnswer,
  parseRetryAfter,
  showText,
  toNoAnswerFailure,
  toSeconds,
} from '@recourse/toolkit-kit/http';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server';
import * as z from 'zod';

type SeenAnswer = {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
  /** Why the rest of the body is missing: `size` or `time`. */
  readonly cut: string | null;
};

/** What became of a request: whether it was handed on at all, and its answer, null where none came. */
type Course = { readonly sent: boolean; readonly answer: SeenAnswer | null };

/** A `fetch` for one request of Slack's library, and what became of it. */
export const watchFetch = (
  clientFetch: ClientFetch,
): { readonly fetch: ClientFetch; readonly course: () => Course } => {
  let course: Course = { sent: false, answer: null };
  return {
    course: () => course,
    fetch: async (url, init) => {
      course = { sent: true, answer: null };
      const { status, headers, ...answer } = await readAnswer(clientFetch(url, init));
      course = { sent: true, answer: { status, ...answer } };
      // Or the library would unpack what calls itself application/gzip, to any size.
      headers.set('content-type', 'application/json');
      // It takes no success but 200, and what stands before Slack may say 201 for what Slack has done.
      const told = isSuccess(status) ? 200 : status;
      return new Response(answer.body === '' ? null : answer.body, { status: told, headers });
    },
  };
};

const readAnswer = async (coming: Promise<Response>): Promise<SeenAnswer & { readonly headers: Headers }> => {
  const answer = await coming;
  return {
    status: answer.status,
    headers: new Headers(answer.headers),
    retryAfter: answer.headers.get('retry-after') ?? undefined,
    body: await answer.text(),
    cut: answer.headers.get(CUT_HEADER),
  };
};

/** What Slack said instead of an answer: `{"ok": false, "error": "channel_not_found"}`. */
type SlackRefusal = {
  readonly code: string;
  /** The scope that was missing, in Slack's own words. */
  readonly needed: string | undefined;
};

const Refused = z
  .object({
    ok: z.literal(false),
    error: z.string().regex(/^[a-z][a-z0-9_]{0,79}$/),
    needed: z.string().optional().catch(undefined),
  })
  .transform(({ error, needed }): SlackRefusal => ({ code: error, needed }));

/**
 * The refusal that the body of an answer is; undefined where it is none. Not what Slack's library makes of it: a body
 * that is no JSON, the word `timeout` of something before Slack for one, is a refusal of that code to it.
 */
const explainSlackRefusal = (body: string): SlackRefusal | undefined => Refused.safeParse(parseJson(body)).data;

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (_noJson) {
    return undefined;
  }
};

const UNREADABLE = 'Slack sent an answer that cannot be read';
const TOO_SLOW = 'Slack did not answer in time';
const CUT_TEXTS: ReadonlyMap<string | null, string> = new Map([
  ['time', TOO_SLOW],
  ['size', 'Slack sent an answer that is too large to be read'],
]);

const describeUnreadable = ({ cut }: Pick<SeenAnswer, 'cut'>): string => CUT_TEXTS.get(cut) ?? UNREADABLE;

type UnavailableDetails = {
  readonly doubt: string | undefined;
  readonly cause: unknown;
  readonly retryAfterMs?: number | undefined;
};

/** The failure of a request of which nobody knows whether it was done: "try again" is said of harmless ones alone. */
const explainUnavailable = (what: string, { doubt, cause, retryAfterMs }: UnavailableDetails): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', `${what}. ${doubt ?? explainLater(retryAfterMs)}`, {
    executed: 'maybe',
    cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

/** The same for an answer that is none. */
export const explainUnreadable = (cause: unknown, doubt?: string): UpstreamToolError =>
  explainUnavailable(UNREADABLE, { doubt, cause });

const explainLater = (retryAfterMs: number | undefined): string =>
  `Try again ${retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`}.`;

const readRetryAfterMs = ({ retryAfter }: SeenAnswer): number | undefined => parseRetryAfter(retryAfter, Date.now());

const SILENCES: ReadonlyMap<NoAnswer['reason'], string> = new Map([
  ['lost', 'The connection to Slack broke before the answer was complete'],
  ['too_slow', TOO_SLOW],
  ['unreadable', UNREADABLE],
]);

const explainSilent = (silence: NoAnswer, doubt: string | undefined): UpstreamToolError => {
  if (doubt === undefined || silence.executed === 'no') return toNoAnswerFailure(silence, 'Slack');
  const what = SILENCES.get(silence.reason) ?? 'Slack did not answer';
  return explainUnavailable(`${what} (${silence.code})`, { doubt, cause: silence.cause });
};

/** The failure where Slack limits requests: this one was not done. */
const explainRateLimited = (seen: SeenAnswer): UpstreamToolError => {
  const retryAfterMs = readRetryAfterMs(seen);
  const text = `Slack rate limit exceeded. ${explainLater(retryAfterMs)}`;
  return new UpstreamToolError('upstream_rate_limited', text, {
    executed: 'no',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};

type SlackFailure = RetryableToolError | TerminalToolError | UpstreamToolError;

/** `retry`: another call may do better. `terminal`: none will. `doubt`: none will, and something may have happened. */
export type RefusalText = { readonly kind: 'retry' | 'terminal' | 'doubt'; readonly text: string };

/** What a method's own refusals mean, by Slack's word for them. */
export type RefusalTexts = ReadonlyMap<string, RefusalText>;

type FailureContext = {
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
export const explainSlackFailure = (thrown: unknown, terms: FailureContext): SlackFailure => {
  const { course, doubt } = terms;
  const silence = findNoAnswer(thrown);
  if (silence !== undefined) return explainSilent(silence, doubt);
  if (!course.sent) return explainNotSent(thrown);
  if (course.answer === null) return explainUnavailable('The request to Slack failed', { doubt, cause: thrown });
  return explainAnswered(course.answer, thrown, terms);
};

const explainAnswered = (seen: SeenAnswer, cause: unknown, { refusals, doubt }: FailureContext): SlackFailure => {
  const { status } = seen;
  const refusal = explainSlackRefusal(seen.body);
  const code = refusal?.code ?? '';
  if (status === TOO_MANY_REQUESTS || RATE_LIMITED.has(code)) return explainRateLimited(seen);
  const terms = { doubt, cause, retryAfterMs: readRetryAfterMs(seen) };
  if (status >= FIRST_SERVER_ERROR || status === REQUEST_TIMEOUT)
    return explainUnavailable(`Slack failed (HTTP ${status})`, terms);
  if (OUT_OF_ORDER.has(code)) return explainUnavailable(`Slack is unavailable (${code})`, terms);
  if (refusal !== undefined) return explainRefused(refusal, refusals);
  return isSuccess(status) ? explainUnavailable(describeUnreadable(seen), terms) : explainStranger(status, doubt);
};

// Slack's library did not get as far as sending: Slack has no part in it, and nobody else's calls need suffer.
const explainNotSent = (cause: unknown): RetryableToolError =>
  new RetryableToolError('These arguments cannot be written into a request to Slack. Change them.', {
    executed: 'no',
    cause,
  });

const explainRefused = ({ code, needed }: SlackRefusal, refusals: RefusalTexts): SlackFailure => {
  const known = refusals.get(code);
  if (known !== undefined) return explainExpected(known);
  if (BAD_CREDENTIALS.has(code))
    return explainTerminal(
      `Slack does not accept the token (${code}). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.`,
    );
  if (code === 'missing_scope')
    return explainTerminal(
      `The Slack app lacks the scope ${needed === undefined ? 'for this' : `'${showText(needed, 100)}'`}. A human must add it to the app and install the app again.`,
    );
  if (BAD_ARGUMENTS.has(code))
    return new RetryableToolError(`Slack does not accept these arguments (${code}). Correct them.`, { executed: 'no' });
  return explainTerminal(`Slack refused: '${code}'. A human must find out why: docs.slack.dev/reference/methods.`);
};

const explainExpected = ({ kind, text }: RefusalText): SlackFailure => {
  if (kind === 'retry') return new RetryableToolError(text, { executed: 'no' });
  return kind === 'terminal' ? explainTerminal(text) : new TerminalToolError(text, { executed: 'maybe' });
};

// Nothing happened, which is not what is assumed of a tool that gives up.
const explainTerminal = (text: string): TerminalToolError => new TerminalToolError(text, { executed: 'no' });

// Slack itself answers 200 and 429, and 5xx when it fails: who says 302 or 404 stands before it, and did not pass it on.
// 303 says where the answer is to what was passed on (RFC 9110, section 15.4.4).
const explainStranger = (status: number, doubt: string | undefined): TerminalToolError => {
  const text = `Received HTTP ${status}, which is not an answer of Slack. A human must check SLACK_API_URL.`;
  if (doubt === undefined || status !== SEE_OTHER) return explainTerminal(text);
  return new TerminalToolError(`${text} ${doubt}`, { executed: 'maybe' });
};
