import { type Arrangement, type Arrangements, callOnce } from '@recourse/test-support/audit-lab.ts';
import { writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import {
  type GoogleStandIn,
  type StandInRoute,
  startGoogleStandIn,
} from '@recourse/test-support/google/google-stand-in.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** What Google has, and what happens to it. */
export type GoogleSituation = {
  readonly routes?: readonly StandInRoute[];
  /** Called before the first request. */
  readonly prepare?: (google: GoogleStandIn) => void;
  /** Arguments of a call before, in the same session. */
  readonly first?: Arguments;
  /** Called after that. */
  readonly change?: () => void;
  readonly session?: string | null;
};

const NO_ROUTES: readonly StandInRoute[] = [];

/** A service with credentials that Google takes, and a Google in some situation. */
export const atGoogle =
  (tool: string, args: Arguments, situation: GoogleSituation | (() => GoogleSituation) = {}): Arrangement =>
  async ({ serve }) => {
    const {
      routes = NO_ROUTES,
      prepare,
      first,
      change,
      session = 'audit',
    } = typeof situation === 'function' ? situation() : situation;
    const google = await startGoogleStandIn({ routes });
    prepare?.(google);
    const service = await serve({
      GOOGLE_API_URL: google.url,
      GOOGLE_CREDENTIALS_PATH: writeCredentials('authorized_user'),
    });
    const envelope = session === null ? {} : { session_id: session };
    if (first !== undefined) await callOnce(service, tool, first, envelope);
    change?.();
    return callOnce(service, tool, args, envelope);
  };

type StatusFault = Omit<Extract<Parameters<GoogleStandIn['fault']>[0], { readonly kind: 'status' }>, 'kind'>;

export const atStatus = (tool: string, args: Arguments, fault: StatusFault): Arrangement =>
  atGoogle(tool, args, { prepare: (google) => google.fault({ kind: 'status', ...fault }, 10) });

// Longer than a call may take: it is not waited for.
const IN_A_MINUTE = { 'retry-after': '60' };

const NOT_GOOGLE = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Nothing is here.</html>' };

/** What all tools of Google's have in common. */
export const shared = (tool: string, args: Arguments): Arrangements => ({
  [`${tool}: GOOGLE_CREDENTIALS_PATH is not set`]: async ({ bare }) => callOnce(await bare(), tool, args),
  [`${tool}: GOOGLE_CREDENTIALS_PATH names no file`]: async ({ serve }) =>
    callOnce(await serve({ GOOGLE_CREDENTIALS_PATH: '/nowhere/credentials.json' }), tool, args),
  [`${tool}: the API is not enabled (403)`]: atStatus(tool, args, { status: 403, reason: 'accessNotConfigured' }),
  [`${tool}: Google does not take a parameter (400)`]: atStatus(tool, args, { status: 400, reason: 'invalid' }),
  [`${tool}: Google refuses access (403)`]: atStatus(tool, args, { status: 403, reason: 'forbidden' }),
  [`${tool}: the refresh token has expired or was revoked`]: atGoogle(tool, args, {
    prepare: (google) => google.revoke(),
  }),
  [`${tool}: Google refuses the access token, and the new one as well (401)`]: atStatus(tool, args, {
    status: 401,
    reason: 'authError',
  }),
  [`${tool}: something else answers at GOOGLE_API_URL (404)`]: atGoogle(tool, args, { routes: [() => NOT_GOOGLE] }),
  [`${tool}: Google limits us (429)`]: atStatus(tool, args, {
    status: 429,
    reason: 'rateLimitExceeded',
    headers: IN_A_MINUTE,
  }),
  [`${tool}: the quota of the day is used up (403)`]: atStatus(tool, args, {
    status: 403,
    reason: 'dailyLimitExceeded',
  }),
  [`${tool}: Google is not available (503)`]: atStatus(tool, args, { status: 503, headers: IN_A_MINUTE }),
  [`${tool}: a sign-in is refused for another reason`]: atGoogle(tool, args, {
    prepare: (google) => google.signInFault({ kind: 'status', status: 401 }),
  }),
  [`${tool}: the credentials lack the scope (403)`]: atStatus(tool, args, {
    status: 403,
    reason: 'insufficientPermissions',
  }),
  [`${tool}: Google refuses for another reason (403)`]: atStatus(tool, args, {
    status: 403,
    reason: 'domainPolicy',
    message: 'The domain policy has disabled this.',
  }),
  [`${tool}: the connection breaks`]: atGoogle(tool, args, {
    prepare: (google) => google.fault({ kind: 'cut_connection' }, 10),
  }),
  [`${tool}: the answer cannot be read`]: atGoogle(tool, args, {
    prepare: (google) => google.fault({ kind: 'truncated_json' }, 10),
  }),
});

const NO_SUCH_PAGE = {
  status: 400,
  body: { error: { code: 400, message: 'Invalid Value', errors: [{ reason: 'invalid', location: 'pageToken' }] } },
};

/** Two items on two pages, of which the second goes before it is read. */
export type TwoPages = () => { readonly routes: readonly StandInRoute[]; readonly removeSecond: () => void };

/** The same routes, whose lists lead to a page that cannot be named in a request. */
const withOddTokens = (routes: readonly StandInRoute[]): readonly StandInRoute[] =>
  routes.map((route) => (request) => {
    const answer = route(request);
    const body: unknown = answer?.body;
    if (typeof body !== 'object' || body === null || !('nextPageToken' in body)) return answer;
    return { ...answer, body: { ...body, nextPageToken: 'é' } };
  });

export const paged = (tool: string, args: Arguments, twoPages: TwoPages): Arrangements => ({
  [`${tool}: there are more, and the call has no session`]: atGoogle(tool, { ...args, page_size: 1 }, () => ({
    routes: twoPages().routes,
    session: null,
  })),
  [`${tool}: there are more, and what leads to them cannot be kept`]: atGoogle(tool, { ...args, page_size: 1 }, () => ({
    routes: withOddTokens(twoPages().routes),
  })),
  [`${tool}: Google does not know the page any more (400)`]: atGoogle(tool, { ...args, page_size: 1, page: 2 }, () => {
    let isForgotten = false;
    const forget: StandInRoute = () => (isForgotten ? NO_SUCH_PAGE : undefined);
    const change = (): void => {
      isForgotten = true;
    };
    return { routes: [forget, ...twoPages().routes], first: { ...args, page_size: 1 }, change };
  }),
  [`${tool}: a further page holds nothing`]: atGoogle(tool, { ...args, page_size: 1, page: 2 }, () => {
    const { routes, removeSecond } = twoPages();
    return { routes, first: { ...args, page_size: 1 }, change: removeSecond };
  }),
  [`${tool}: no page has led to page 5`]: atGoogle(tool, { ...args, page: 5 }),
  [`${tool}: a further page is asked for without a session`]: atGoogle(tool, { ...args, page: 2 }, { session: null }),
  [`${tool}: \`page\` is 0`]: atGoogle(tool, { ...args, page: 0 }),
});
