import { type AuditRow, rowsOf, type ToolkitAudit } from '../../../scripts/tools-audit/audit-row.ts';

/** What both tools have in common. `executed` of a post is `no` wherever Slack refused; `doubtful` ends what nobody knows. */
const sharedRows = (tool: string, doubtful: string): readonly AuditRow[] =>
  rowsOf(tool, [
    [
      'set-up missing',
      'SLACK_BOT_TOKEN is not set',
      'Slack not configured. Set SLACK_BOT_TOKEN to the bot token of a Slack app.',
    ],
    [
      'credentials refused',
      'the token was revoked',
      'Slack does not accept the token (token_revoked). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
    ],
    [
      'credentials refused',
      'SLACK_BOT_TOKEN cannot be sent',
      'SLACK_BOT_TOKEN is not a token. A human must set it to the bot token of a Slack app.',
    ],
    [
      'credentials refused',
      'something else answers at SLACK_API_URL (404)',
      'Received HTTP 404, which is not an answer of Slack. A human must check SLACK_API_URL.',
    ],
    [
      'wrong value',
      'Slack does not take a parameter',
      'Slack does not accept these arguments (invalid_arguments). Correct them.',
    ],
    [
      'no access',
      'Slack refuses for another reason',
      "Slack refused: '…'. A human must find out why: docs.slack.dev/reference/methods.",
    ],
    [
      'no access',
      'the app lacks a scope',
      "The Slack app lacks the scope '…'. A human must add it to the app and install the app again.",
    ],
    [
      'rate limit',
      'Slack limits us (429)',
      'Slack rate limit exceeded. Try again in 60 seconds.',
      'upstream_rate_limited',
    ],
    ['upstream is down', 'Slack fails (500)', `Slack failed (HTTP 500). ${doubtful}`],
    ['upstream is down', 'Slack says that it is out of order', `Slack is unavailable (internal_error). ${doubtful}`],
    [
      'upstream is down',
      'the connection breaks',
      `The connection to Slack broke before the answer was complete (…). ${doubtful}`,
    ],
    ['upstream is down', 'the answer cannot be read', `Slack sent an answer that cannot be read. ${doubtful}`],
  ]);

const ROWS: readonly AuditRow[] = [
  ...rowsOf('list_slack_channels', [
    ['list is empty', 'no channel is there', 'No channels found.'],
    ['search matched nothing', 'no channel has the name', 'No channels found.'],
    ['nothing is left', 'a further page holds nothing', 'No more results.'],
    [
      'not all can be had',
      'there are more, and the call has no session',
      '200 channels found on page 1. There are more, but further pages need a session.',
    ],
    [
      'page out of order',
      'Slack does not know the page any more',
      'Page 2 is no longer available. List from page 1 first.',
    ],
    [
      'page out of order',
      'no page has led to page 5',
      'Page 5 not available. List from page 1 first. Read the pages in order, and send the same arguments with each.',
    ],
    [
      'page out of order',
      'a further page is asked for without a session',
      'Page 2 not available. Pages need a session, and this call has none: only page 1 can be listed.',
    ],
    ['malformed parameter', '`page` is 0', 'expected a number of at least 1, got the number 0', 'invalid_arguments'],
  ]),
  ...sharedRows('list_slack_channels', 'Try again later.'),
  ...rowsOf('post_slack_message', [
    [
      'wrong value',
      'there is no such channel',
      "There is no channel '#nowhere', or the app is not in it. Call list_slack_channels.",
    ],
    [
      'wrong value',
      'there is no such message to reply to',
      "Channel '#general' has no message '1700000000.123456' to reply to. Correct thread_ts, or leave it out.",
    ],
    ['wrong value', 'the text is too long', 'The text is too long for Slack. Shorten it, or post it in parts.'],
    [
      'no access',
      'the channel is archived',
      "Channel '#general' is archived. A human must unarchive it, or name another channel.",
    ],
    [
      'no access',
      'the workspace does not let the app post there',
      "Slack does not let the app post to '#general' (restricted_action). A human must allow it.",
    ],
    ['malformed parameter', '`text` is blank', 'must not be blank', 'invalid_arguments'],
    [
      'malformed parameter',
      '`text` has half a character in it',
      'contains half a character (a lone surrogate); send the whole character',
      'invalid_arguments',
    ],
    [
      'no access',
      'the app is not in the channel',
      "The app is not in channel '#general'. A human must invite it there with /invite.",
    ],
  ]),
  ...sharedRows('post_slack_message', 'It may have been posted. Check before posting again.'),
];

export const AUDIT: ToolkitAudit = { rows: ROWS };
