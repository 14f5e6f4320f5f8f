import { type AuditRow, rowsOf } from './audit-row.ts';

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
      'no access',
      'the app lacks a scope',
      "The Slack app lacks the scope '…'. A human must add it to the app and install the app again.",
    ],
    [
      'rate limit',
      'Slack limits us (429)',
      'Slack allows no more requests for now. Try again in 60 seconds.',
      'upstream_rate_limited',
    ],
    ['upstream is down', 'Slack fails (500)', `Slack failed (HTTP 500). ${doubtful}`],
    ['upstream is down', 'the answer cannot be read', `Slack sent an answer that cannot be read. ${doubtful}`],
  ]);

/** The tools on Slack's API. */
export const SLACK_ROWS: readonly AuditRow[] = [
  ...rowsOf('list_slack_channels', [
    ['list is empty', 'no channel is there', 'No channels found.'],
    ['search matched nothing', 'no channel has the name', 'No channels found.'],
    ['nothing is left', 'a further page holds nothing', 'No more results.'],
    [
      'page out of order',
      'no page has led to page 5',
      'Page 5 not available. List from page 1 first. Read the pages in order, and send the same arguments with each.',
    ],
    [
      'page out of order',
      'a further page is asked for without a session',
      'Page 2 not available. Pages are kept per session, and this call has none: only page 1 can be listed.',
    ],
    ['malformed parameter', '`page` is 0', 'Too small: expected number to be >=1', 'invalid_arguments'],
  ]),
  ...sharedRows('list_slack_channels', 'Try again later.'),
  ...rowsOf('post_slack_message', [
    [
      'wrong value',
      'there is no such channel',
      "There is no channel '#nowhere', or the app is not in it. Call list_slack_channels.",
    ],
    ['malformed parameter', '`text` is blank', 'must not be blank', 'invalid_arguments'],
    [
      'malformed parameter',
      '`text` has half a character in it',
      'has half a character in it (a lone surrogate); write it whole',
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
