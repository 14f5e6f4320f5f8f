import { type ClientFetch, CUT_HEADER } from '../../http/client-fetch.ts';
import { NoAnswerError } from '../../http/no-answer-error.ts';
import { untilAborted, withTimeLimit } from '../../http/time-limit.ts';
import type { GoogleApi, GoogleCall, GoogleMeaning, GoogleRequest, GoogleRequestOptions } from './google-access.ts';
import { toRemainingMs } from './google-call.ts';
import type { GoogleCredentials } from './google-credentials.ts';
import { toGoogleFailure } from './google-failure.ts';
import type { GoogleSignIn, SignedIn } from './google-sign-in.ts';

export type OnSend = (authorization: string | undefined) => void;

export type GoogleMeans = {
  readonly loadCredentials: (api: GoogleApi) => Promise<GoogleCredentials>;
  readonly signIn: GoogleSignIn;
  /** What a request goes through; `onSend` is told of its Authorization when it is about to leave. */
  readonly openFetch: (maxBytes: number, call: GoogleCall, onSend: OnSend) => ClientFetch;
  readonly subject: string | undefined;
  readonly apiUrl: string | undefined;
  readonly now: () => number;
};

export type GoogleAsked = {
  readonly api: GoogleApi;
  readonly request: GoogleRequest;
  readonly meaning: GoogleMeaning;
  readonly call: GoogleCall;
  readonly responseType: GoogleRequestOptions['responseType'];
  readonly maxBytes: number;
};

/** What came. `cut` says why the rest is missing. */
export type GoogleAnswer = {
  readonly data: unknown;
  readonly cut: 'size' | 'time' | null;
};

/**
 * One read. A token may be refused that was good a moment ago, so that is followed by a new sign-in, which all who
 * meet it share, and one repeat. Rejects as `GoogleAccess.read` does.
 */
export const askGoogle = async (means: GoogleMeans, asked: GoogleAsked): Promise<GoogleAnswer> => {
  const first = await attempt(means, asked);
  const last = first.kind === 'failure' && first.token === 'refused' ? await attempt(means, asked) : first;
  if (last.kind === 'failure') throw last.error;
  return last.answer;
};

const BEARER = /^Bearer (\S+)$/;

type Attempted =
  | { readonly kind: 'answer'; readonly answer: GoogleAnswer }
  | ({ readonly kind: 'failure' } & ReturnType<typeof toGoogleFailure>);

const attempt = async (
  means: GoogleMeans,
  { api, request, meaning, call, ...wanted }: GoogleAsked,
): Promise<Attempted> => {
  const { signIn, subject, apiUrl, now } = means;
  const { signal } = call;
  signal.throwIfAborted();
  const credentials = await means.loadCredentials(api);
  let accessToken = '';
  let isSent = false;
  const accessTokens: string[] = [];
  const keepToken = (token: string): void => {
    if (!accessTokens.includes(token)) accessTokens.push(token);
    call.accessTokens.add(token);
  };
  // The library has a token renewed that is about to end: the one that is sent may be another.
  const onSend: OnSend = (authorization = '') => {
    isSent = true;
    const [, sent] = BEARER.exec(authorization) ?? [];
    if (sent !== undefined) keepToken(sent);
  };
  try {
    const signedIn = await withinCall(call, signIn.open(credentials, api));
    accessToken = signedIn.accessToken;
    keepToken(accessToken);
    const { data, headers } = await request(signedIn.auth, {
      signal,
      responseType: wanted.responseType,
      fetchImplementation: means.openFetch(wanted.maxBytes, call, onSend),
    });
    return { kind: 'answer', answer: { data, cut: toCut(headers) } };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = toGoogleFailure(thrown, { api, meaning, credentials, subject, apiUrl, accessTokens, isSent, now });
    if (failure.token !== 'fine') signIn.forget(api, accessToken);
    return { kind: 'failure', ...failure };
  }
};

/** The sign-in itself goes on for the other calls that wait for it. */
const withinCall = (call: GoogleCall, signingIn: Promise<SignedIn>): Promise<SignedIn> =>
  withTimeLimit(call.signal, toRemainingMs(call), (limit) =>
    untilAborted(signingIn, limit).catch((thrown: unknown) => {
      if (!limit.aborted || thrown !== limit.reason) throw thrown;
      const code = 'TimeoutError';
      throw new NoAnswerError({ kind: 'no_answer', reason: 'too_slow', executed: 'no', code, cause: thrown });
    }),
  );

// googleapis-common 8 makes a plain object of them.
const toCut = (headers: unknown): GoogleAnswer['cut'] => {
  const cut: unknown =
    typeof headers === 'object' && headers !== null && CUT_HEADER in headers ? headers[CUT_HEADER] : null;
  return cut === 'size' || cut === 'time' ? cut : null;
};
