import { RetryableToolError } from 'recourse-server';
import * as z from 'zod';
import { readEntityLine, readHeaderLine } from './email-text.ts';
import type { GoogleAccess } from './google-access.ts';
import { GMAIL, type GoogleCall } from './google-call.ts';
import { type GoogleErrorAnswer, readErrorAnswer } from './google-failure.ts';
import type { HideSecrets } from './hide-secrets.ts';

/** Ids are put into paths of further requests, so they must be what Gmail's are. */
const GmailId = z.string().regex(/^[\w-]{1,64}$/);

// A member of a wrong type is as good as none; only without an id there is nothing to tell of.
const Text = z.string().nullish().catch(null);
const List = z.array(z.unknown()).nullish().catch(null);

const GmailMessage = z.object({
  id: GmailId,
  threadId: Text,
  labelIds: List,
  snippet: Text,
  internalDate: Text,
  payload: z.object({ headers: List }).nullish().catch(null),
});

/** The members of the above, for `fields`: nothing else is sent. */
const MESSAGE_FIELDS = 'id,threadId,labelIds,snippet,internalDate,payload/headers';
const HEADERS = ['From', 'To', 'Subject', 'Date'];

/** One email as the tools give it. */
export const Email = z.object({
  id: z.string(),
  thread_id: z.string().nullable(),
  from: z.string(),
  to: z.string().describe('The recipients, truncated if there are many.'),
  subject: z.string(),
  date: z.string().nullable().describe('When it was received, in UTC: 2026-12-24T18:00:00.000Z.'),
  snippet: z.string().describe('The beginning of its text.'),
  unread: z.boolean(),
});
export type Email = z.output<typeof Email>;

const MOST_SHOWN = 300;
const MOST_HEADERS = 1000;

/** An email of a message of Gmail, its texts decoded, without these secrets, and cut. */
export const readEmail = (message: z.output<typeof GmailMessage>, hide: HideSecrets): Email => {
  const header = createHeaderReader(message.payload?.headers ?? [], hide);
  const threadId = GmailId.safeParse(message.threadId).data;
  return {
    id: hide(message.id),
    thread_id: threadId === undefined ? null : hide(threadId),
    from: header('from') ?? '(unknown sender)',
    to: header('to') ?? '',
    subject: header('subject') ?? '(no subject)',
    date: toTime(Number(message.internalDate ?? Number.NaN)) ?? toTime(Date.parse(header('date') ?? '')),
    snippet: readEntityLine(message.snippet ?? '', { most: MOST_SHOWN, hide }),
    unread: message.labelIds?.includes('UNREAD') ?? false,
  };
};

const Header = z.object({ name: z.string(), value: z.string() });

const createHeaderReader = (given: readonly unknown[], hide: HideSecrets) => {
  const headers = given.slice(0, MOST_HEADERS).flatMap((header) => Header.safeParse(header).data ?? []);
  return (name: string): string | undefined => {
    const header = headers.find((one) => one.name.toLowerCase() === name);
    const line = readHeaderLine(header?.value ?? '', { most: MOST_SHOWN, hide });
    return line === '' ? undefined : line;
  };
};

const toTime = (timeMs: number): string | null => {
  const time = new Date(timeMs);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
};

/** The largest page that is asked for, and taken: each message is one more request. */
export const MOST_ON_PAGE = 25;

/** Which messages users.messages.list shall give. */
export type MessageQuery = {
  readonly q?: string;
  readonly labelIds?: string[];
  readonly includeSpamTrash?: boolean;
  readonly maxResults: number;
  readonly pageToken?: string;
};

// With the first call: the library has some ten thousand lines.
const openGmail = async () => (await import('@googleapis/gmail')).gmail('v1').users;

const MessageList = z.object({
  messages: z
    .array(z.object({ id: GmailId }))
    .max(MOST_ON_PAGE)
    .nullish(),
  nextPageToken: z.string().nullish(),
});

/** One page of the ids of messages, newest first. Rejects as `GoogleAccess.read` does. */
export const listMessages = async (google: GoogleAccess, query: MessageQuery, call: GoogleCall) => {
  const list = await google.read(
    GMAIL,
    async (auth, options) =>
      (await openGmail()).messages
        .list({ auth, userId: 'me', fields: 'messages(id),nextPageToken', ...query }, { ...options })
        .catch(noneWhere(({ status, reasons }) => status === 400 && reasons.has('failedPrecondition'))),
    MessageList.optional(),
    call,
  );
  if (list !== undefined) return list;
  // What Gmail says of it, "Precondition check failed.", helps nobody.
  throw new RetryableToolError(
    `Gmail has no mailbox for these credentials. A service account has none of its own: set GOOGLE_SUBJECT to the user whose mail is read, and delegate the scope ${GMAIL.scope} to the service account.`,
  );
};

/** What is told of one message; undefined where it is gone. Rejects as `GoogleAccess.read` does for all else. */
export const readMessage = (google: GoogleAccess, id: string, call: GoogleCall) =>
  google.read(
    GMAIL,
    async (auth, options) =>
      (await openGmail()).messages
        .get(
          { auth, userId: 'me', id, format: 'metadata', metadataHeaders: HEADERS, fields: MESSAGE_FIELDS },
          { ...options },
        )
        .catch(noneWhere(({ status, isGoogles }) => status === 404 && isGoogles)),
    GmailMessage.optional(),
    call,
  );

// Not null, which an answer may be.
const noneWhere = (isNothing: (answer: GoogleErrorAnswer) => boolean) => (thrown: unknown) => {
  const answer = readErrorAnswer(thrown, 0);
  if (answer !== null && isNothing(answer)) return { data: undefined };
  throw thrown;
};

// The id of one goes into addresses.
const LabelText = z
  .string()
  .max(1000)
  .refine((text) => text.isWellFormed());
const LabelList = z.object({ labels: z.array(z.object({ id: LabelText, name: LabelText })).nullish() });

/** All labels of the mailbox, Gmail's own and the user's. Rejects as `GoogleAccess.read` does. */
export const listLabels = async (google: GoogleAccess, call: GoogleCall) => {
  const { labels } = await google.read(
    GMAIL,
    async (auth, options) =>
      (await openGmail()).labels.list({ auth, userId: 'me', fields: 'labels(id,name)' }, { ...options }),
    LabelList,
    call,
  );
  return labels ?? [];
};
