import type { AuditGroup } from './read-tool-groups.ts';

type GroupText = {
  readonly title: string;
  /** What it takes to have these tools, in a sentence or two. */
  readonly about: string;
  /** Names of settings. */
  readonly settings: readonly string[];
};

const GOOGLE = ['GOOGLE_CREDENTIALS_PATH', 'GOOGLE_SUBJECT', 'GOOGLE_API_URL'];

/** What the page says of each group of tools beside what the tools say themselves. */
export const GROUP_TEXTS: Readonly<Record<AuditGroup, GroupText>> = {
  own: {
    title: 'Every service',
    about: 'These are always there: files of one directory, public web pages, and an echo to try calls with.',
    settings: ['WORKSPACE_DIR', 'FETCH_ALLOW_PRIVATE'],
  },
  notes: {
    title: 'Notes',
    about:
      'A directory of Markdown files, searched by words, the best match first. [notes.md](notes.md) has what counts as a note, how to search, and limits.',
    settings: ['NOTES_DIR'],
  },
  shell: {
    title: 'Shell',
    about:
      'Commands in a sandbox of bubblewrap: no network, nothing of the system to write to, no variable of the service. A command has SHELL_TIMEOUT_MS, and the tool five seconds more to tell what came of it. Where the sandbox does not work on this machine, the tool is not offered and `GET /tools` says why. [shell-tool.md](shell-tool.md) has more.',
    settings: [
      'SHELL_BWRAP_PATH',
      'SHELL_TIMEOUT_MS',
      'SHELL_CPU_SECONDS',
      'SHELL_MEMORY_MB',
      'SHELL_MAX_PROCESSES',
      'SHELL_OUTPUT_BYTES',
      'SHELL_EPOLL',
      'WORKSPACE_DIR',
    ],
  },
  drive: {
    title: 'Google Drive',
    about:
      'Files that the account of the credentials may see. They only read; [google-and-slack.md](google-and-slack.md#google) has the set-up.',
    settings: GOOGLE,
  },
  mail: {
    title: 'Gmail',
    about:
      'Mails of the user of the credentials. They only read. A service account needs GOOGLE_SUBJECT; [google-and-slack.md](google-and-slack.md#google) has the set-up.',
    settings: GOOGLE,
  },
  calendar: {
    title: 'Google Calendar',
    about: 'Events of a calendar. They only read; [google-and-slack.md](google-and-slack.md#google) has the set-up.',
    settings: GOOGLE,
  },
  slack: {
    title: 'Slack',
    about:
      'Channels that the app may see, and messages in its name; [google-and-slack.md](google-and-slack.md#slack) has the set-up.',
    settings: ['SLACK_BOT_TOKEN', 'SLACK_API_URL'],
  },
};
