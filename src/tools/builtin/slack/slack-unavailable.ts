import type { NoAnswer } from '../../http/exchange.ts';
import { toNoAnswerFailure } from '../../http/no-answer-error.ts';
import { parseRetryAfter } from '../../http/retry-after.ts';
import { toSeconds } from '../../http/to-seconds.ts';
import { UpstreamToolError } from '../../tool-errors.ts';
import type { SeenAnswer } from './watched-fetch.ts';

const UNREADABLE = 'Slack sent an answer that cannot be read';
const TOO_SLOW = 'Slack did not answer in time';
const CUT_TEXTS: ReadonlyMap<string | null, string> = new Map([
  ['time', TOO_SLOW],
  ['size', 'Slack sent an answer that is too large to be read'],
]);

/** What is wrong with an answer that cannot be read. */
export const toUnreadableText = ({ cut }: Pick<SeenAnswer, 'cut'>): string => CUT_TEXTS.get(cut) ?? UNREADABLE;

type UnavailableTerms = {
  readonly doubt: string | undefined;
  readonly cause: unknown;
  readonly retryAfterMs?: number | undefined;
};

/** The failure of a request of which nobody knows whether it was done: "try again" is said of harmless ones alone. */
export const toUnavailable = (what: string, { doubt, cause, retryAfterMs }: UnavailableTerms): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', `${what}. ${doubt ?? toLater(retryAfterMs)}`, {
    executed: 'maybe',
    cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

/** The same for an answer that is none. */
export const toUnreadable = (cause: unknown, doubt?: string): UpstreamToolError =>
  toUnavailable(UNREADABLE, { doubt, cause });

const toLater = (retryAfterMs: number | undefined): string =>
  `Try again ${retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`}.`;

/** The wait that an answer asks for. */
export const toRetryAfterMs = ({ retryAfter }: SeenAnswer): number | undefined =>
  parseRetryAfter(retryAfter, Date.now());

const SILENCES: ReadonlyMap<NoAnswer['reason'], string> = new Map([
  ['lost', 'The connection to Slack broke before the whole answer came'],
  ['too_slow', TOO_SLOW],
  ['unreadable', UNREADABLE],
]);

/** The failure where no answer came. */
export const toSilent = (silence: NoAnswer, doubt: string | undefined): UpstreamToolError => {
  if (doubt === undefined || silence.executed === 'no') return toNoAnswerFailure(silence, 'Slack');
  const what = SILENCES.get(silence.reason) ?? 'Slack did not answer';
  return toUnavailable(`${what} (${silence.code})`, { doubt, cause: silence.cause });
};

/** The failure where Slack limits requests: this one was not done. */
export const toRateLimited = (seen: SeenAnswer): UpstreamToolError => {
  const retryAfterMs = toRetryAfterMs(seen);
  const text = `Slack allows no more requests for now. ${toLater(retryAfterMs)}`;
  return new UpstreamToolError('upstream_rate_limited', text, {
    executed: 'no',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
};
