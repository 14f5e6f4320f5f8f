import { createVerify, randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import * as z from 'zod';
import { TEST_PUBLIC_KEY, TEST_REFRESH_TOKEN } from './google-credentials.ts';
import { type Fault, sendFault, toGoogleError } from './google-faults.ts';

export type StandInRequest = {
  readonly method: string;
  /** Without the query: `/drive/v3/files`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** `body`: what is no text and no bytes is sent as JSON. */
export type StandInAnswer = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

/** Answers one request, or leaves it to the next route: undefined. */
export type StandInRoute = (request: StandInRequest) => StandInAnswer | undefined;

/** A server on 127.0.0.1 that signs in and answers as Google does. Ends with the test. */
export type GoogleStandIn = {
  readonly url: string;
  /** All requests so far, those for tokens included. */
  readonly requests: readonly StandInRequest[];
  /** Those that were no sign-ins. */
  readonly apiRequests: () => readonly StandInRequest[];
  readonly signIns: () => readonly StandInRequest[];
  /** The next `times` requests that are no sign-ins meet this fault. */
  readonly fault: (next: Fault, times?: number) => void;
  /** The next `times` sign-ins do. */
  readonly signInFault: (next: Fault, times?: number) => void;
  /** From now on nobody is signed in, and nobody can sign in. */
  readonly revoke: () => void;
  /** Tokens given so far are not taken any more; signing in goes on. */
  readonly expireTokens: () => void;
  /** Every access token that was given out. */
  readonly tokens: () => readonly string[];
  readonly close: () => Promise<void>;
};

export type StandInOptions = {
  readonly routes: readonly StandInRoute[];
  /** Seconds that a token is good for. */
  readonly expiresIn?: number;
  /** Whether requests are taken with tokens that it has not given. */
  readonly takesAnyToken?: boolean;
  /** Answers sign-ins instead of the stand-in's own way. */
  readonly signIn?: StandInRoute;
};

const TOKEN_PATH = '/token';

export const startGoogleStandIn = async ({
  routes,
  expiresIn = 3_599,
  signIn: custom,
  takesAnyToken = false,
}: StandInOptions): Promise<GoogleStandIn> => {
  const requests: StandInRequest[] = [];
  const given: string[] = [];
  const valid = new Set<string>();
  const faults: Fault[] = [];
  const signInFaults: Fault[] = [];
  let isRevoked = false;
  const signIn = (request: StandInRequest): StandInAnswer => {
    if (isRevoked) return toInvalidGrant('Token has been expired or revoked.');
    const mistake = findMistake(new URLSearchParams(request.body), request.headers['content-type']);
    if (mistake !== null) return toInvalidGrant(mistake);
    const token = `ya29.${randomBytes(24).toString('hex')}`;
    given.push(token);
    valid.add(token);
    return { body: { access_token: token, expires_in: expiresIn, token_type: 'Bearer' } };
  };
  const isSignedIn = (request: StandInRequest): boolean => takesAnyToken || valid.has(toBearer(request));
  const answer = (request: StandInRequest): StandInAnswer => {
    if (request.path === TOKEN_PATH) return custom?.(request) ?? signIn(request);
    if (!isSignedIn(request)) return UNAUTHORISED;
    for (const route of routes) {
      const found = route(request);
      if (found !== undefined) return found;
    }
    return toError(404, 'notFound', `No route: ${request.method} ${request.path}`);
  };
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await toRequest(incoming);
    requests.push(request);
    const fault = (request.path === TOKEN_PATH ? signInFaults : faults).shift();
    if (fault === undefined) sendAnswer(answer(request), response);
    else sendFault(fault, response);
  };
  const { url, close } = await listen(serve);
  const revoke = (): void => {
    isRevoked = true;
    valid.clear();
  };
  return {
    url,
    requests,
    apiRequests: () => requests.filter(({ path }) => path !== TOKEN_PATH),
    signIns: () => requests.filter(({ path }) => path === TOKEN_PATH),
    fault: (next, times = 1) => void faults.push(...Array.from({ length: times }, () => next)),
    signInFault: (next, times = 1) => void signInFaults.push(...Array.from({ length: times }, () => next)),
    revoke,
    expireTokens: () => valid.clear(),
    tokens: () => given,
    close,
  };
};

type Serve = (incoming: IncomingMessage, response: ServerResponse) => Promise<void>;

const listen = async (serve: Serve): Promise<Pick<GoogleStandIn, 'url' | 'close'>> => {
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The stand-in has no port.');
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${address.port}`, close };
};

const toRequest = async (incoming: IncomingMessage): Promise<StandInRequest> => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const url = new URL(incoming.url ?? '/', 'http://stand-in');
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString(),
  };
};

const sendAnswer = ({ status = 200, headers = {}, body = '' }: StandInAnswer, response: ServerResponse): void => {
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.writeHead(status, headers).end(body);
    return;
  }
  response
    .writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers })
    .end(JSON.stringify(body));
};

const toBearer = ({ headers }: StandInRequest): string => (headers.authorization ?? '').replace(/^Bearer /, '');

/** Google's error as an answer of a route. */
export const toError = (status: number, reason: string, message: string): StandInAnswer => ({
  status,
  headers: { 'content-type': 'application/json; charset=UTF-8' },
  body: toGoogleError({ kind: 'status', status, reason, message }),
});

const UNAUTHORISED = toError(401, 'authError', 'Request had invalid authentication credentials.');

const toInvalidGrant = (description: string): StandInAnswer => ({
  status: 400,
  body: { error: 'invalid_grant', error_description: description },
});

const Claims = z.object({ iss: z.string(), scope: z.string(), aud: z.literal('https://oauth2.googleapis.com/token') });

/** What is wrong with a sign-in, as Google would say; null where nothing is. */
const findMistake = (form: URLSearchParams, type: string | undefined): string | null => {
  if (type?.startsWith('application/x-www-form-urlencoded') !== true) return 'Not a form.';
  switch (form.get('grant_type')) {
    case 'urn:ietf:params:oauth:grant-type:jwt-bearer':
      return hasGoodSignature(form.get('assertion') ?? '') ? null : 'Invalid JWT Signature.';
    case 'refresh_token':
      return form.get('refresh_token') === TEST_REFRESH_TOKEN ? null : 'Bad Request';
    default:
      return 'Unknown grant type.';
  }
};

const hasGoodSignature = (assertion: string): boolean => {
  const [header = '', claims = '', signature = ''] = assertion.split('.');
  if (!Claims.safeParse(toClaims(assertion)).success) return false;
  return createVerify('RSA-SHA256')
    .update(`${header}.${claims}`)
    .verify(TEST_PUBLIC_KEY, Buffer.from(signature, 'base64url'));
};

/** What a service account says of itself when it signs in: `iss`, `scope`, `sub`. */
export const toClaims = (assertion: string): unknown =>
  JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString());
