import {
  findNoAnswer,
  parseRetryAfter,
  showText,
  showUrl,
  toNoAnswerFailure,
  toSeconds,
} from '@recourse/toolkit-kit/http';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from 'recourse-server';
import * as z from 'zod';
import type { GoogleApi, GoogleMeaning } from './google-call.ts';
import { findSecrets, type GoogleCredentials } from './google-credentials.ts';
import { TooLongTokenError, UnreadableTokenError } from './google-sign-in.ts';
import { redactGoogleText } from './hide-secrets.ts';

/** What Google said in an answer that is no success: null where it is none. All texts are Google's. */
export type GoogleErrorAnswer = NonNullable<ReturnType<typeof readErrorAnswer>>;

// What gaxios 8 throws for a status that is no success.
const Thrown = z.object({
  response: z.object({ status: z.int(), data: z.unknown(), headers: z.unknown() }),
});

// https://cloud.google.com/apis/design/errors, with the `errors` of older APIs. A member in any other form is none.
const Reason = z
  .object({ reason: z.string().catch(''), location: z.string().catch('') })
  .catch({ reason: '', location: '' });
const Detail = z
  .object({
    reason: z.string().catch(''),
    metadata: z.object({ consumer: z.string().nullable().catch(null) }).catch({ consumer: null }),
  })
  .catch({ reason: '', metadata: { consumer: null } });
const ApiError = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().catch(''),
    errors: z.array(Reason).catch([]),
    details: z.array(Detail).catch([]),
  }),
});
// RFC 6749, section 5.2.
const SignInError = z.object({ error: z.string(), error_description: z.string().catch('') });

/** The answer behind what Google's library threw; null where there is none. Times in milliseconds. */
export const readErrorAnswer = (thrown: unknown, nowMs: number) => {
  const { data: known } = Thrown.safeParse(thrown);
  if (known === undefined) return null;
  const { status, data, headers } = known.response;
  const value = parseBody(data);
  const ofApi = ApiError.safeParse(value).data?.error;
  const ofSignIn = SignInError.safeParse(value).data;
  const { errors = [], details = [] } = ofApi ?? {};
  return {
    status,
    /** Whether it holds an error as Google writes it: else who answered may be anybody. */
    isGoogles: ofApi !== undefined || ofSignIn !== undefined,
    /** `rateLimitExceeded` of the older form, `SERVICE_DISABLED` of the newer, `invalid_grant` of a sign-in. */
    reasons: new Set([
      ...(ofApi === undefined ? [] : [ofApi.status]),
      ...(ofSignIn === undefined || ofApi !== undefined ? [] : [ofSignIn.error]),
      ...[...errors, ...details].map(({ reason }) => reason),
    ]),
    message: ofApi?.message ?? ofSignIn?.error_description ?? '',
    /** The parameters that are at fault. */
    locations: errors.map(({ location }) => location),
    /** `projects/12`: whose API it is about. */
    consumer: details.find(({ metadata }) => metadata.consumer !== null)?.metadata.consumer ?? null,
    retryAfterMs: parseRetryAfter(readRetryAfter(headers), nowMs),
  };
};

const readRetryAfter = (headers: unknown): string | undefined =>
  headers instanceof Headers ? (headers.get('retry-after') ?? undefined) : undefined;

/** Of a download the library gives bytes, of anything that is no JSON the text. */
const parseBody = (data: unknown): unknown => {
  if (!(data instanceof ArrayBuffer)) return data;
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch (_noJson) {
    return null;
  }
};

