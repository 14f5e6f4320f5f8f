import { type AuditRow, rowsOf } from '../../../scripts/tools-audit/audit-row.ts';

/** One of Google's APIs, as people, `gcloud` and sign-ins know it. */
export type Api = { readonly name: string; readonly service: string; readonly scope: string };

const FILE = "a JSON file with the key of a service account or a user's refresh token";
const NAMED = 'the file in GOOGLE_CREDENTIALS_PATH';

/** What all tools of one of Google's APIs have in common. */
export const sharedGoogleRows = (tool: string, api: Api): readonly AuditRow[] => [
  ...callRows(tool, api),
  ...humanRows(tool, api),
  ...laterRows(tool, api),
];

const callRows = (tool: string, { name, service }: Api): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'set-up missing',
      'GOOGLE_CREDENTIALS_PATH is not set',
      `${name} not configured. Set GOOGLE_CREDENTIALS_PATH to ${FILE}.`,
    ],
    [
      'set-up missing',
      'GOOGLE_CREDENTIALS_PATH names no file',
      `${name} not configured: ${NAMED} does not exist. A human must set it to ${FILE}.`,
    ],
    [
      'API not enabled',
      'the API is not enabled (403)',
      `${name} API is not enabled. Run: gcloud services enable ${service} (then try again).`,
    ],
    [
      'wrong value',
      'Google does not take a parameter (400)',
      `${name} rejects this call (400). Google says: '…'. Correct the parameters.`,
    ],
  ]);

const humanRows = (tool: string, { name, scope }: Api): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'credentials refused',
      'the refresh token has expired or was revoked',
      `The Google credentials have expired or were revoked. Google says: '…'. A human must sign in again and put the new refresh token into ${NAMED}.`,
    ],
    [
      'credentials refused',
      'Google refuses the access token, and the new one as well (401)',
      `The Google credentials have expired or were revoked. If this persists, a human must renew them in ${NAMED}.`,
    ],
    [
      'credentials refused',
      'a sign-in is refused for another reason',
      "Google rejects the credentials (401). Google says: '…'. A human must check the file in GOOGLE_CREDENTIALS_PATH.",
    ],
    [
      'no access',
      'the credentials lack the scope (403)',
      `The Google credentials do not give access to ${name}. A human must grant them the scope ${scope}.`,
    ],
    [
      'no access',
      'Google refuses for another reason (403)',
      `${name} refuses this (403). Google says: '…'. A human must resolve this.`,
    ],
    [
      'credentials refused',
      'something else answers at GOOGLE_API_URL (404)',
      `The answer for ${name} did not come from Google (404). A human must check GOOGLE_API_URL: it is set to '…'.`,
    ],
  ]);

const laterRows = (tool: string, { name }: Api): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'rate limit',
      'Google limits us (429)',
      `${name} rate limit exceeded (429). Try again in 60 seconds.`,
      'upstream_rate_limited',
    ],
    [
      'rate limit',
      'the quota of the day is used up (403)',
      `The quota of ${name} is used up (403). Try again later.`,
      'upstream_rate_limited',
    ],
    ['upstream is down', 'Google is not available (503)', `${name} is not available (503). Try again in 60 seconds.`],
    [
      'upstream is down',
      'the connection breaks',
      `The connection to ${name} broke before the answer was complete (…). Try again later.`,
    ],
    ['upstream is down', 'the answer cannot be read', `${name} sent an answer that cannot be read. Try again later.`],
  ]);

const NO_ACCESS = (name: string): string =>
  `${name} refuses access (403). Google says: '…'. A human must grant it to the user who signed in.`;

/** Lists that come in pages: `verb` is how the model begins again. */
export const googlePageRows = (tool: string, name: string, verb: 'Search' | 'List', one: string): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'not all can be had',
      'there are more, and the call has no session',
      `1 ${one} found on page 1. There are more, but further pages need a session.`,
    ],
    [
      'not all can be had',
      'there are more, and what leads to them cannot be kept',
      `1 ${one} found on page 1. There are more, but no further page is available.`,
    ],
    [
      'page out of order',
      'Google does not know the page any more (400)',
      'This page is no longer available. Start from page 1 again.',
    ],
    ['nothing is left', 'a further page holds nothing', 'No more results.'],
    [
      'page out of order',
      'no page has led to page 5',
      `Page 5 not available. ${verb} from page 1 first. Read the pages in order, and send the same arguments with each.`,
    ],
    [
      'page out of order',
      'a further page is asked for without a session',
      `Page 2 not available. Pages need a session, and this call has none: ${verb === 'Search' ? 'narrow the search' : 'only page 1 can be listed'}.`,
    ],
    ['malformed parameter', '`page` is 0', 'expected a number of at least 1, got the number 0', 'invalid_arguments'],
    ['no access', 'Google refuses access (403)', NO_ACCESS(name)],
  ]);
