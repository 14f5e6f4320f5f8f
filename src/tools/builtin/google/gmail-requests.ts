import * as z from 'zod';
import { RetryableToolError } from '../../tool-errors.ts';
import { GmailId, GmailMessage, HEADERS, MESSAGE_FIELDS } from './email-metadata.ts';
import { GMAIL, type GoogleAccess, type GoogleCall } from './google-access.ts';
import { type GoogleErrorAnswer, readErrorAnswer } from './google-error-answer.ts';

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
const Text = z
  .string()
  .max(1000)
  .refine((text) => text.isWellFormed());
const LabelList = z.object({ labels: z.array(z.object({ id: Text, name: Text })).nullish() });

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
