import * as z from 'zod';
import type { PageTokens } from '../../page-tokens.ts';
import type { ToolContext } from '../../tool.ts';
import { answerPage, pageShape } from '../answers.ts';
import { openPageChain } from '../paging/page-chain.ts';
import { Email, toEmail } from './email-metadata.ts';
import { listMessages, type MessageQuery, MOST_ON_PAGE, readMessage } from './gmail-requests.ts';
import type { GoogleAccess, GoogleCall } from './google-access.ts';
import { beginGoogleCall, toTokenHider } from './google-call.ts';
import { mapInSteps } from './map-in-steps.ts';

export type MailToolOptions = { readonly google: GoogleAccess; readonly pageTokens: PageTokens };

export const EmailPage = z.object({ ...pageShape, emails: z.array(Email) });

/** The arguments that say which page, and how large. */
export const emailPageInput = {
  page: z.int().min(1).max(1000).default(1).describe('Pages are read in order, with the same other arguments.'),
  page_size: z.int().min(1).max(MOST_ON_PAGE).default(10).describe('Emails on a page.'),
};

export type EmailPageRequest = {
  readonly tool: string;
  readonly verb: 'List' | 'Search';
  /** The arguments of the call. */
  readonly input: { readonly page: number; readonly page_size: number } & Readonly<Record<string, unknown>>;
  /** What these arguments are for Gmail. Asked once the page is known to be there. */
  readonly toQuery: (call: GoogleCall) => Promise<Omit<MessageQuery, 'maxResults' | 'pageToken'>>;
};

/** One page of emails. A message that goes between the list and its own request is left out. */
export const answerEmails = async (
  { google, pageTokens }: MailToolOptions,
  { tool, verb, input: { page, ...query }, toQuery }: EmailPageRequest,
  context: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
) => {
  const call = beginGoogleCall(context);
  const chain = openPageChain({ tokens: pageTokens, tool, verb, query, context });
  const pageToken = await chain.tokenOf(page);
  const wanted = {
    ...(await toQuery(call)),
    maxResults: query.page_size,
    ...(pageToken === undefined ? {} : { pageToken }),
  };
  const { messages, nextPageToken } = await listMessages(google, wanted, call);
  const ids = (messages ?? []).map(({ id }) => id);
  const found = await readAll(ids, (id, signal) => readMessage(google, id, { ...call, signal }), call.signal);
  const hasMore = await chain.keepNext(page, nextPageToken);
  const hide = toTokenHider(call);
  const messagesFound = found.filter((message) => message !== undefined);
  const items = await mapInSteps(messagesFound, (message) => toEmail(message, hide));
  return answerPage({
    words: { one: 'email', many: 'emails' },
    key: 'emails',
    items,
    page,
    hasMore,
    keepsPages: chain.keepsPages,
  });
};

// Gmail allows a user 50 messages a second, and few requests at the same time.
const MOST_AT_ONCE = 5;

/** What `read` gives for each, in their order, a few at a time. With the first failure the others are given up. */
const readAll = async <Found>(
  ids: readonly string[],
  read: (id: string, signal: AbortSignal) => Promise<Found>,
  signal: AbortSignal,
): Promise<readonly Found[]> => {
  const given = new AbortController();
  const both = AbortSignal.any([signal, given.signal]);
  const found = new Map<number, Found>();
  const rest = ids.entries();
  const readOn = async (): Promise<void> => {
    for (const [place, id] of rest) found.set(place, await read(id, both));
  };
  try {
    await Promise.all(Array.from({ length: MOST_AT_ONCE }, readOn));
  } finally {
    given.abort();
  }
  return [...found].sort(([one], [other]) => one - other).map(([, message]) => message);
};
