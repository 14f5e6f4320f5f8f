import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import { showText } from '../../http/show-url.ts';
import type { InlineTool, ToolContext } from '../../tool.ts';
import { answerShape } from '../answers.ts';
import { toClientMessageId } from './client-message-id.ts';
import { toPostRefusals } from './post-refusals.ts';
import type { SlackAccess } from './slack-access.ts';
import { toUnreadable } from './slack-unavailable.ts';

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
    .refine((text) => text.isWellFormed(), 'has half a character in it (a lone surrogate); write it whole')
    .describe(
      "The message, in Slack's mrkdwn (*bold*, _italic_, <https://example.com|link>); best below 4 000 characters.",
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
        arguments: { ...message, unfurl_links: false, unfurl_media: false, ...toIdentity(message, context) },
        repeats: 'never',
        refusals: toPostRefusals(message),
        doubt: IN_DOUBT,
      } as const;
      const posted = Posted.safeParse(await slack.ask(request, context));
      if (!posted.success) throw toUnreadable(posted.error, IN_DOUBT);
      const [channel, ts] = [showText(posted.data.channel), showText(posted.data.ts)];
      const where = message.thread_ts === undefined ? '' : ', in a thread';
      return { display: `Posted to ${message.channel}${where}.`, count: 1, channel, ts };
    },
  });

// A key alone is no name: two tenants may have chosen the same one, and only the session keeps them apart.
const toIdentity = (
  { channel, text, thread_ts = '' }: z.output<typeof input>,
  { idempotencyKey, session }: Pick<ToolContext, 'idempotencyKey' | 'session'>,
) =>
  idempotencyKey === null || session === null
    ? {}
    : { client_msg_id: toClientMessageId({ idempotencyKey, session, message: { channel, text, thread_ts } }) };
