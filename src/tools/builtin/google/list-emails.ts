import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { toLabelId } from './email-label.ts';
import { answerEmails, EmailPage, emailPageInput, type MailToolOptions } from './email-page.ts';
import type { GoogleCall } from './google-access.ts';
import { WellFormedText } from './well-formed-text.ts';

const ListEmailsInput = z.object({
  label: WellFormedText.min(1)
    .max(225)
    .default('INBOX')
    .describe(
      "The label whose emails are listed: INBOX, SENT, DRAFT, STARRED, IMPORTANT, SPAM, TRASH, or the name of one of the user's own.",
    )
    .meta({ examples: ['INBOX'] }),
  unread_only: z.boolean().default(false).describe('true: only emails that nobody has read yet.'),
  ...emailPageInput,
});

/** `list_emails`: the newest emails of one label. */
export const createListEmails = (options: MailToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListEmailsInput, z.ZodType>({
    name: 'list_emails',
    description:
      'Lists the emails of a Gmail mailbox under one label, by default the inbox, newest first. Returns id, thread_id, from, to, subject, date (UTC), snippet and unread of each, not the whole text. Comes in pages: where has_more is true, call again with page + 1.',
    effects: 'read',
    input: ListEmailsInput,
    output: EmailPage,
    run: (input, context) => {
      const toQuery = async (call: GoogleCall) => {
        const labelId = await toLabelId(options.google, input.label, call);
        const labelIds = [...new Set([labelId, ...(input.unread_only ? ['UNREAD'] : [])])];
        // Gmail leaves these two out of every list that does not ask for them.
        return labelId === 'SPAM' || labelId === 'TRASH' ? { labelIds, includeSpamTrash: true } : { labelIds };
      };
      return answerEmails(options, { tool: 'list_emails', verb: 'List', input, toQuery }, context);
    },
  });
