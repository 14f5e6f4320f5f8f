import { findNoAnswer, toNoAnswerFailure } from '../../http/no-answer-error.ts';
import { showText, showUrl } from '../../http/show-url.ts';
import { toSeconds } from '../../http/to-seconds.ts';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from '../../tool-errors.ts';
import type { GoogleApi, GoogleMeaning } from './google-access.ts';
import { type GoogleCredentials, toSecrets } from './google-credentials.ts';
import { type GoogleErrorAnswer, readErrorAnswer } from './google-error-answer.ts';
import { TooLongTokenError, UnreadableTokenError } from './google-sign-in.ts';
import { redactGoogleText } from './redact-google-text.ts';

/** What a failure is about. `accessTokens` is empty where there was none yet. */
export type GoogleAttempt = {
  readonly api: GoogleApi;
  readonly meaning: GoogleMeaning;
  readonly credentials: GoogleCredentials;
  readonly subject: string | undefined;
  readonly accessTokens: readonly string[];
  /** Whether the request left the process; a sign-in is none. */
  readonly isSent: boolean;
  /** GOOGLE_API_URL. */
  readonly apiUrl: string | undefined;
  readonly now: () => number;
};

export type GoogleFailure = {
  readonly error: Error;
  /** `refused`: a new one may do better at once. `narrow`: one that is had once a human has allowed more. */
  readonly token: 'fine' | 'refused' | 'narrow';
};

/** The error that tells what Google's library threw. What Google says is shown, without any secret of the attempt. */
export const toGoogleFailure = (thrown: unknown, attempt: GoogleAttempt): GoogleFailure => {
  const { api, accessTokens } = attempt;
  const noAnswer = findNoAnswer(thrown);
  if (noAnswer !== undefined) return kept(toNoAnswerFailure(noAnswer, api.name));
  if (thrown instanceof UnreadableTokenError) return kept(toUnreadableFailure(api, null));
  if (thrown instanceof TooLongTokenError) return kept(toTooLongTokenFailure(attempt));
  const answer = readErrorAnswer(thrown, attempt.now());
  if (answer === null) return kept(toOwnFailure(thrown, attempt));
  const said: Said = { ...answer, words: toShown(answer.message, attempt) };
  if (isBusy(said)) return kept(toBusyFailure(said, api));
  if (!said.isGoogles && !TOO_LARGE.has(said.status)) return kept(toStrangerFailure(said, attempt));
  if (accessTokens.length === 0) return kept(toSignInFailure(said, attempt));
  const error = toStatusFailure(said, attempt);
  if (said.status === 401) return { error, token: 'refused' };
  return { error, token: isScopeMissing(said) ? 'narrow' : 'fine' };
};

/** The failure for an answer that is not what Google documents. `cut` says what is missing of it. */
export const toUnreadableFailure = ({ name }: GoogleApi, cut: 'size' | 'time' | null): UpstreamToolError => {
  const text = {
    size: `${name} sent an answer that is too large to be read. Ask for less.`,
    time: `${name} did not answer in time. Try again later.`,
    none: `${name} sent an answer that cannot be read. Try again later.`,
  }[cut ?? 'none'];
  return new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
};

/** Whom Google sees: the address to share things with; null where the file names no one. */
const toAccount = (credentials: GoogleCredentials, subject: string | undefined): string | null => {
  if (credentials.type === 'authorized_user') return null;
  return showText(subject === undefined || subject === '' ? credentials.clientEmail : subject);
};

type Said = GoogleErrorAnswer & { readonly words: string };

const kept = (error: Error): GoogleFailure => ({ error, token: 'fine' });

const toShown = (text: string, { accessTokens, credentials }: GoogleAttempt): string =>
  redactGoogleText(text, [...accessTokens, ...toSecrets(credentials)]);

/** For what Google's library threw of itself. Not that error: it carries the whole request. */
const toOwnFailure = (thrown: unknown, attempt: GoogleAttempt): Error => {
  const text = `${attempt.api.name} could not be asked: ${toShown(String(thrown), attempt)}`;
  if (attempt.isSent || attempt.accessTokens.length === 0) return new Error(text);
  // Nobody has been asked, so it is no word on Google: what could not be written are the arguments.
  return new RetryableToolError(`${text}. Correct the parameters.`, { executed: 'no' });
};

