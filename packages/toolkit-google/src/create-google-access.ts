import {
  type ClientFetch,
  CUT_HEADER,
  createClientFetch,
  createClientOpener,
  type HttpClient,
  NoAnswerError,
  systemRetryClock,
  toChosenService,
  untilAborted,
  withTimeLimit,
} from '@recourse/toolkit-kit/http';
import {
  findRemainingMs,
  type GoogleAccess,
  type GoogleApi,
  type GoogleCall,
  type GoogleDownload,
  type GoogleMeaning,
  type GoogleRequest,
  type GoogleRequestOptions,
} from './google-access.ts';
import { createCredentialsFile, type GoogleCredentials } from './google-credentials.ts';
import { explainGoogleFailure, explainUnreadable } from './google-failure.ts';
import { createGoogleSignIn, type GoogleSignIn, type SignedIn } from './google-sign-in.ts';

type OnSend = (authorization: string | undefined) => void;

type GoogleParts = {
  readonly loadCredentials: (api: GoogleApi) => Promise<GoogleCredentials>;
  readonly signIn: GoogleSignIn;
  /** What a request goes through; `onSend` is told of its Authorization when it is about to leave. */
  readonly openFetch: (maxBytes: number, call: GoogleCall, onSend: OnSend) => ClientFetch;
  readonly subject: string | undefined;
  readonly apiUrl: string | undefined;
  readonly now: () => number;
};

type GoogleRead = {
  readonly api: GoogleApi;
  readonly request: GoogleRequest;
  readonly meaning: GoogleMeaning;
  readonly call: GoogleCall;
  readonly responseType: GoogleRequestOptions['responseType'];
  readonly maxBytes: number;
};

type GoogleAnswer = {
  readonly data: unknown;
  readonly cut: 'size' | 'time' | null;
};

/**
 * One read. A token may be refused that was good a moment ago, so that is followed by a new sign-in, which all who
 * meet it share, and one repeat. Rejects as `GoogleAccess.read` does.
 */
const askGoogle = async (means: GoogleParts, asked: GoogleRead): Promise<GoogleAnswer> => {
  const first = await attempt(means, asked);
  const last = first.kind === 'failure' && first.token === 'refused' ? await attempt(means, asked) : first;
  if (last.kind === 'failure') throw last.error;
  return last.answer;
};

const BEARER = /^Bearer (\S+)$/;

type Attempted =
  | { readonly kind: 'answer'; readonly answer: GoogleAnswer }
  | ({ readonly kind: 'failure' } & ReturnType<typeof explainGoogleFailure>);

const attempt = async (
  means: GoogleParts,
  { api, request, meaning, call, ...wanted }: GoogleRead,
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
    return { kind: 'answer', answer: { data, cut: decideCut(headers) } };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = explainGoogleFailure(thrown, {
      api,
      meaning,
      credentials,
      subject,
      apiUrl,
      accessTokens,
      isSent,
      now,
    });
    if (failure.token !== 'fine') signIn.forget(api, accessToken);
    return { kind: 'failure', ...failure };
  }
};

/** The sign-in itself goes on for the other calls that wait for it. */
const withinCall = (call: GoogleCall, signingIn: Promise<SignedIn>): Promise<SignedIn> =>
  withTimeLimit(call.signal, findRemainingMs(call), (limit) =>
    untilAborted(signingIn, limit).catch((thrown: unknown) => {
      if (!limit.aborted || thrown !== limit.reason) throw thrown;
      const code = 'TimeoutError';
      throw new NoAnswerError({ kind: 'no_answer', reason: 'too_slow', executed: 'no', code, cause: thrown });
    }),
  );

// googleapis-common 8 makes a plain object of them.
const decideCut = (headers: unknown): GoogleAnswer['cut'] => {
  const cut: unknown =
    typeof headers === 'object' && headers !== null && CUT_HEADER in headers ? headers[CUT_HEADER] : null;
  return cut === 'size' || cut === 'time' ? cut : null;
};

type GoogleAccessOptions = {
  /** GOOGLE_CREDENTIALS_PATH: asked for with the first call, and read again when it changes. */
  readonly credentialsPath: string | undefined;
  /** GOOGLE_SUBJECT. */
  readonly subject: string | undefined;
  /** GOOGLE_API_URL: where all requests go, sign-in included. */
  readonly apiUrl: string | undefined;
  readonly registerSecrets: (values: readonly string[]) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Milliseconds for one read with its repeats, by default all that its call has left, and for one sign-in. */
  readonly limits?: { readonly readMs: number; readonly signInMs: number };
};

