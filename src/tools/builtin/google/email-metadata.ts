import * as z from 'zod';
import { toHeaderLine } from './email-header.ts';
import type { HideSecrets } from './hide-secrets.ts';
import { toEntityLine } from './plain-text.ts';

/** Ids are put into paths of further requests, so they must be what Gmail's are. */
export const GmailId = z.string().regex(/^[\w-]{1,64}$/);

// A member of a wrong type is as good as none; only without an id there is nothing to tell of.
const Text = z.string().nullish().catch(null);
const List = z.array(z.unknown()).nullish().catch(null);

/** What is read of a message (users.messages.get with format=metadata). */
export const GmailMessage = z.object({
  id: GmailId,
  threadId: Text,
  labelIds: List,
  snippet: Text,
  internalDate: Text,
  payload: z.object({ headers: List }).nullish().catch(null),
});

/** The members of the above, for `fields`: nothing else is sent. */
export const MESSAGE_FIELDS = 'id,threadId,labelIds,snippet,internalDate,payload/headers';
export const HEADERS = ['From', 'To', 'Subject', 'Date'];

/** One email as the tools give it. */
export const Email = z.object({
  id: z.string(),
  thread_id: z.string().nullable(),
  from: z.string(),
  to: z.string().describe('The recipients, cut where there are many.'),
  subject: z.string(),
  date: z.string().nullable().describe('When it came, in UTC: 2026-12-24T18:00:00.000Z.'),
  snippet: z.string().describe('The beginning of its text.'),
  unread: z.boolean(),
});
export type Email = z.output<typeof Email>;

const MOST_SHOWN = 300;
const MOST_HEADERS = 1000;

/** An email of a message of Gmail, its texts decoded, without these secrets, and cut. */
export const toEmail = (message: z.output<typeof GmailMessage>, hide: HideSecrets): Email => {
  const header = toHeaderReader(message.payload?.headers ?? [], hide);
  const threadId = GmailId.safeParse(message.threadId).data;
  return {
    id: hide(message.id),
    thread_id: threadId === undefined ? null : hide(threadId),
    from: header('from') ?? '(unknown sender)',
    to: header('to') ?? '',
    subject: header('subject') ?? '(no subject)',
    date: toTime(Number(message.internalDate ?? Number.NaN)) ?? toTime(Date.parse(header('date') ?? '')),
    snippet: toEntityLine(message.snippet ?? '', { most: MOST_SHOWN, hide }),
    unread: message.labelIds?.includes('UNREAD') ?? false,
  };
};

const Header = z.object({ name: z.string(), value: z.string() });

/** The first header of a name, in small letters; undefined where there is none, or where it is blank. */
const toHeaderReader = (given: readonly unknown[], hide: HideSecrets) => {
  const headers = given.slice(0, MOST_HEADERS).flatMap((header) => Header.safeParse(header).data ?? []);
  return (name: string): string | undefined => {
    const header = headers.find((one) => one.name.toLowerCase() === name);
    const line = toHeaderLine(header?.value ?? '', { most: MOST_SHOWN, hide });
    return line === '' ? undefined : line;
  };
};

const toTime = (timeMs: number): string | null => {
  const time = new Date(timeMs);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
};
