import { type Arrangement, type Arrangements, describeAudit } from '@recourse/test-support/audit-lab.ts';
import { createDriveRoutes, type StandInFile } from '@recourse/test-support/google/drive-routes.ts';
import { type StandInRoute, toError } from '@recourse/test-support/google/google-stand-in.ts';
import { expect, test } from 'vitest';
import { createCalendarRoutes, createEvents, type StoredCalendar } from '#test/support/calendar-routes.ts';
import { createGmailRoutes, createMessages, type Mailbox } from '#test/support/gmail-routes.ts';
import type { Situation } from '../../../scripts/tools-audit/audit-row.ts';
import { AUDIT } from './audit-rows.ts';
import { atGoogle, atStatus, type GoogleSituation, paged, shared, type TwoPages } from './audit-situations.ts';

type Arguments = Readonly<Record<string, unknown>>;

const SEARCH = { query: 'Chris 1:1 February 5 2026' };

const MINUTES: StandInFile = { id: 'file-1', name: 'Minutes', mimeType: 'text/plain', content: 'Buy milk.\n' };

const inDrive = (file: Partial<StandInFile>): GoogleSituation => ({
  routes: createDriveRoutes([{ ...MINUTES, ...file }]),
});

const READ = { file_id: 'file-1' };

const twoFiles: TwoPages = () => {
  const files = [MINUTES, { ...MINUTES, id: 'file-2' }];
  return { routes: createDriveRoutes(files), removeSecond: () => void files.pop() };
};

/** A search that finds these files, and says that it is not whole. */
const incomplete = (files: readonly object[]): Arrangement =>
  atGoogle('search_drive', SEARCH, {
    routes: [() => ({ body: { kind: 'drive#fileList', incompleteSearch: true, files } })],
  });

/** A document whose export is refused. */
const refusedExport = (reason: string): Arrangement =>
  atGoogle('read_drive_file', READ, {
    routes: [
      ({ path }) => (path.endsWith('/export') ? toError(403, reason, 'No.') : undefined),
      ...createDriveRoutes([{ ...MINUTES, mimeType: 'application/vnd.google-apps.document' }]),
    ],
  });

const DRIVE: Arrangements = {
  'search_drive: Drive has not looked everywhere, and found some (`incompleteSearch`)': incomplete([MINUTES]),
  'search_drive: Drive has not looked everywhere, and found nothing (`incompleteSearch`)': incomplete([]),
  'read_drive_file: the file is one of Google without text': atGoogle(
    'read_drive_file',
    READ,
    inDrive({ mimeType: 'application/vnd.google-apps.form' }),
  ),
  'read_drive_file: `file_id` is neither an id nor an address': atGoogle('read_drive_file', {
    file_id: 'Minutes of May',
  }),
  'read_drive_file: the document is too large to be exported (403)': refusedExport('exportSizeLimitExceeded'),
  'read_drive_file: the owner lets nobody download the file (403)': refusedExport('cannotDownloadFile'),
  'search_drive: no file matches': atGoogle('search_drive', SEARCH, inDrive({})),
  'search_drive: `modified_after` is no day': atGoogle('search_drive', { ...SEARCH, modified_after: '2026-02-30' }),
  'search_drive: `query` has half a character in it': atGoogle('search_drive', { query: 'x\ud800' }),
  ...shared('search_drive', SEARCH),
  ...paged('search_drive', { query: 'minutes' }, twoFiles),
  'read_drive_file: the file has no content': atGoogle('read_drive_file', READ, inDrive({ content: '' })),
  'read_drive_file: the offset is the end of the file': atGoogle(
    'read_drive_file',
    { ...READ, offset: 10 },
    inDrive({}),
  ),
  'read_drive_file: the offset is past the end': atGoogle('read_drive_file', { ...READ, offset: 500 }, inDrive({})),
  'read_drive_file: there is no such file (404)': atGoogle('read_drive_file', READ, inDrive({ id: 'file-9' })),
  'read_drive_file: the file is a folder': atGoogle(
    'read_drive_file',
    READ,
    inDrive({ mimeType: 'application/vnd.google-apps.folder' }),
  ),
  'read_drive_file: the file is no text': atGoogle('read_drive_file', READ, inDrive({ mimeType: 'application/pdf' })),
  'read_drive_file: `file_id` is missing': atGoogle('read_drive_file', {}),
  ...shared('read_drive_file', READ),
};

const inMailbox = (messages: Mailbox['messages']): readonly StandInRoute[] =>
  createGmailRoutes({ messages, labels: [{ id: 'Label_1', name: 'Travel' }] });

const twoMails: TwoPages = () => {
  const mailbox: Mailbox = { messages: createMessages(2) };
  const removeSecond = (): void => {
    mailbox.messages = createMessages(1);
  };
  return { routes: createGmailRoutes(mailbox), removeSecond };
};

