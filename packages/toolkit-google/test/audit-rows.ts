import { type AuditRow, rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';
import { type Api, googlePageRows, sharedGoogleRows } from './shared-audit-rows.ts';

const DRIVE: Api = {
  name: 'Google Drive',
  service: 'drive.googleapis.com',
  scope: 'https://www.googleapis.com/auth/drive.readonly',
};
const GMAIL: Api = {
  name: 'Gmail',
  service: 'gmail.googleapis.com',
  scope: 'https://www.googleapis.com/auth/gmail.readonly',
};
const CALENDAR: Api = {
  name: 'Google Calendar',
  service: 'calendar-json.googleapis.com',
  scope: 'https://www.googleapis.com/auth/calendar.readonly',
};

const DATE_RULE = 'Invalid date format. Use YYYY-MM-DD.';

const DRIVE_ROWS: readonly AuditRow[] = [
  ...rowsOf('search_drive', [
    ['search matched nothing', 'no file matches', 'No files found.'],
    [
      'not all can be had',
      'Drive has not looked everywhere, and found some (`incompleteSearch`)',
      '1 file found. Drive could not search everywhere: some files may be missing.',
    ],
    [
      'not all can be had',
      'Drive has not looked everywhere, and found nothing (`incompleteSearch`)',
      'No files found. Drive could not search everywhere: some files may be missing.',
    ],
    ['malformed parameter', '`modified_after` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'malformed parameter',
      '`query` has half a character in it',
      'contains half a character (a lone surrogate); send the whole character',
      'invalid_arguments',
    ],
  ]),
  ...googlePageRows('search_drive', DRIVE.name, 'Search', 'file'),
  ...sharedGoogleRows('search_drive', DRIVE),
  ...rowsOf('read_drive_file', [
    ['list is empty', 'the file has no content', "'Minutes' (text/plain) is empty."],
    ['nothing is left', 'the offset is the end of the file', "The end of 'Minutes' (text/plain) is reached."],
    [
      'page out of order',
      'the offset is past the end',
      "offset 500 is past the readable end of 'Minutes', at 10 characters. Send a smaller offset.",
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
    [
      'wrong value',
      'the file is one of Google without text',
      "'Minutes' is application/vnd.google-apps.form, which has no text. Choose a Google Doc, Sheet or Slides, or a text file.",
    ],
    [
      'wrong value',
      '`file_id` is neither an id nor an address',
      "'Minutes of May' is not the id or URL of a Google Drive file. Call search_drive to find the file.",
    ],
    [
      'wrong value',
      'the document is too large to be exported (403)',
      'The document is too large: Google exports at most 10 MB. Choose a smaller one, or ask a human to split it.',
    ],
    [
      'no access',
      'the owner lets nobody download the file (403)',
      'The owner of the file has disabled downloads. A human must allow them in the sharing settings of the file.',
    ],
    ['malformed parameter', '`file_id` is missing', "Required parameter 'file_id' missing.", 'invalid_arguments'],
    [
      'no access',
      'Google refuses access (403)',
      "There is no access to file 'file-1'. A human must share it with the user who signed in.",
    ],
  ]),
  ...sharedGoogleRows('read_drive_file', DRIVE),
];

const mailboxRows = (tool: string): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'set-up missing',
      'the account has no mailbox (400)',
      `Gmail has no mailbox for these credentials. A service account has none of its own: set GOOGLE_SUBJECT to the user whose mail is read, and delegate the scope ${GMAIL.scope} to the service account.`,
    ],
  ]);

const MAIL_ROWS: readonly AuditRow[] = [
  ...rowsOf('list_emails', [
    ['list is empty', 'the label has no emails', 'No emails found.'],
    ['wrong value', 'there is no such label', "No label is called 'bills'. Choose one of these: Travel."],
  ]),
  ...googlePageRows('list_emails', GMAIL.name, 'List', 'email'),
  ...mailboxRows('list_emails'),
  ...sharedGoogleRows('list_emails', GMAIL),
  ...rowsOf('search_emails', [
    ['search matched nothing', 'no email matches', 'No emails found.'],
    ['malformed parameter', '`after` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'wrong value',
      '`after` is not earlier than `before`',
      "No email can be both after 2026-02-06 and before 2026-02-05. Send an 'after' that is earlier than 'before'.",
    ],
  ]),
  ...googlePageRows('search_emails', GMAIL.name, 'Search', 'email'),
  ...mailboxRows('search_emails'),
  ...sharedGoogleRows('search_emails', GMAIL),
];

const dayRows = (tool: string): readonly AuditRow[] =>
  rowsOf(tool, [
    ['malformed parameter', '`from` is no day', DATE_RULE, 'invalid_arguments'],
    [
      'wrong value',
      '`to` is before `from`',
      "The last day, 2026-02-05, is before the first day, 2026-02-06. Send a 'to' that is not before 'from'.",
    ],
    [
      'wrong value',
      'there is no such calendar (404)',
      "There is no calendar 'nobody@example.com', or it is not shared with the user who signed in. Use primary, or the id of a calendar, usually the email address of its owner.",
    ],
  ]);

const CALENDAR_ROWS: readonly AuditRow[] = [
  ...rowsOf('list_calendar_events', [['time range has no events', 'the days have no event', 'No events found.']]),
  ...dayRows('list_calendar_events'),
  ...googlePageRows('list_calendar_events', CALENDAR.name, 'List', 'event'),
  ...sharedGoogleRows('list_calendar_events', CALENDAR),
  ...rowsOf('search_calendar_events', [
    ['search matched nothing', 'no event matches', 'No events found.'],
    ['time range has no events', 'the days have no event', 'No events found.'],
  ]),
  ...dayRows('search_calendar_events'),
  ...googlePageRows('search_calendar_events', CALENDAR.name, 'Search', 'event'),
  ...sharedGoogleRows('search_calendar_events', CALENDAR),
];

const ROWS: readonly AuditRow[] = [...DRIVE_ROWS, ...MAIL_ROWS, ...CALENDAR_ROWS];

export const AUDIT: ToolkitAudit = { rows: ROWS };
