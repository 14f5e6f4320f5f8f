import { hash } from 'node:crypto';
import { showText } from '@recourse/toolkit-kit/http';
import { answerShape } from '@recourse/toolkit-kit/page-answers';
import { defineTool } from 'recourse-server';
import type { InlineTool, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import type { SlackAccess } from './slack-access.ts';
import type { RefusalText, RefusalTexts } from './slack-failure.ts';
import { explainUnreadable } from './slack-failure.ts';

/**
 * The UUID (version 8 of RFC 9562) that a message is sent with as `client_msg_id`: the same for each repeat of one call
 * with one key, another one for any other key, session or text. The session keeps tenants with equal keys apart.
 */
const createClientMessageId = (parts: {
  readonly idempotencyKey: string;
  readonly session: string;
  /** All that is posted. */
  readonly message: Readonly<Record<string, string>>;
}): string => {
  const { idempotencyKey, session, message } = parts;
  const bits = hash('sha256', JSON.stringify(['recourse slack message', idempotencyKey, session, message]));
  // Sections 4.1 and 5.8: the version is 8, and the two bits of the variant are 10.
  const variant = ((Number.parseInt(bits.slice(16, 17), 16) & 0b0011) | 0b1000).toString(16);
  return `${bits.slice(0, 8)}-${bits.slice(8, 12)}-8${bits.slice(13, 16)}-${variant}${bits.slice(17, 20)}-${bits.slice(20, 32)}`;
};

const NO_RIGHT = [
  ...['restricted_action', 'restricted_action_read_only_channel', 'restricted_action_non_threadable_channel'],
  ...['restricted_action_thread_locked', 'restricted_action_thread_only_channel', 'ekm_access_denied', 'access_denied'],
  ...['no_permission', 'team_access_not_granted', 'enterprise_is_restricted', 'org_login_required', 'accesslimited'],
  ...['message_limit_exceeded', 'messages_tab_disabled', 'two_factor_setup_required'],
];

const retry = (text: string): RefusalText => ({ kind: 'retry', text });
const terminal = (text: string): RefusalText => ({ kind: 'terminal', text });

// All that Slack says of them is "No duplicate message exists associated with client_msg_id." and "Channel associated
// with client_msg_id was invalid.": that it knows the id, and not what became of the message.
const SEEN_BEFORE: RefusalText = {
  kind: 'doubt',
  text: 'Slack has seen the id of this message but does not find it: it may have been posted and then deleted. A human must check before it is posted again.',
};

/** What Slack's refusals of a message mean. Source: docs.slack.dev/reference/methods/chat.postMessage, errors. */
const explainPostRefusals = (message: {
  readonly channel: string;
  readonly thread_ts?: string | undefined;
}): RefusalTexts => {
  const channel = `'${showText(message.channel)}'`;
  const noThread = retry(
    `Channel ${channel} has no message '${message.thread_ts}' to reply to. Correct thread_ts, or leave it out.`,
  );
  return new Map<string, RefusalText>([
    ['channel_not_found', retry(`There is no channel ${channel}, or the app is not in it. Call list_slack_channels.`)],
    ['msg_too_long', retry('The text is too long for Slack. Shorten it, or post it in parts.')],
    ['no_text', retry('The message contains no text that Slack shows. Write some.')],
    ['invalid_blocks', retry('Slack cannot parse this text. Simplify its formatting.')],
    ['thread_not_found', noThread],
    ['cannot_reply_to_message', noThread],
    ['not_in_channel', terminal(`The app is not in channel ${channel}. A human must invite it there with /invite.`)],
    ['is_archived', terminal(`Channel ${channel} is archived. A human must unarchive it, or name another channel.`)],
    ['duplicate_message_not_found', SEEN_BEFORE],
    ['duplicate_channel_not_found', SEEN_BEFORE],
    ...NO_RIGHT.map((code): [string, RefusalText] => [
      code,
      terminal(`Slack does not let the app post to ${channel} (${code}). A human must allow it.`),
    ]),
  ]);
};

// Slack cuts what is longer.
const MOST_CHARACTERS = 40_000;

const input = z.object({
  channel: z
    .string()
    .trim()
    .regex(/^#?[\p{L}\p{M}\p{N}._-]{1,80}$/u, "must be a channel's id or name: C0123456789 or #general")
    .describe("The channel's id, or its name with or without #. list_slack_channels has both.")
    .meta({ examples: ['#general'] }),
  text: z
    .string()
    .max(MOST_CHARACTERS)
    .regex(/\S/, 'must not be blank')
    .refine((text) => text.isWellFormed(), 'contains half a character (a lone surrogate); send the whole character')
    .describe(
      "The message, in Slack's mrkdwn (*bold*, _italic_, <https://example.com|link>); preferably below 4 000 characters.",
    )
    .meta({ examples: ['The deployment is done.'] }),
  thread_ts: z
    .string()
    .regex(/^\d{1,12}\.\d{1,9}$/, 'must be the ts of a message: 1700000000.123456')
    .optional()
    .describe('Post as a reply to the message with this ts.'),
});

const IN_DOUBT = 'It may have been posted. Check before posting again.';

const output = z.object({
  ...answerShape,
  channel: z.string().describe("The channel's id."),
  ts: z.string().describe("The message's id within its channel: thread_ts of replies to it."),
});

const Posted = z.object({ ok: z.literal(true), channel: z.string().max(100), ts: z.string().max(100) });

/**
 * `post_slack_message`: one request, never repeated by itself. Where the batch has an Idempotency-Key and a session,
 * Slack is told an id of the message that each repeat has; Slack names such ids among its errors and promises nothing
 * about them.
 */
export const createPostSlackMessage = (slack: SlackAccess): InlineTool =>
  defineTool({
    name: 'post_slack_message',
    description:
      'Posts one message to a Slack channel, or into a thread there, as the Slack app. Links in it are not unfolded. Returns channel and ts of the message.',
    effects: 'write',
    retries: 1,
    input,
    output,
    run: async (message, context) => {
      const request = {
        method: 'chat.postMessage',
        arguments: { ...message, unfurl_links: false, unfurl_media: false, ...readIdentity(message, context) },
        repeats: 'never',
        refusals: explainPostRefusals(message),
        doubt: IN_DOUBT,
      } as const;
      const posted = Posted.safeParse(await slack.ask(request, context));
      if (!posted.success) throw explainUnreadable(posted.error, IN_DOUBT);
      const [channel, ts] = [showText(posted.data.channel), showText(posted.data.ts)];
      const where = message.thread_ts === undefined ? '' : ', in a thread';
      return { display: `Posted to ${message.channel}${where}.`, count: 1, channel, ts };
    },
  });

// A key alone is no name: two tenants may have chosen the same one, and only the session keeps them apart.
const readIdentity = (
  { channel, text, thread_ts = '' }: z.output<typeof input>,
  { idempotencyKey, session }: Pick<ToolContext, 'idempotencyKey' | 'session'>,
) =>
  idempotencyKey === null || session === null
    ? {}
    : { client_msg_id: createClientMessageId({ idempotencyKey, session, message: { channel, text, thread_ts } }) };