// Google's front door says so itself, before anything that knows of its errors.
const TOO_LARGE: ReadonlySet<number> = new Set([413, 414, 431]);

/** For an answer without the error that Google's have: it is not Google that was asked. */
const toStrangerFailure = ({ status }: Said, { api, apiUrl }: GoogleAttempt): TerminalToolError => {
  return new TerminalToolError(`What answers for ${api.name} is not Google (${status}). ${toRemedy(apiUrl)}`);
};

const toTooLongTokenFailure = ({ api, apiUrl }: GoogleAttempt): TerminalToolError =>
  new TerminalToolError(
    `A sign-in for ${api.name} gave an access token of more than 2048 characters, which Google's never have. ${toRemedy(apiUrl)}`,
    { executed: 'no' },
  );

const toRemedy = (apiUrl: string | undefined): string =>
  apiUrl === undefined
    ? 'A human must check what stands between this service and Google.'
    : `A human must check GOOGLE_API_URL: it is set to '${showUrl(apiUrl)}'.`;

const QUOTA_REASONS = [
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'quotaExceeded',
  'dailyLimitExceeded',
  'RATE_LIMIT_EXCEEDED',
  'RESOURCE_EXHAUSTED',
  // Drive's own: https://developers.google.com/workspace/drive/api/guides/handle-errors
  'sharingRateLimitExceeded',
  'downloadQuotaExceeded',
];

const has = ({ reasons }: Said, ...wanted: readonly string[]): boolean => wanted.some((reason) => reasons.has(reason));

const isQuota = (said: Said): boolean => said.status === 429 || (said.status === 403 && has(said, ...QUOTA_REASONS));
const isBusy = (said: Said): boolean => isQuota(said) || said.status >= 500 || said.status < 400 || said.status === 408;

const isScopeMissing = (said: Said): boolean =>
  said.status === 403 && has(said, 'insufficientPermissions', 'ACCESS_TOKEN_SCOPE_INSUFFICIENT');

const toBusyFailure = (said: Said, { name }: GoogleApi): UpstreamToolError => {
  const { status, retryAfterMs } = said;
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (isQuota(said)) {
    const text = has(said, 'dailyLimitExceeded', 'quotaExceeded')
      ? `The quota of ${name} is used up (${status}). Try again ${when}.`
      : `${name} limits how often it may be asked (${status}). Try again ${when}.`;
    return new UpstreamToolError('upstream_rate_limited', text, { executed: 'no', ...wait });
  }
  return new UpstreamToolError('upstream_unavailable', `${name} is not available (${status}). Try again ${when}.`, {
    executed: 'maybe',
    ...wait,
  });
};

const EXPIRED = 'The Google credentials have expired or were revoked.';
const toQuote = (words: string): string => (words === '' ? '' : ` Google says: '${words}'.`);

const toSignInFailure = (said: Said, { api, credentials, subject }: GoogleAttempt): Error => {
  const quote = toQuote(said.words);
  if (has(said, 'invalid_grant')) {
    const remedy =
      credentials.type === 'authorized_user'
        ? 'A human must sign in again and put the new refresh token into the file that GOOGLE_CREDENTIALS_PATH names.'
        : `A human must put a valid key into the file that GOOGLE_CREDENTIALS_PATH names, and check the clock${subject === undefined ? '' : ' and GOOGLE_SUBJECT'}.`;
    return new TerminalToolError(`${EXPIRED}${quote} ${remedy}`);
  }
  if (has(said, 'admin_policy_enforced'))
    return new TerminalToolError(
      `An administrator of the Google Workspace does not allow access to ${api.name}.${quote} A human who is one must allow it.`,
    );
  // It is about the client, not about what is asked for (RFC 6749, section 5.2). For a service account it is the delegation.
  if (has(said, 'unauthorized_client') && credentials.type === 'authorized_user')
    return new TerminalToolError(
      `Google does not take the refresh token from this OAuth client.${quote} A human must put the client_id, client_secret and refresh_token of one sign-in into the file that GOOGLE_CREDENTIALS_PATH names.`,
    );
  if (has(said, 'unauthorized_client', 'access_denied', 'invalid_scope'))
    return new TerminalToolError(
      `The Google credentials do not give access to ${api.name}.${quote} A human must allow them the scope ${api.scope}.`,
    );
  return new TerminalToolError(
    `Google refuses the credentials (${said.status}).${quote} A human must check the file that GOOGLE_CREDENTIALS_PATH names.`,
  );
};