/** What a failure is about. `accessTokens` is empty where there was none yet. */
type GoogleAttempt = {
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

type GoogleFailure = {
  readonly error: Error;
  /** `refused`: a new one may do better at once. `narrow`: one that is had once a human has allowed more. */
  readonly token: 'fine' | 'refused' | 'narrow';
};

/** The error that tells what Google's library threw. What Google says is shown, without any secret of the attempt. */
export const explainGoogleFailure = (thrown: unknown, attempt: GoogleAttempt): GoogleFailure => {
  const { api, accessTokens } = attempt;
  const noAnswer = findNoAnswer(thrown);
  if (noAnswer !== undefined) return keepingToken(toNoAnswerFailure(noAnswer, api.name));
  if (thrown instanceof UnreadableTokenError) return keepingToken(explainUnreadable(api, null));
  if (thrown instanceof TooLongTokenError) return keepingToken(explainTooLongToken(attempt));
  const answer = readErrorAnswer(thrown, attempt.now());
  if (answer === null) return keepingToken(explainOwnFailure(thrown, attempt));
  const said: Said = { ...answer, words: describeShown(answer.message, attempt) };
  if (isBusy(said)) return keepingToken(explainBusy(said, api));
  if (!said.isGoogles && !TOO_LARGE.has(said.status)) return keepingToken(explainStranger(said, attempt));
  if (accessTokens.length === 0) return keepingToken(explainSignIn(said, attempt));
  const error = explainStatus(said, attempt);
  if (said.status === 401) return { error, token: 'refused' };
  return { error, token: isScopeMissing(said) ? 'narrow' : 'fine' };
};

/** The failure for an answer that is not what Google documents. `cut` says what is missing of it. */
export const explainUnreadable = ({ name }: GoogleApi, cut: 'size' | 'time' | null): UpstreamToolError => {
  const text = {
    size: `${name} sent an answer that is too large to be read. Ask for less.`,
    time: `${name} did not answer in time. Try again later.`,
    none: `${name} sent an answer that cannot be read. Try again later.`,
  }[cut ?? 'none'];
  return new UpstreamToolError('upstream_unavailable', text, { executed: 'maybe' });
};

/** Whom Google sees: the address to share things with; null where the file names no one. */
const describeAccount = (credentials: GoogleCredentials, subject: string | undefined): string | null => {
  if (credentials.type === 'authorized_user') return null;
  return showText(subject === undefined || subject === '' ? credentials.clientEmail : subject);
};

type Said = GoogleErrorAnswer & { readonly words: string };

const keepingToken = (error: Error): GoogleFailure => ({ error, token: 'fine' });

const describeShown = (text: string, { accessTokens, credentials }: GoogleAttempt): string =>
  redactGoogleText(text, [...accessTokens, ...findSecrets(credentials)]);

/** For what Google's library threw of itself. Not that error: it carries the whole request. */
const explainOwnFailure = (thrown: unknown, attempt: GoogleAttempt): Error => {
  const text = `The request to ${attempt.api.name} failed: ${describeShown(String(thrown), attempt)}`;
  if (attempt.isSent || attempt.accessTokens.length === 0) return new Error(text);
  // Nobody has been asked, so it is no word on Google: what could not be written are the arguments.
  return new RetryableToolError(`${text}. Correct the parameters.`, { executed: 'no' });
};

// Google's front door says so itself, before anything that knows of its errors.
const TOO_LARGE: ReadonlySet<number> = new Set([413, 414, 431]);

/** For an answer without the error that Google's have: it is not Google that was asked. */
const explainStranger = ({ status }: Said, { api, apiUrl }: GoogleAttempt): TerminalToolError =>
  new TerminalToolError(`The answer for ${api.name} did not come from Google (${status}). ${findRemedy(apiUrl)}`);

const explainTooLongToken = ({ api, apiUrl }: GoogleAttempt): TerminalToolError =>
  new TerminalToolError(
    `The sign-in for ${api.name} returned an access token of more than 2048 characters, longer than any of Google. ${findRemedy(apiUrl)}`,
    { executed: 'no' },
  );

const findRemedy = (apiUrl: string | undefined): string =>
  apiUrl === undefined
    ? 'A human must check the proxies between this service and Google.'
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

const explainBusy = (said: Said, { name }: GoogleApi): UpstreamToolError => {
  const { status, retryAfterMs } = said;
  const when = retryAfterMs === undefined ? 'later' : `in ${toSeconds(retryAfterMs)}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (isQuota(said)) {
    const text = has(said, 'dailyLimitExceeded', 'quotaExceeded')
      ? `The quota of ${name} is used up (${status}). Try again ${when}.`
      : `${name} rate limit exceeded (${status}). Try again ${when}.`;
    return new UpstreamToolError('upstream_rate_limited', text, { executed: 'no', ...wait });
  }
  return new UpstreamToolError('upstream_unavailable', `${name} is not available (${status}). Try again ${when}.`, {
    executed: 'maybe',
    ...wait,
  });
};

const EXPIRED = 'The Google credentials have expired or were revoked.';
const quoteText = (words: string): string => (words === '' ? '' : ` Google says: '${words}'.`);

const explainSignIn = (said: Said, { api, credentials, subject }: GoogleAttempt): Error => {
  const quote = quoteText(said.words);
  if (has(said, 'invalid_grant')) {
    const remedy =
      credentials.type === 'authorized_user'
        ? 'A human must sign in again and put the new refresh token into the file in GOOGLE_CREDENTIALS_PATH.'
        : `A human must put a valid key into the file in GOOGLE_CREDENTIALS_PATH, and check the clock${subject === undefined ? '' : ' and GOOGLE_SUBJECT'}.`;
    return new TerminalToolError(`${EXPIRED}${quote} ${remedy}`);
  }
  if (has(said, 'admin_policy_enforced'))
    return new TerminalToolError(
      `The Google Workspace does not allow access to ${api.name}.${quote} Its administrator must allow it.`,
    );
  // It is about the client, not about what is asked for (RFC 6749, section 5.2). For a service account it is the delegation.
  if (has(said, 'unauthorized_client') && credentials.type === 'authorized_user')
    return new TerminalToolError(
      `Google rejects the refresh token for this OAuth client.${quote} A human must put the client_id, client_secret and refresh_token of one sign-in into the file in GOOGLE_CREDENTIALS_PATH.`,
    );
  if (has(said, 'unauthorized_client', 'access_denied', 'invalid_scope'))
    return new TerminalToolError(
      `The Google credentials do not give access to ${api.name}.${quote} A human must grant them the scope ${api.scope}.`,
    );
  return new TerminalToolError(
    `Google rejects the credentials (${said.status}).${quote} A human must check the file in GOOGLE_CREDENTIALS_PATH.`,
  );
};

const explainStatus = (said: Said, attempt: GoogleAttempt): Error => {
  const { api, meaning, credentials, subject } = attempt;
  const account = describeAccount(credentials, subject);
  switch (said.status) {
    case 400:
      return explainBadRequest(said, api);
    case 401:
      return new TerminalToolError(
        `${EXPIRED} If this persists, a human must renew them in the file in GOOGLE_CREDENTIALS_PATH.`,
      );
    case 403:
      return explainForbidden(said, attempt);
    case 404:
      return new RetryableToolError(
        meaning.missing?.(account) ?? `Not found in ${api.name} (404).${quoteText(said.words)} Check the id.`,
      );
    case 410:
      return new RetryableToolError(`No longer in ${api.name} (410).${quoteText(said.words)} Use another one.`);
    default:
      return new RetryableToolError(
        `${api.name} rejects this call (${said.status}).${quoteText(said.words)} Correct the parameters.`,
      );
  }
};

const explainBadRequest = ({ words, locations }: Said, { name }: GoogleApi): Error =>
  locations.includes('pageToken')
    ? new RetryableToolError('This page is no longer available. Start from page 1 again.')
    : new RetryableToolError(`${name} rejects this call (400).${quoteText(words)} Correct the parameters.`);

const PROJECT = /^projects\/([a-z0-9:.-]{1,64})$/;

const explainForbidden = (said: Said, attempt: GoogleAttempt): Error => {
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
      `The Google credentials do not give access to ${api.name}. A human must grant them the scope ${api.scope}.`,
    );
  if (has(said, 'exportSizeLimitExceeded'))
    return new RetryableToolError(
      'The document is too large: Google exports at most 10 MB. Choose a smaller one, or ask a human to split it.',
    );
  if (has(said, 'cannotDownloadFile', 'cannotExportFile'))
    return new TerminalToolError(
      'The owner of the file has disabled downloads. A human must allow them in the sharing settings of the file.',
    );
  return explainRefused(said, attempt);
};

// What a 403 says where access was not given, or where it names no reason. With any other, giving access mends nothing.
const NO_ACCESS: ReadonlySet<string> = new Set([
  ...['forbidden', 'insufficientFilePermissions', 'requiredAccessLevel'],
  ...['PERMISSION_DENIED', 'UNKNOWN', ''],
]);

const explainRefused = (said: Said, attempt: GoogleAttempt): TerminalToolError => {
  const { api, meaning, credentials, subject } = attempt;
  const account = describeAccount(credentials, subject);
  const [ownReason] = [...said.reasons].filter((reason) => !NO_ACCESS.has(reason));
  if (ownReason !== undefined) {
    const words = said.words === '' ? describeShown(ownReason, attempt) : said.words;
    return new TerminalToolError(`${api.name} refuses this (403).${quoteText(words)} A human must resolve this.`);
  }
  return new TerminalToolError(
    meaning.forbidden?.(account) ??
      `${api.name} refuses access (403).${quoteText(said.words)} A human must grant it to ${account ?? 'the user who signed in'}.`,
  );
};
