import { type ClientFetch, createClientFetch } from '../../http/client-fetch.ts';
import type { HttpClient } from '../../http/http-client.ts';
import { NoAnswerError } from '../../http/no-answer-error.ts';
import { createClientOpener, toChosenService } from '../../http/open-client.ts';
import { systemRetryClock } from '../../http/transport-retries.ts';
import { askGoogle, type GoogleAnswer, type GoogleMeans, type OnSend } from './ask-google.ts';
import type { GoogleAccess, GoogleApi, GoogleCall, GoogleDownload } from './google-access.ts';
import { createCredentialsFile } from './google-credentials.ts';
import { toUnreadableFailure } from './google-failure.ts';
import { createGoogleSignIn } from './google-sign-in.ts';

export type GoogleAccessOptions = {
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
      const limitMs = fetched.toLimitMs();
      const options = { client: { send }, maxBytes, limitMs, longestWaitMs, baseUrl, signal };
      return createClientFetch({ ...options, repeats: 'transport' })(url, init);
    };
  const means: GoogleMeans = {
    loadCredentials,
    signIn: createGoogleSignIn({
      subject: options.subject,
      fetchToken: openFetch({
        maxBytes: MOST_TOKEN_BYTES,
        toLimitMs: () => limits.signInMs,
        longestWaitMs: LONGEST_SIGN_IN_WAIT_MS,
      }),
    }),
    openFetch: (maxBytes, call, onSend) => {
      const toLimitMs = () => Math.min(limits.readMs, toTimeToSend(call));
      return openFetch({ maxBytes, toLimitMs, signal: call.signal, onSend });
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
      throw toUnreadableFailure(api, cut);
    },
    download: async (api, request, call, { maxBytes, ...meaning }) => {
      const asked = { api, request, meaning, call, responseType: 'arraybuffer', maxBytes } as const;
      return toDownload(api, await askGoogle(means, asked));
    },
    close: client.close,
  };
};

/** Milliseconds that a request of a call may take. Throws where none are left: nothing is sent then. */
const toTimeToSend = ({ endsAtMs }: GoogleCall): number => {
  const leftMs = endsAtMs - performance.now();
  if (leftMs > 0) return leftMs;
  const code = 'no time left';
  throw new NoAnswerError({ kind: 'no_answer', reason: 'not_sent', executed: 'no', code, cause: undefined });
};

type FetchOptions = {
  readonly maxBytes: number;
  /** Milliseconds for one request, asked when it begins. */
  readonly toLimitMs: () => number;
  readonly longestWaitMs?: number;
  readonly signal?: AbortSignal;
  readonly onSend?: OnSend;
};

const toDownload = (api: GoogleApi, { data, cut }: GoogleAnswer): GoogleDownload => {
  if (cut === 'time') throw toUnreadableFailure(api, cut);
  const rest = cut === null ? 'complete' : 'cut';
  // The library gives '' for 204, whatever was asked for.
  if (data === '') return { bytes: new Uint8Array(0), rest };
  if (data instanceof ArrayBuffer) return { bytes: new Uint8Array(data), rest };
  throw toUnreadableFailure(api, cut);
};