const toStatusFailure = (said: Said, attempt: GoogleAttempt): Error => {
  const { api, meaning, credentials, subject } = attempt;
  const account = toAccount(credentials, subject);
  switch (said.status) {
    case 400:
      return toBadRequestFailure(said, api);
    case 401:
      return new TerminalToolError(
        `${EXPIRED} A human must renew them in the file that GOOGLE_CREDENTIALS_PATH names, should it go on.`,
      );
    case 403:
      return toForbiddenFailure(said, attempt);
    case 404:
      return new RetryableToolError(
        meaning.missing?.(account) ?? `${api.name} does not have it (404).${toQuote(said.words)} Check the id.`,
      );
    case 410:
      return new RetryableToolError(
        `${api.name} does not have it any more (410).${toQuote(said.words)} Use another one.`,
      );
    default:
      return new RetryableToolError(
        `${api.name} does not take this call (${said.status}).${toQuote(said.words)} Correct the parameters.`,
      );
  }
};

const toBadRequestFailure = ({ words, locations }: Said, { name }: GoogleApi): Error =>
  locations.includes('pageToken')
    ? new RetryableToolError('This page is not available any more. Start from page 1 again.')
    : new RetryableToolError(`${name} does not take this call (400).${toQuote(words)} Correct the parameters.`);

const PROJECT = /^projects\/([a-z0-9:.-]{1,64})$/;

const toForbiddenFailure = (said: Said, attempt: GoogleAttempt): Error => {
  const { api } = attempt;
  if (has(said, 'accessNotConfigured', 'SERVICE_DISABLED')) {
    const [, project] = PROJECT.exec(said.consumer ?? '') ?? [];
    const option = project === undefined ? '' : ` --project ${project}`;
    return new RetryableToolError(
      `${api.name} API is not enabled. Run: gcloud services enable ${api.service}${option} (then try again).`,
    );
  }
  if (isScopeMissing(said))
    return new TerminalToolError(
      `The Google credentials do not give access to ${api.name}. A human must allow them the scope ${api.scope}.`,
    );
  if (has(said, 'exportSizeLimitExceeded'))
    return new RetryableToolError(
      'The document is too large: Google exports at most 10 MB. Choose a smaller one, or ask a human to split it.',
    );
  if (has(said, 'cannotDownloadFile', 'cannotExportFile'))
    return new TerminalToolError(
      'The owner of the file lets nobody download it. A human must allow it in the sharing settings of the file.',
    );
  return toRefusedFailure(said, attempt);
};

// What a 403 says where access was not given, or where it names no reason. With any other, giving access mends nothing.
const NO_ACCESS: ReadonlySet<string> = new Set([
  ...['forbidden', 'insufficientFilePermissions', 'requiredAccessLevel'],
  ...['PERMISSION_DENIED', 'UNKNOWN', ''],
]);

const toRefusedFailure = (said: Said, attempt: GoogleAttempt): TerminalToolError => {
  const { api, meaning, credentials, subject } = attempt;
  const account = toAccount(credentials, subject);
  const [ownReason] = [...said.reasons].filter((reason) => !NO_ACCESS.has(reason));
  if (ownReason !== undefined) {
    const words = said.words === '' ? toShown(ownReason, attempt) : said.words;
    return new TerminalToolError(`${api.name} refuses this (403).${toQuote(words)} A human must settle that.`);
  }
  return new TerminalToolError(
    meaning.forbidden?.(account) ??
      `${api.name} refuses access (403).${toQuote(said.words)} A human must give it to ${account ?? 'the user who signed in'}.`,
  );
};
