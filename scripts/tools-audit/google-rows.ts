import { type AuditRow, rowsOf } from './audit-row.ts';

type Api = { readonly name: string; readonly service: string };

const DRIVE: Api = { name: 'Google Drive', service: 'drive.googleapis.com' };
const GMAIL: Api = { name: 'Gmail', service: 'gmail.googleapis.com' };
const CALENDAR: Api = { name: 'Google Calendar', service: 'calendar-json.googleapis.com' };

const FILE = "a JSON file with the key of a service account or a user's refresh token";
const NAMED = 'the file that GOOGLE_CREDENTIALS_PATH names';

/** What all tools of one of Google's APIs have in common. */
const sharedRows = (tool: string, { name, service }: Api): readonly AuditRow[] =>
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
      `${name} does not take this call (400). Google says: '…'. Correct the parameters.`,
    ],
    [
      'credentials refused',
      'the refresh token has expired or was revoked',
      `The Google credentials have expired or were revoked. Google says: '…'. A human must sign in again and put the new refresh token into ${NAMED}.`,
    ],
    [
      'credentials refused',
      'Google refuses the access token, and the new one as well (401)',
      `The Google credentials have expired or were revoked. A human must renew them in ${NAMED}, should it go on.`,
    ],
    [
      'credentials refused',
      'something else answers at GOOGLE_API_URL (404)',
      `What answers for ${name} is not Google (404). A human must check GOOGLE_API_URL: it is set to '…'.`,
    ],
    [
      'rate limit',
      'Google limits us (429)',
      `${name} limits how often it may be asked (429). Try again in 60 seconds.`,
      'upstream_rate_limited',
    ],
    [
      'rate limit',
      'the quota of the day is used up (403)',
      `The quota of ${name} is used up (403). Try again later.`,
      'upstream_rate_limited',
    ],
    ['upstream is down', 'Google is not available (503)', `${name} is not available (503). Try again in 60 seconds.`],
    ['upstream is down', 'the answer cannot be read', `${name} sent an answer that cannot be read. Try again later.`],
  ]);

const NO_ACCESS = (name: string): string =>
  `${name} refuses access (403). Google says: '…'. A human must give it to the user who signed in.`;

/** Lists that come in pages: `verb` is how the model begins again. */
const pageRows = (tool: string, name: string, verb: 'Search' | 'List'): readonly AuditRow[] =>
  rowsOf(tool, [
    ['nothing is left', 'a further page holds nothing', 'No more results.'],
    [
      'page out of order',
      'no page has led to page 5',
      `Page 5 not available. ${verb} from page 1 first. Read the pages in order, and send the same arguments with each.`,
    ],
    [
      'page out of order',
      'a further page is asked for without a session',
      `Page 2 not available. Pages are kept per session, and this call has none: ${verb === 'Search' ? 'narrow the search' : 'only page 1 can be listed'}.`,
    ],
    ['malformed parameter', '`page` is 0', 'Too small: expected number to be >=1', 'invalid_arguments'],
    ['no access', 'Google refuses access (403)', NO_ACCESS(name)],
  ]);

const DATE_RULE = 'Invalid date format. Use YYYY-MM-DD.';

const DRIVE_ROWS: readonly AuditRow[] = [
  ...rowsOf('search_drive', [
    ['search matched nothing', 'no file matches', 'No files found.'],
    ['malformed parameter', '`modified_after` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'malformed parameter',
      '`query` has half a character in it',
      'has half a character in it (a lone surrogate); write it whole',
      'invalid_arguments',
    ],
  ]),
  ...pageRows('search_drive', DRIVE.name, 'Search'),
  ...sharedRows('search_drive', DRIVE),
  ...rowsOf('read_drive_file', [
    ['list is empty', 'the file has no content', "'Minutes' (text/plain) is empty."],
    ['nothing is left', 'the offset is the end of the file', "The end of 'Minutes' (text/plain) is reached."],
    [
      'page out of order',
      'the offset is past the end',
      "offset 500 is past what can be read of 'Minutes': 10 characters. Send a smaller offset.",
    ],
    [
      'wrong value',
      'there is no such file (404)',
      "There is no file 'file-1', or it is not shared with the user who signed in. Call search_drive to find it.",
    ],
    [
      'wrong value',
      'the file is a folder',
      "'Minutes' is a folder. Call search_drive to find the files you want, and read one of them.",
    ],
    [
      'wrong value',
      'the file is no text',
      "'Minutes' is application/pdf, not text. Choose a text file, a Google Doc, Sheet or Slides, or ask a human to convert it.",
    ],
    ['malformed parameter', '`file_id` is missing', "Required parameter 'file_id' missing.", 'invalid_arguments'],
    [
      'no access',
      'Google refuses access (403)',
      "There is no access to file 'file-1'. A human must share it with the user who signed in.",
    ],
  ]),
  ...sharedRows('read_drive_file', DRIVE),
];

const MAIL_ROWS: readonly AuditRow[] = [
  ...rowsOf('list_emails', [
    ['list is empty', 'the label has no emails', 'No emails found.'],
    ['wrong value', 'there is no such label', "No label is called 'bills'. Choose one of these: Travel."],
  ]),
  ...pageRows('list_emails', GMAIL.name, 'List'),
  ...sharedRows('list_emails', GMAIL),
  ...rowsOf('search_emails', [
    ['search matched nothing', 'no email matches', 'No emails found.'],
    ['malformed parameter', '`after` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'wrong value',
      '`after` is not earlier than `before`',
      "No email can be of 2026-02-06 or later and earlier than 2026-02-05. Send 'after' and 'before' so that 'after' is earlier than 'before'.",
    ],
  ]),
  ...pageRows('search_emails', GMAIL.name, 'Search'),
  ...sharedRows('search_emails', GMAIL),
];

const dayRows = (tool: string): readonly AuditRow[] =>
  rowsOf(tool, [
    ['malformed parameter', '`from` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'wrong value',
      '`to` is before `from`',
      "The last day, 2026-02-05, is before the first day, 2026-02-06. Send 'from' and 'to' so that 'to' is not before 'from'.",
    ],
    [
      'wrong value',
      'there is no such calendar (404)',
      "There is no calendar 'nobody@example.com', or it is not shared with the user who signed in. Use primary, or the id of a calendar, which is mostly the email address of its owner.",
    ],
  ]);

const CALENDAR_ROWS: readonly AuditRow[] = [
  ...rowsOf('list_calendar_events', [['time range has no events', 'the days have no event', 'No events found.']]),
  ...dayRows('list_calendar_events'),
  ...pageRows('list_calendar_events', CALENDAR.name, 'List'),
  ...sharedRows('list_calendar_events', CALENDAR),
  ...rowsOf('search_calendar_events', [
    ['search matched nothing', 'no event matches', 'No events found.'],
    ['time range has no events', 'the days have no event', 'No events found.'],
  ]),
  ...dayRows('search_calendar_events'),
  ...pageRows('search_calendar_events', CALENDAR.name, 'Search'),
  ...sharedRows('search_calendar_events', CALENDAR),
];

/** The tools on Google's APIs. */
export const GOOGLE_ROWS: readonly AuditRow[] = [...DRIVE_ROWS, ...MAIL_ROWS, ...CALENDAR_ROWS];
