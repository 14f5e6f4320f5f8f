import type { JWT, OAuth2Client, UserRefreshClient } from 'google-auth-library';
import type { GoogleApi } from './google-call.ts';
import type { GoogleCredentials } from './google-credentials.ts';

export type SignInOptions = {
  /** GOOGLE_SUBJECT: the user whom a service account acts for. */
  readonly subject: string | undefined;
  /** What requests for tokens go through. Its time limit ends them: they are shared, so no single call may. */
  readonly fetchToken: typeof fetch;
};

/** A client that holds a token which is good for at least some minutes. */
export type SignedIn = { readonly auth: OAuth2Client; readonly accessToken: string };

/** Google's answer to a sign-in held no token, or none that can be sent. */
export class UnreadableTokenError extends Error {
  override readonly name: string = 'UnreadableTokenError';
}

/** Google's answer to a sign-in held a token that is longer than any of Google's. */
export class TooLongTokenError extends Error {
  override readonly name: string = 'TooLongTokenError';
}

type SignInClient = {
  readonly version: string;
  readonly auth: JWT | UserRefreshClient;
  accessToken: string | null;
};

/** Signs in with the least an API needs: one client and one token for each. */
export const createGoogleSignIn = (options: SignInOptions) => {
  const clients = new Map<string, SignInClient>();

  const findClient = async (credentials: GoogleCredentials, api: GoogleApi): Promise<SignInClient> => {
    const { version } = credentials;
    const existing = clients.get(api.scope);
    if (existing?.version === version) return existing;
    const auth = await createAuth(credentials, api, options);
    // Another call may have made one while the library was loaded.
    const made = clients.get(api.scope);
    if (made?.version === version) return made;
    const client: SignInClient = { version, auth, accessToken: null };
    clients.set(api.scope, client);
    return client;
  };

  return {
    /** Parallel calls share one request. Rejects with what Google's library throws, an UnreadableTokenError or a TooLongTokenError. */
    open: async (credentials: GoogleCredentials, api: GoogleApi): Promise<SignedIn> => {
      const client = await findClient(credentials, api);
      try {
        const accessToken = await readToken(client.auth);
        client.accessToken = accessToken;
        return { auth: client.auth, accessToken };
      } catch (thrown) {
        if (clients.get(api.scope) === client) clients.delete(api.scope);
        throw thrown;
      }
    },
    /** The next call signs in anew. For tokens that Google does not take any more. */
    forget: (api: GoogleApi, accessToken: string): void => {
      // Not one that another call has had a new token for.
      if (clients.get(api.scope)?.accessToken === accessToken) clients.delete(api.scope);
    },
  };
};

// What a header can hold (RFC 6750, section 2.1).
const TOKEN = /^[\x21-\x7e]+$/;
// Of Google's. Each is looked for in all that is told.
const MOST_TOKEN_CHARACTERS = 2048;
const NO_TOKEN = 'The sign-in returned no access token.';

// The library itself keeps a token until five minutes before its end, and asks once for all who wait for a new one.
const readToken = async (auth: JWT | UserRefreshClient): Promise<string> => {
  const token: unknown = await auth.getAccessToken().then(
    (answer) => answer.token,
    (thrown: unknown) => {
      // What gaxios throws has the request. Else the library misses the token itself: "Could not refresh access token."
      const isOfRequest = thrown instanceof Error && 'config' in thrown;
      throw isOfRequest ? thrown : new UnreadableTokenError(NO_TOKEN, { cause: thrown });
    },
  );
  if (typeof token !== 'string' || !TOKEN.test(token)) throw new UnreadableTokenError(NO_TOKEN);
  if (token.length > MOST_TOKEN_CHARACTERS)
    throw new TooLongTokenError('The sign-in returned a token that is too long.');
  return token;
};

const createAuth = async (
  credentials: GoogleCredentials,
  api: GoogleApi,
  { subject, fetchToken }: SignInOptions,
): Promise<JWT | UserRefreshClient> => {
  // With the first call: the library is some megabytes that a service which never asks Google need not pay.
  const library = await import('google-auth-library');
  const shared = {
    // Every host is reached without a proxy: gaxios 8 reads the environment otherwise, and loads an agent for it.
    transporterOptions: { fetchImplementation: fetchToken, noProxy: [/^/] },
    // Else the library writes requests, headers included, to stderr where GOOGLE_SDK_NODE_LOGGING asks for it.
    useAuthRequestParameters: false,
  };
  const auth =
    credentials.type === 'service_account'
      ? new library.JWT({
          ...shared,
          email: credentials.clientEmail,
          key: credentials.privateKey,
          scopes: [api.scope],
          ...(subject === undefined || subject === '' ? {} : { subject }),
        })
      : new library.UserRefreshClient({
          ...shared,
          clientId: credentials.clientId,
          clientSecret: credentials.clientSecret,
          refreshToken: credentials.refreshToken,
        });
  // The library asks for repeats with each request (google-auth-library 11, gaxios 8); repeats are ours.
  auth.transporter.interceptors.request.add({
    resolved: async (config) => {
      config.retry = false;
      delete config.retryConfig;
      return config;
    },
  });
  return auth;
};
