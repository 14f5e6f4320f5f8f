import { showText } from '@recourse/toolkit-kit/http';
import { pageShape } from '@recourse/toolkit-kit/page-answers';
import { answerChainedPage } from '@recourse/toolkit-kit/paging/page-chain';
import { defineTool, RetryableToolError } from 'recourse-server';
import type { InlineTool, PageTokens, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import { Day, startOfDay, TimeZone } from './calendar-days.ts';
import { mapInSteps, WellFormedText } from './email-text.ts';
import {
  Email,
  listLabels,
  listMessages,
  type MessageQuery,
  MOST_ON_PAGE,
  readEmail,
  readMessage,
} from './gmail-requests.ts';
import type { GoogleAccess } from './google-access.ts';
import { beginGoogleCall, createTokenHider, type GoogleCall } from './google-call.ts';

// Every mailbox has them, and their ids are their names.
const SYSTEM_LABELS: ReadonlySet<string> = new Set([
  ...['INBOX', 'SENT', 'DRAFT', 'STARRED', 'IMPORTANT', 'UNREAD', 'SPAM', 'TRASH'],
]);
const MOST_NAMED = 50;

/** The id of a label by its id or name, in any case. Rejects with a RetryableToolError that names those there are. */
const findLabelId = async (google: GoogleAccess, label: string, call: GoogleCall): Promise<string> => {
  const wanted = label.trim().toUpperCase();
  if (SYSTEM_LABELS.has(wanted)) return wanted;
  const labels = await listLabels(google, call);
  const found = labels.find(({ id, name }) => id.toUpperCase() === wanted || name.toUpperCase() === wanted);
  if (found !== undefined) return found.id;
  const hide = createTokenHider(call);
  const names = labels.slice(0, MOST_NAMED).map(({ name }) => showText(hide(name), 50));
  const further = labels.length > MOST_NAMED ? ` and ${labels.length - MOST_NAMED} more` : '';
  throw new RetryableToolError(
    `No label is called '${showText(label, 100)}'. Choose one of these: ${names.join(', ')}${further}.`,
  );
};

type MailToolOptions = { readonly google: GoogleAccess; readonly pageTokens: PageTokens };

const EmailPage = z.object({ ...pageShape, emails: z.array(Email) });

const emailPageInput = {
  page: z.int().min(1).max(1000).default(1).describe('Request pages in order, with the other arguments unchanged.'),
  page_size: z.int().min(1).max(MOST_ON_PAGE).default(10).describe('Emails per page.'),
};

type EmailPageRequest = {
  readonly tool: string;
  readonly verb: 'List' | 'Search';
  /** The arguments of the call. */
  readonly input: { readonly page: number; readonly page_size: number } & Readonly<Record<string, unknown>>;
  /** What these arguments are for Gmail. Asked once the page is known to be there. */
  readonly buildQuery: (call: GoogleCall) => Promise<Omit<MessageQuery, 'maxResults' | 'pageToken'>>;
};

/** One page of emails. A message that goes between the list and its own request is left out. */
const answerEmails = (
  { google, pageTokens: tokens }: MailToolOptions,
  { tool, verb, input: { page, ...query }, buildQuery }: EmailPageRequest,
  context: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
) => {
  const call = beginGoogleCall(context);
  const read = async (pageToken: string | undefined) => {
    const token = pageToken === undefined ? {} : { pageToken };
    const wanted = { ...(await buildQuery(call)), maxResults: query.page_size, ...token };
    const { messages, nextPageToken } = await listMessages(google, wanted, call);
    const ids = (messages ?? []).map(({ id }) => id);
    const found = await readAll(ids, (id, signal) => readMessage(google, id, { ...call, signal }), call.signal);
    const hide = createTokenHider(call);
    const present = found.filter((message) => message !== undefined);
    return { items: await mapInSteps(present, (message) => readEmail(message, hide)), nextToken: nextPageToken };
  };
  const words = { one: 'email', many: 'emails' };
  return answerChainedPage({ words, key: 'emails', tool, verb, query, tokens, page, context, read });
};

// Gmail allows a user 50 messages a second, and few requests at the same time.
const MOST_AT_ONCE = 5;

/** What `read` gives for each, in their order, a few at a time. With the first failure the others are given up. */
const readAll = async <Found>(
  ids: readonly string[],
  read: (id: string, signal: AbortSignal) => Promise<Found>,
  signal: AbortSignal,
): Promise<readonly Found[]> => {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const found: Found[] = [];
  const rest = ids.entries();
  const readRest = async (): Promise<void> => {
    for (const [place, id] of rest) found[place] = await read(id, both);
  };
  return Promise.all(Array.from({ length: MOST_AT_ONCE }, readRest))
    .then(() => found)
    .finally(() => stop.abort());
};

const ListEmailsInput = z.object({
  label: WellFormedText.min(1)
    .max(225)
    .default('INBOX')
    .describe(
      "The label whose emails are listed: INBOX, SENT, DRAFT, STARRED, IMPORTANT, SPAM, TRASH, or the name of one of the user's own.",
    )
    .meta({ examples: ['INBOX'] }),
  unread_only: z.boolean().default(false).describe('true: only unread emails.'),
  ...emailPageInput,
});

const createListEmails = (options: MailToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListEmailsInput, z.ZodType>({
    name: 'list_emails',
    description:
      'Lists the emails of a Gmail mailbox under one label, by default the inbox, newest first. Returns id, thread_id, from, to, subject, date (UTC), snippet and unread of each, not the whole text. Results come in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: ListEmailsInput,
    output: EmailPage,
    run: (input, context) => {
      const buildQuery = async (call: GoogleCall) => {
        const labelId = await findLabelId(options.google, input.label, call);
        const labelIds = [...new Set([labelId, ...(input.unread_only ? ['UNREAD'] : [])])];
        // Gmail leaves these two out of every list that does not ask for them.
        return labelId === 'SPAM' || labelId === 'TRASH' ? { labelIds, includeSpamTrash: true } : { labelIds };
      };
      return answerEmails(options, { tool: 'list_emails', verb: 'List', input, buildQuery }, context);
    },
  });

const SearchEmailsInput = z.object({
  query: WellFormedText.max(1000)
    .regex(/\S/, 'must not be blank')
    .describe(
      'What to look for, in the search syntax of Gmail: words, "exact words", from:anna@example.com, to:, subject:(travel plans), has:attachment, filename:pdf, label:work, in:sent, is:unread, is:starred, larger:5M, -not, a OR b.',
    )
    .meta({ examples: ['from:anna@example.com subject:invoice'] }),
  after: Day.optional().describe('Only emails of this day, YYYY-MM-DD, and later.'),
  before: Day.optional().describe('Only emails earlier than this day, YYYY-MM-DD.'),
  time_zone: TimeZone.default('UTC').describe('The time zone in which the days of after and before begin.'),
  ...emailPageInput,
});

/** `search_emails`: Gmail's own search, with days that mean the same everywhere. */
const createSearchEmails = (options: MailToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof SearchEmailsInput, z.ZodType>({
    name: 'search_emails',
    description:
      'Searches a Gmail mailbox, spam and trash left out, newest first. Use the arguments after and before for days. Returns id, thread_id, from, to, subject, date (UTC), snippet and unread of each email, not the whole text. Results come in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: SearchEmailsInput,
    output: EmailPage,
    run: (input, context) => {
      const q = buildSearch(input);
      const request = { tool: 'search_emails', verb: 'Search', input, buildQuery: async () => ({ q }) } as const;
      return answerEmails(options, request, context);
    },
  });

/** Seconds and not days: Gmail's API takes a day for one of California, whoever asks. */
const buildSearch = ({ query, after, before, time_zone: zone }: z.output<typeof SearchEmailsInput>): string => {
  if (after !== undefined && before !== undefined && after >= before)
    throw new RetryableToolError(
      `No email can be both after ${after} and before ${before}. Send an 'after' that is earlier than 'before'.`,
    );
  const seconds = (day: string): number => startOfDay(day, zone) / 1000;
  const days = [
    ...(after === undefined ? [] : [`after:${seconds(after)}`]),
    ...(before === undefined ? [] : [`before:${seconds(before)}`]),
  ];
  // Brackets: in `a OR b after:1` the day would be a matter of b alone.
  return days.length === 0 ? query : `${days.join(' ')} (${query})`;
};

/** The tools of the group `mail`. */
export const createMailTools = (options: MailToolOptions): readonly InlineTool[] => [
  createListEmails(options),
  createSearchEmails(options),
];