const NO_MAILBOX = { status: 400, reason: 'failedPrecondition', message: 'Precondition check failed.' };

const MAIL: Arrangements = {
  'list_emails: the label has no emails': atGoogle('list_emails', {}, { routes: inMailbox([]) }),
  'list_emails: there is no such label': atGoogle('list_emails', { label: 'bills' }, { routes: inMailbox([]) }),
  'list_emails: the account has no mailbox (400)': atStatus('list_emails', {}, NO_MAILBOX),
  ...shared('list_emails', {}),
  ...paged('list_emails', {}, twoMails),
  'search_emails: no email matches': atGoogle('search_emails', SEARCH, { routes: inMailbox(createMessages(3)) }),
  'search_emails: `after` is no day': atGoogle('search_emails', { ...SEARCH, after: '5.2.2026' }),
  'search_emails: `after` is not earlier than `before`': atGoogle('search_emails', {
    ...SEARCH,
    after: '2026-02-06',
    before: '2026-02-05',
  }),
  'search_emails: the account has no mailbox (400)': atStatus('search_emails', SEARCH, NO_MAILBOX),
  ...shared('search_emails', SEARCH),
  ...paged('search_emails', { query: 'subject' }, twoMails),
};

const inCalendar = (events: StoredCalendar['events']): readonly StandInRoute[] =>
  createCalendarRoutes(new Map([['primary', { timeZone: 'UTC', events }]]));

const twoEvents: TwoPages = () => {
  const [first = {}, second = {}] = createEvents(2);
  const calendars = new Map([['primary', { timeZone: 'UTC', events: [first, second] }]]);
  const removeSecond = (): void => void calendars.set('primary', { timeZone: 'UTC', events: [first] });
  return { routes: createCalendarRoutes(calendars), removeSecond };
};

// The day of the stand-in's events, and one without.
const THE_DAY = { from: '2026-11-22', to: '2026-11-22' };
const ANOTHER_DAY = { from: '2026-02-05', to: '2026-02-05' };

const onDays = (tool: string, args: Arguments): Arrangements => ({
  [`${tool}: the days have no event`]: atGoogle(
    tool,
    { ...args, ...ANOTHER_DAY },
    { routes: inCalendar(createEvents(3)) },
  ),
  [`${tool}: \`from\` is no day`]: atGoogle(tool, { ...args, from: 'tomorrow' }),
  [`${tool}: \`to\` is before \`from\``]: atGoogle(
    tool,
    { ...args, from: '2026-02-06', to: '2026-02-05' },
    { routes: inCalendar([]) },
  ),
  [`${tool}: there is no such calendar (404)`]: atGoogle(
    tool,
    { ...args, calendar_id: 'nobody@example.com' },
    { routes: inCalendar([]) },
  ),
});

const CALENDAR: Arrangements = {
  ...onDays('list_calendar_events', {}),
  ...shared('list_calendar_events', {}),
  ...paged('list_calendar_events', THE_DAY, twoEvents),
  'search_calendar_events: no event matches': atGoogle(
    'search_calendar_events',
    { ...SEARCH, ...THE_DAY },
    { routes: inCalendar(createEvents(3)) },
  ),
  ...onDays('search_calendar_events', { query: 'event' }),
  ...shared('search_calendar_events', SEARCH),
  ...paged('search_calendar_events', { query: 'event', ...THE_DAY }, twoEvents),
};

const ARRANGEMENTS: Arrangements = { ...DRIVE, ...MAIL, ...CALENDAR };

const ALL: readonly Situation[] = [
  'set-up missing',
  'API not enabled',
  'malformed parameter',
  'wrong value',
  'page out of order',
  'nothing is left',
  'credentials refused',
  'no access',
  'rate limit',
  'upstream is down',
];

describeAudit({
  audit: AUDIT,
  situations: {
    search_drive: [...ALL, 'not all can be had', 'search matched nothing'],
    read_drive_file: [...ALL, 'list is empty'],
    list_emails: [...ALL, 'not all can be had', 'list is empty'],
    search_emails: [...ALL, 'not all can be had', 'search matched nothing'],
    list_calendar_events: [...ALL, 'not all can be had', 'time range has no events'],
    search_calendar_events: [...ALL, 'not all can be had', 'time range has no events', 'search matched nothing'],
  },
  arrangements: ARRANGEMENTS,
});

test('the tools that take a day say how to send it', () => {
  const says = 'Invalid date format. Use YYYY-MM-DD.';
  const tools = AUDIT.rows.filter((row) => row.says === says).map(({ tool }) => tool);
  expect(tools.sort()).toEqual(['list_calendar_events', 'search_calendar_events', 'search_drive', 'search_emails']);
});
