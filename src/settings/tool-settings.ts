import * as z from 'zod';
import { flag, listOf, MAX_TIMER_MS, whole } from './setting-kinds.ts';

const GROUPS_RULE = 'must be a comma-separated list of notes, shell, drive, mail, calendar, slack';
// Requests have the path and the query of their own, and credentials of their own.
const isBaseAddress = (text: string): boolean => /^https?:\/\/[^@?#]+$/.test(text) && URL.canParse(text);
const baseAddress = z
  .string()
  .refine(isBaseAddress, 'must be an http:// or https:// address without user name, query or fragment')
  .optional();

/** The tools that are offered where they are asked for, and what they need. docs/tools.md has them all. */
export const TOOL_SETTINGS = {
  TOOL_GROUPS: listOf(/^(notes|shell|drive|mail|calendar|slack)$/, GROUPS_RULE).describe(
    'Comma-separated groups of further tools to offer: notes, shell, drive, mail, calendar, slack. See docs/tools.md.',
  ),
  NOTES_DIR: z.string().optional().describe('The directory of Markdown files that the notes tools read.'),
  SHELL_BWRAP_PATH: z
    .string()
    .default('bwrap')
    .describe('The bubblewrap program that the shell tool runs commands in; a name is looked up in PATH.'),
  SHELL_TIMEOUT_MS: whole(30_000, 100, MAX_TIMER_MS).describe(
    'Time for one command of the shell tool, in milliseconds.',
  ),
  SHELL_CPU_SECONDS: whole(30, 1, 86_400).describe('Processor time that each process of a command gets, in seconds.'),
  SHELL_MEMORY_MB: whole(512, 16, 65_536).describe('Memory of all processes of one command together, in MiB.'),
  SHELL_MAX_PROCESSES: whole(64, 4, 10_000).describe('Processes and threads of one command at once.'),
  SHELL_OUTPUT_BYTES: whole(65_536, 1024, 131_072).describe(
    'Bytes of output that a command may give back, and of error output; what is beyond is cut out of the middle.',
  ),
  SHELL_EPOLL: flag(false).describe(
    'Let commands use epoll, which Node.js, npm and Go need. A command can then end the service: docs/shell-tool.md says how.',
  ),
  GOOGLE_CREDENTIALS_PATH: z
    .string()
    .optional()
    .describe(
      "A JSON file with the key of a Google service account, or with a user's client_id, client_secret and refresh_token. A change is followed.",
    ),
  GOOGLE_SUBJECT: z
    .string()
    .optional()
    .describe('The user whom a service account acts for (domain-wide delegation): needed for mail.'),
  GOOGLE_API_URL: baseAddress.describe(
    "Where requests to Google go instead of Google's own hosts, sign-in included: a gateway, or a stand-in for tests.",
  ),
  SLACK_BOT_TOKEN: z
    .string()
    .optional()
    .describe('The token of a Slack app, xoxb-…, with chat:write and channels:read.'),
  SLACK_API_URL: baseAddress.describe("Where requests to Slack go instead of Slack's own host."),
} as const;
