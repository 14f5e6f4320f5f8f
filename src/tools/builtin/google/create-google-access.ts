import { isAnyAddress } from '../../http/address-policy.ts';
import { type ClientFetch, CUT_HEADER, createClientFetch } from '../../http/client-fetch.ts';
import type { HttpClient } from '../../http/http-client.ts';
import { lookupBySystem } from '../../http/lookup.ts';
import { untilAborted } from '../../http/time-limit.ts';
import { systemRetryClock } from '../../http/transport-retries.ts';
import type { ToolContext } from '../../tool.ts';
import type { GoogleAccess, GoogleApi, GoogleDownload, GoogleMeaning, GoogleRequest } from './google-access.ts';
import { createCredentialsFile, type GoogleCredentials } from './google-credentials.ts';
import { toGoogleFailure, toUnreadableFailure } from './google-failure.ts';
import { createGoogleSignIn, type GoogleSignIn } from './google-sign-in.ts';

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
  /** Milliseconds for one read with its repeats, and for one sign-in. Together below the 30 s a tool has. */
  readonly limits?: { readonly readMs: number; readonly signInMs: number };
};

// A page of a list is some hundred kilobytes at most.
const MOST_JSON_BYTES = 8_388_608;
const MOST_TOKEN_BYTES = 65_536;
const DEFAULT_LIMITS = { readMs: 18_000, signInMs: 10_000 };

/** Google with the credentials of a file. Nothing is loaded, read or connected before the first call. */
export const createGoogleAccess = (options: GoogleAccessOptions): GoogleAccess => {
  const { apiUrl, now = Date.now, limits = DEFAULT_LIMITS } = options;
  const baseUrl = apiUrl === undefined ? undefined : new URL(apiUrl);
  const loadCredentials = createCredentialsFile({
    path: options.credentialsPath,
    registerSecrets: options.registerSecrets,
  });
  let client: Promise<HttpClient> | undefined;
  // With the first call, as google-sign-in.ts does with Google's library.
  const openClient = (): Promise<HttpClient> => {
    client ??= import('../../http/http-client.ts').then(({ createHttpClient }) =>
      createHttpClient({
        mayConnect: isAnyAddress,
        lookup: lookupBySystem,
        ports: 'any',
        clock: { ...systemRetryClock, now },
      }),
    );
    return client;
  };
  const openFetch =
    (maxBytes: number, limitMs: number, signal?: AbortSignal): ClientFetch =>
    async (url, init) =>
      createClientFetch({ client: await openClient(), maxBytes, limitMs, repeats: 'transport', baseUrl, signal })(
        url,
        init,
      );
  const signIn = createGoogleSignIn({
    subject: options.subject,
    fetchToken: openFetch(MOST_TOKEN_BYTES, limits.signInMs),
  });
  const means = { loadCredentials, signIn, subject: options.subject, now };
  const toSend = (responseType: 'json' | 'arraybuffer', maxBytes: number, { signal }: Pick<ToolContext, 'signal'>) => ({
    signal,
    responseType,
    fetchImplementation: openFetch(maxBytes, limits.readMs, signal),
  });
  return {
    read: async (api, request, schema, context, meaning = {}) => {
      const answer = await ask(means, { api, request, meaning, send: toSend('json', MOST_JSON_BYTES, context) });
      const checked = schema.safeParse(answer.data);
      if (checked.success) return checked.data;
      throw toUnreadableFailure(api, answer.cut);
    },
    download: async (api, request, context, { maxBytes, ...meaning }) => {
      const answer = await ask(means, { api, request, meaning, send: toSend('arraybuffer', maxBytes, context) });
      return toDownload(api, answer);
    },
    close: async () => (await client)?.close(),
  };
};

type Means = {
  readonly loadCredentials: (api: GoogleApi) => Promise<GoogleCredentials>;
  readonly signIn: GoogleSignIn;
  readonly subject: string | undefined;
  readonly now: () => number;
};

type Asked = {
  readonly api: GoogleApi;
  readonly request: GoogleRequest;
  readonly meaning: GoogleMeaning;
  readonly send: Parameters<GoogleRequest>[1];
};

type Answered = { readonly data: unknown; readonly cut: 'size' | 'time' | null };

const ask = async (means: Means, { api, request, meaning, send }: Asked): Promise<Answered> => {
  const { signIn, subject, now } = means;
  const { signal } = send;
  signal.throwIfAborted();
  const credentials = await means.loadCredentials(api);
  const about = { api, meaning, credentials, subject, now };
  let accessToken = '';
  try {
    // The sign-in itself goes on for the other calls that wait for it.
    const signedIn = await untilAborted(signIn.open(credentials, api), signal);
    accessToken = signedIn.accessToken;
    const { data, headers } = await request(signedIn.auth, send);
    return { data, cut: toCut(headers) };
  } catch (thrown) {
    signal.throwIfAborted();
    const failure = toGoogleFailure(thrown, { ...about, accessToken });
    if (failure.isTokenRefused) signIn.forget(api, accessToken);
    throw failure.error;
  }
};

// googleapis-common 8 makes a plain object of them.
const toCut = (headers: unknown): Answered['cut'] => {
  const cut: unknown =
    typeof headers === 'object' && headers !== null && CUT_HEADER in headers ? headers[CUT_HEADER] : null;
  return cut === 'size' || cut === 'time' ? cut : null;
};

const toDownload = (api: GoogleApi, { data, cut }: Answered): GoogleDownload => {
  if (cut === 'time') throw toUnreadableFailure(api, cut);
  const rest = cut === null ? 'complete' : 'cut';
  // The library gives '' for 204, whatever was asked for.
  if (data === '') return { bytes: new Uint8Array(0), rest };
  if (data instanceof ArrayBuffer) return { bytes: new Uint8Array(data), rest };
  throw toUnreadableFailure(api, cut);
};
