import type { InlineTool } from '../../tool.ts';
import type { MailToolOptions } from './email-page.ts';
import { createListEmails } from './list-emails.ts';
import { createSearchEmails } from './search-emails.ts';

/** The tools of the group `mail`. */
export const createMailTools = (options: MailToolOptions): readonly InlineTool[] => [
  createListEmails(options),
  createSearchEmails(options),
];
