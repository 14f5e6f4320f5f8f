import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { Day, startOfDay, TimeZone } from './calendar-days.ts';
import { answerEmails, EmailPage, emailPageInput, type MailToolOptions } from './email-page.ts';
import { WellFormedText } from './well-formed-text.ts';

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
export const createSearchEmails = (options: MailToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof SearchEmailsInput, z.ZodType>({
    name: 'search_emails',
    description:
      'Searches a Gmail mailbox, spam and trash left out, newest first. Use the arguments after and before for days. Returns id, thread_id, from, to, subject, date (UTC), snippet and unread of each email, not the whole text. Comes in pages: where has_more is true, call again with page + 1.',
    effects: 'read',
    input: SearchEmailsInput,
    output: EmailPage,
    run: (input, context) => {
      const q = toSearch(input);
      return answerEmails(
        options,
        { tool: 'search_emails', verb: 'Search', input, toQuery: async () => ({ q }) },
        context,
      );
    },
  });

/** Seconds and not days: Gmail's API takes a day for one of California, whoever asks. */
const toSearch = ({ query, after, before, time_zone: zone }: z.output<typeof SearchEmailsInput>): string => {
  if (after !== undefined && before !== undefined && after >= before)
    throw new RetryableToolError(
      `No email can be of ${after} or later and earlier than ${before}. Send 'after' and 'before' so that 'after' is earlier than 'before'.`,
    );
  const seconds = (day: string): number => startOfDay(day, zone) / 1000;
  const days = [
    ...(after === undefined ? [] : [`after:${seconds(after)}`]),
    ...(before === undefined ? [] : [`before:${seconds(before)}`]),
  ];
  // Brackets: in `a OR b after:1` the day would be a matter of b alone.
  return days.length === 0 ? query : `${days.join(' ')} (${query})`;
};
