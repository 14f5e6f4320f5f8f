import { createCalendarRoutes, createEvents, type StoredCalendar } from '#test/support/google/calendar-routes.ts';
import { createDriveRoutes, type StandInFile } from '#test/support/google/drive-routes.ts';
import { createGmailRoutes, createMessages, type Mailbox } from '#test/support/google/gmail-routes.ts';
import { writeCredentials } from '#test/support/google/google-credentials.ts';
import { type GoogleStandIn, type StandInRoute, startGoogleStandIn } from '#test/support/google/google-stand-in.ts';
import { type Arrangement, type Arrangements, callOnce } from './audit-lab.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** What Google has, and what happens to it. */
type GoogleSituation = {
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
const atGoogle =
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

const atStatus = (tool: string, args: Arguments, fault: StatusFault): Arrangement =>
  atGoogle(tool, args, { prepare: (google) => google.fault({ kind: 'status', ...fault }, 10) });

// Longer than a call may take: it is not waited for.
const IN_A_MINUTE = { 'retry-after': '60' };

const NOT_GOOGLE = { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>Nothing is here.</html>' };

/** What all tools of Google's have in common. */
const shared = (tool: string, args: Arguments): Arrangements => ({
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
  [`${tool}: the answer cannot be read`]: atGoogle(tool, args, {
    prepare: (google) => google.fault({ kind: 'truncated_json' }, 10),
  }),
});

/** Two items on two pages, of which the second goes before it is read. */
type TwoPages = () => { readonly routes: readonly StandInRoute[]; readonly removeSecond: () => void };

const paged = (tool: string, args: Arguments, twoPages: TwoPages): Arrangements => ({
  [`${tool}: a further page holds nothing`]: atGoogle(tool, { ...args, page_size: 1, page: 2 }, () => {
    const { routes, removeSecond } = twoPages();
    return { routes, first: { ...args, page_size: 1 }, change: removeSecond };
  }),
  [`${tool}: no page has led to page 5`]: atGoogle(tool, { ...args, page: 5 }),
  [`${tool}: a further page is asked for without a session`]: atGoogle(tool, { ...args, page: 2 }, { session: null }),
  [`${tool}: \`page\` is 0`]: atGoogle(tool, { ...args, page: 0 }),
});

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

const DRIVE: Arrangements = {
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

const MAIL: Arrangements = {
  'list_emails: the label has no emails': atGoogle('list_emails', {}, { routes: inMailbox([]) }),
  'list_emails: there is no such label': atGoogle('list_emails', { label: 'bills' }, { routes: inMailbox([]) }),
  ...shared('list_emails', {}),
  ...paged('list_emails', {}, twoMails),
  'search_emails: no email matches': atGoogle('search_emails', SEARCH, { routes: inMailbox(createMessages(3)) }),
  'search_emails: `after` is no day': atGoogle('search_emails', { ...SEARCH, after: '5.2.2026' }),
  'search_emails: `after` is not earlier than `before`': atGoogle('search_emails', {
    ...SEARCH,
    after: '2026-02-06',
    before: '2026-02-05',
  }),
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

/** How to bring the tools on Google's APIs into the situations of their rows. */
export const GOOGLE_ARRANGEMENTS: Arrangements = { ...DRIVE, ...MAIL, ...CALENDAR };
