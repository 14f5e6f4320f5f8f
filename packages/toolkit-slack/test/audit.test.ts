import { type Arrangement, type Arrangements, callOnce, describeAudit } from '@recourse/test-support/audit-lab.ts';
import {
  failing,
  limiting,
  refusing,
  type SlackFault,
  type SlackStandIn,
  startSlackStandIn,
} from '#test/support/slack-stand-in.ts';
import { createChannel, createWorkspace, SLACK_TOKEN, type SlackChannel } from '#test/support/slack-workspace.ts';
import type { Situation } from '../../../scripts/tools-audit/audit-row.ts';
import { AUDIT } from './audit-rows.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** What Slack has, and what happens to it. */
type SlackSituation = {
  readonly channels?: readonly SlackChannel[];
  /** What every request meets. */
  readonly fault?: SlackFault;
  /** Called before the first request. */
  readonly prepare?: (slack: SlackStandIn) => void;
  /** Arguments of a call before, in the same session, and what happens after it. */
  readonly first?: Arguments;
  readonly change?: (slack: SlackStandIn) => void;
  readonly session?: string | null;
};

const GENERAL = createChannel(1, { name: 'general' });

/** A service with a token that Slack takes, and a Slack in some situation. */
const atSlack =
  (tool: string, args: Arguments, situation: SlackSituation = {}): Arrangement =>
  async ({ serve }) => {
    const { channels = [GENERAL], fault, prepare, first, change, session = 'audit' } = situation;
    const slack = await startSlackStandIn(createWorkspace(channels));
    if (fault !== undefined) slack.meet(...Array.from({ length: 10 }, () => fault));
    prepare?.(slack);
    const service = await serve({ SLACK_API_URL: slack.origin, SLACK_BOT_TOKEN: SLACK_TOKEN });
    const envelope = session === null ? {} : { session_id: session };
    if (first !== undefined) await callOnce(service, tool, first, envelope);
    change?.(slack);
    return callOnce(service, tool, args, envelope);
  };

const shared = (tool: string, args: Arguments): Arrangements => ({
  [`${tool}: SLACK_BOT_TOKEN is not set`]: async ({ bare }) => callOnce(await bare(), tool, args),
  [`${tool}: the token was revoked`]: atSlack(tool, args, { fault: refusing('token_revoked') }),
  [`${tool}: the app lacks a scope`]: atSlack(tool, args, { prepare: ({ workspace }) => workspace.scopes.clear() }),
  [`${tool}: Slack limits us (429)`]: atSlack(tool, args, { fault: limiting('60') }),
  [`${tool}: Slack fails (500)`]: atSlack(tool, args, { fault: failing(500) }),
  [`${tool}: SLACK_BOT_TOKEN cannot be sent`]: async ({ serve }) =>
    callOnce(await serve({ SLACK_BOT_TOKEN: 'xoxb stand-in' }), tool, args),
  [`${tool}: something else answers at SLACK_API_URL (404)`]: atSlack(tool, args, { fault: failing(404) }),
  [`${tool}: Slack does not take a parameter`]: atSlack(tool, args, { fault: refusing('invalid_arguments') }),
  [`${tool}: Slack refuses for another reason`]: atSlack(tool, args, { fault: refusing('a_new_reason') }),
  [`${tool}: Slack says that it is out of order`]: atSlack(tool, args, { fault: refusing('internal_error') }),
  [`${tool}: the connection breaks`]: atSlack(tool, args, { fault: { kind: 'cut' } }),
  [`${tool}: the answer cannot be read`]: atSlack(tool, args, { fault: { kind: 'half' } }),
});

// One more than a page holds.
const TWO_PAGES = Array.from({ length: 201 }, (_, index) => createChannel(index + 1));
const LIST = 'list_slack_channels';
const POST = { channel: '#general', text: 'The deployment is done.' };

const ARRANGEMENTS: Arrangements = {
  'list_slack_channels: no channel is there': atSlack(LIST, {}, { channels: [] }),
  'list_slack_channels: no channel has the name': atSlack(LIST, { name: 'deploy' }),
  'list_slack_channels: a further page holds nothing': atSlack(
    LIST,
    { page: 2 },
    { channels: TWO_PAGES, first: {}, change: ({ workspace }) => void workspace.channels.pop() },
  ),
  'list_slack_channels: there are more, and the call has no session': atSlack(
    LIST,
    {},
    { channels: TWO_PAGES, session: null },
  ),
  'list_slack_channels: Slack does not know the page any more': atSlack(
    LIST,
    { page: 2 },
    { channels: TWO_PAGES, first: {}, change: (slack) => slack.meet(refusing('invalid_cursor')) },
  ),
  'list_slack_channels: no page has led to page 5': atSlack(LIST, { page: 5 }),
  'list_slack_channels: a further page is asked for without a session': atSlack(LIST, { page: 2 }, { session: null }),
  'list_slack_channels: `page` is 0': atSlack(LIST, { page: 0 }),
  ...shared(LIST, {}),
  'post_slack_message: there is no such channel': atSlack('post_slack_message', { ...POST, channel: '#nowhere' }),
  'post_slack_message: there is no such message to reply to': atSlack(
    'post_slack_message',
    { ...POST, thread_ts: '1700000000.123456' },
    { fault: refusing('thread_not_found') },
  ),
  'post_slack_message: the text is too long': atSlack('post_slack_message', POST, { fault: refusing('msg_too_long') }),
  'post_slack_message: the channel is archived': atSlack('post_slack_message', POST, {
    fault: refusing('is_archived'),
  }),
  'post_slack_message: the workspace does not let the app post there': atSlack('post_slack_message', POST, {
    fault: refusing('restricted_action'),
  }),
  'post_slack_message: `text` is blank': atSlack('post_slack_message', { ...POST, text: ' ' }),
  'post_slack_message: `text` has half a character in it': atSlack('post_slack_message', {
    ...POST,
    text: 'no \ud83d',
  }),
  'post_slack_message: the app is not in the channel': atSlack('post_slack_message', POST, {
    channels: [{ ...GENERAL, is_member: false }],
  }),
  ...shared('post_slack_message', POST),
};

const BOTH: readonly Situation[] = [
  'set-up missing',
  'malformed parameter',
  'wrong value',
  'credentials refused',
  'no access',
  'rate limit',
  'upstream is down',
];

describeAudit({
  audit: AUDIT,
  writes: ['post_slack_message'],
  situations: {
    list_slack_channels: [
      ...BOTH,
      'not all can be had',
      'page out of order',
      'nothing is left',
      'list is empty',
      'search matched nothing',
    ],
    post_slack_message: BOTH,
  },
  arrangements: ARRANGEMENTS,
});
