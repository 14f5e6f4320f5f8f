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
import type * as z from 'zod';
import {
  findRemainingMs,
  type GoogleApi,
  type GoogleCall,
  type GoogleMeaning,
  type GoogleRequest,
  type GoogleRequestOptions,
} from './google-call.ts';
import { createCredentialsFile } from './google-credentials.ts';
import { explainGoogleFailure, explainUnreadable } from './google-failure.ts';
import { createGoogleSignIn, type SignedIn } from './google-sign-in.ts';

type GoogleRead = {
  readonly request: GoogleRequest;
  readonly meaning: GoogleMeaning;
  readonly call: GoogleCall;
  readonly responseType: GoogleRequestOptions['responseType'];
  readonly maxBytes: number;
};

type GoogleAnswer = { readonly data: unknown; readonly cut: 'size' | 'time' | null };

type FetchOptions = {
  readonly maxBytes: number;
  /** Milliseconds for one request, asked when it begins. */
  readonly decideLimitMs: () => number;
  readonly longestWaitMs?: number;
  readonly signal?: AbortSignal;
  /** Called with the Authorization of a request that is about to leave. */
  readonly onSend?: (authorization: string | undefined) => void;
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
const BEARER = /^Bearer (\S+)$/;

/**
 * Google as the tools reach it, with the credentials of a file: one place for sign-in, time limits, repeats of reads, and what
 * failures mean. Nothing is loaded, read or connected before the first call.
 */
export class GoogleAccess {
  readonly #options: GoogleAccessOptions;
  readonly #now: () => number;
  readonly #limits: { readonly readMs: number; readonly signInMs: number };
  readonly #client: ReturnType<typeof createClientOpener>;
  readonly #loadCredentials: ReturnType<typeof createCredentialsFile>;
  readonly #signIn: ReturnType<typeof createGoogleSignIn>;

  constructor(options: GoogleAccessOptions) {
    const { credentialsPath: path, registerSecrets, subject, now = Date.now, limits = DEFAULT_LIMITS } = options;
    this.#options = options;
    this.#now = now;
    this.#limits = limits;
    this.#client = createClientOpener(toChosenService({ ...systemRetryClock, now }));
    this.#loadCredentials = createCredentialsFile({ path, registerSecrets });
    const fetchToken = this.#createFetch({
      maxBytes: MOST_TOKEN_BYTES,
      decideLimitMs: () => limits.signInMs,
      longestWaitMs: LONGEST_SIGN_IN_WAIT_MS,
    });
    this.#signIn = createGoogleSignIn({ subject, fetchToken });
  }

  /**
   * The answer of one read, as the schema has it, with all that Google repeats. Rejects with a RetryableToolError
   * (not configured, API not enabled, 400, 404), a TerminalToolError (401, revoked credentials, 403) or an
   * UpstreamToolError (429 and quotas, 5xx, silence, an answer that is not what the schema says), and with the
   * signal's reason.
   */
  async read<Schema extends z.ZodType>(
    api: GoogleApi,
    request: GoogleRequest,
    schema: Schema,
    call: GoogleCall,
    meaning: GoogleMeaning = {},
  ): Promise<z.output<Schema>> {
    const read = { request, meaning, call, responseType: 'json', maxBytes: MOST_JSON_BYTES } as const;
    const { data, cut } = await this.#ask(api, read);
    const checked = schema.safeParse(data);
    if (checked.success) return checked.data;
    throw explainUnreadable(api, cut);
  }

  /** The first `maxBytes` bytes of a file, as they are; `rest` says whether there is more. Rejects as `read` does. */
  async download(
    api: GoogleApi,
    request: GoogleRequest,
    call: GoogleCall,
    { maxBytes, ...meaning }: GoogleMeaning & { readonly maxBytes: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly rest: 'complete' | 'cut' }> {
    const { data, cut } = await this.#ask(api, { request, meaning, call, responseType: 'arraybuffer', maxBytes });
    const rest = cut === null ? 'complete' : 'cut';
    // The library gives '' for 204, whatever was asked for.
    if (cut !== 'time' && data === '') return { bytes: new Uint8Array(0), rest };
    if (cut !== 'time' && data instanceof ArrayBuffer) return { bytes: new Uint8Array(data), rest };
    throw explainUnreadable(api, cut);
  }

  readonly close = (): Promise<void> => this.#client.close();

  /** A token may be refused that was good a moment ago: then follow a new sign-in, which all who meet it share, and one repeat. */
  async #ask(api: GoogleApi, read: GoogleRead): Promise<GoogleAnswer> {
    const first = await this.#attempt(api, read);
    const last = 'error' in first && first.token === 'refused' ? await this.#attempt(api, read) : first;
    if ('error' in last) throw last.error;
    return last;
  }

  async #attempt(
    api: GoogleApi,
    { request, meaning, call, responseType, maxBytes }: GoogleRead,
  ): Promise<GoogleAnswer | ReturnType<typeof explainGoogleFailure>> {
    const { signal } = call;
    signal.throwIfAborted();
    const credentials = await this.#loadCredentials(api);
    const accessTokens = new Set<string>();
    let accessToken = '';
    let isSent = false;
    const keepToken = (token: string): void => {
      accessTokens.add(token);
      call.accessTokens.add(token);
    };
    const fetchImplementation = this.#createFetch({
      maxBytes,
      decideLimitMs: () => Math.min(this.#limits.readMs, decideTimeToSend(call)),
      signal,
      // The library has a token renewed that is about to end: the one that is sent may be another.
      onSend: (authorization = '') => {
        isSent = true;
        const [, sent] = BEARER.exec(authorization) ?? [];
        if (sent !== undefined) keepToken(sent);
      },
    });
    try {
      const signedIn = await withinCall(call, this.#signIn.open(credentials, api));
      accessToken = signedIn.accessToken;
      keepToken(accessToken);
      const { data, headers } = await request(signedIn.auth, { signal, responseType, fetchImplementation });
      return { data, cut: decideCut(headers) };
    } catch (thrown) {
      signal.throwIfAborted();
      const { subject, apiUrl } = this.#options;
      const attempt = { api, meaning, credentials, subject, apiUrl, accessTokens: [...accessTokens], isSent };
      const failure = explainGoogleFailure(thrown, { ...attempt, now: this.#now });
      if (failure.token !== 'fine') this.#signIn.forget(api, accessToken);
      return failure;
    }
  }

  #createFetch({ onSend, decideLimitMs, ...fetched }: FetchOptions): ClientFetch {
    const { apiUrl } = this.#options;
    const baseUrl = apiUrl === undefined ? undefined : new URL(apiUrl);
    return async (url, init) => {
      const client = await this.#client.open();
      const send: HttpClient['send'] = (request) => {
        onSend?.(request.headers['authorization']);
        return client.send(request);
      };
      const options = { ...fetched, client: { send }, limitMs: decideLimitMs(), baseUrl } as const;
      return createClientFetch({ ...options, repeats: 'transport' })(url, init);
    };
  }
}

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

/** Milliseconds that a request of a call may take. Throws where none are left: nothing is sent then. */
const decideTimeToSend = ({ endsAtMs }: GoogleCall): number => {
  const leftMs = endsAtMs - performance.now();
  if (leftMs > 0) return leftMs;
  const code = 'no time left';
  throw new NoAnswerError({ kind: 'no_answer', reason: 'not_sent', executed: 'no', code, cause: undefined });
};