// A page of a list is some hundred kilobytes at most.
const MOST_JSON_BYTES = 8_388_608;
const MOST_TOKEN_BYTES = 65_536;
// All who want a token wait with the sign-in, also those who have little time.
const LONGEST_SIGN_IN_WAIT_MS = 1_000;
const DEFAULT_LIMITS = { readMs: Number.POSITIVE_INFINITY, signInMs: 10_000 };

/** Google with the credentials of a file. Nothing is loaded, read or connected before the first call. */
export const createGoogleAccess = (options: GoogleAccessOptions): GoogleAccess => {
  const { apiUrl, now = Date.now, limits = DEFAULT_LIMITS } = options;
  const baseUrl = apiUrl === undefined ? undefined : new URL(apiUrl);
  const loadCredentials = createCredentialsFile({
    path: options.credentialsPath,
    registerSecrets: options.registerSecrets,
  });
  const client = createClientOpener(toChosenService({ ...systemRetryClock, now }));
  const openFetch =
    (fetched: FetchOptions): ClientFetch =>
    async (url, init) => {
      const opened = await client.open();
      const send: HttpClient['send'] = (request) => {
        fetched.onSend?.(request.headers['authorization']);
        return opened.send(request);
      };
      const { maxBytes, signal, longestWaitMs } = fetched;
      const limitMs = fetched.decideLimitMs();
      const options = { client: { send }, maxBytes, limitMs, longestWaitMs, baseUrl, signal };
      return createClientFetch({ ...options, repeats: 'transport' })(url, init);
    };
  const means: GoogleParts = {
    loadCredentials,
    signIn: createGoogleSignIn({
      subject: options.subject,
      fetchToken: openFetch({
        maxBytes: MOST_TOKEN_BYTES,
        decideLimitMs: () => limits.signInMs,
        longestWaitMs: LONGEST_SIGN_IN_WAIT_MS,
      }),
    }),
    openFetch: (maxBytes, call, onSend) => {
      const toLimitMs = () => Math.min(limits.readMs, decideTimeToSend(call));
      return openFetch({ maxBytes, decideLimitMs: toLimitMs, signal: call.signal, onSend });
    },
    subject: options.subject,
    apiUrl,
    now,
  };
  return {
    read: async (api, request, schema, call, meaning = {}) => {
      const asked = { api, request, meaning, call, responseType: 'json', maxBytes: MOST_JSON_BYTES } as const;
      const { data, cut } = await askGoogle(means, asked);
      const checked = schema.safeParse(data);
      if (checked.success) return checked.data;
      throw explainUnreadable(api, cut);
    },
    download: async (api, request, call, { maxBytes, ...meaning }) => {
      const asked = { api, request, meaning, call, responseType: 'arraybuffer', maxBytes } as const;
      return readDownload(api, await askGoogle(means, asked));
    },
    close: client.close,
  };
};

/** Milliseconds that a request of a call may take. Throws where none are left: nothing is sent then. */
const decideTimeToSend = ({ endsAtMs }: GoogleCall): number => {
  const leftMs = endsAtMs - performance.now();
  if (leftMs > 0) return leftMs;
  const code = 'no time left';
  throw new NoAnswerError({ kind: 'no_answer', reason: 'not_sent', executed: 'no', code, cause: undefined });
};

type FetchOptions = {
  readonly maxBytes: number;
  /** Milliseconds for one request, asked when it begins. */
  readonly decideLimitMs: () => number;
  readonly longestWaitMs?: number;
  readonly signal?: AbortSignal;
  readonly onSend?: OnSend;
};

const readDownload = (api: GoogleApi, { data, cut }: GoogleAnswer): GoogleDownload => {
  if (cut === 'time') throw explainUnreadable(api, cut);
  const rest = cut === null ? 'complete' : 'cut';
  // The library gives '' for 204, whatever was asked for.
  if (data === '') return { bytes: new Uint8Array(0), rest };
  if (data instanceof ArrayBuffer) return { bytes: new Uint8Array(data), rest };
  throw explainUnreadable(api, cut);
};
