import { showValue } from '@recourse/toolkit-kit/http';
import { pageShape } from '@recourse/toolkit-kit/page-answers';
import { answerChainedPage } from '@recourse/toolkit-kit/paging/page-chain';
import { defineTool } from 'recourse-server';
import type { InlineTool, PageTokens, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import type { SlackAccess } from './slack-access.ts';
import type { RefusalTexts } from './slack-failure.ts';
import { explainUnreadable } from './slack-failure.ts';

// As many as Slack recommends to ask for at once.
const PAGE_SIZE = 200;
// Slack's own limit of a topic.
const TOPIC_CHARACTERS = 250;
const NAME = 'list_slack_channels';

const input = z.object({
  name: z
    .string()
    .max(80)
    .optional()
    .describe('Only channels whose name contains this text; case is ignored.')
    .meta({ examples: ['deploy'] }),
  page: z.int().min(1).max(1000).default(1).describe('1 for the first page; add 1 while has_more is true.'),
});

const output = z.object({
  ...pageShape,
  channels: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      topic: z.string(),
      members: z.int().nullable(),
      is_member: z.boolean().describe('True if the app is a member.'),
      is_private: z.boolean(),
    }),
  ),
});

const Channel = z.object({
  id: z.string().max(100),
  name: z.string().max(200),
  topic: z.object({ value: z.string() }).nullish().catch(null),
  num_members: z.int().nullish().catch(null),
  is_member: z.boolean().catch(false),
  is_private: z.boolean().catch(false),
});

const Listed = z.object({
  ok: z.literal(true),
  channels: z.array(Channel).max(1000),
  response_metadata: z.object({ next_cursor: z.string().nullish() }).nullish(),
});

const explainRefusals = (page: number): RefusalTexts =>
  new Map([
    ['invalid_cursor', { kind: 'retry', text: `Page ${page} is no longer available. List from page 1 first.` }],
  ]);

/** `list_slack_channels`: the public channels that are not archived, 200 a page. */
export const createListSlackChannels = (slack: SlackAccess, pageTokens: PageTokens): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof input, z.ZodType>({
    name: NAME,
    description:
      'Lists the public channels of the Slack workspace that are not archived: id, name, topic, number of members, whether the app is in it. Results come in pages of up to 200; with a name, a page contains only its matches, possibly none although has_more is true.',
    effects: 'read',
    input,
    output,
    run: (query, context) => listChannels({ slack, pageTokens }, query, context),
  });

const listChannels = (
  { slack, pageTokens: tokens }: { readonly slack: SlackAccess; readonly pageTokens: PageTokens },
  { name, page }: z.output<typeof input>,
  context: ToolContext,
) => {
  const read = async (cursor: string | undefined) => {
    const request = {
      method: 'conversations.list',
      arguments: { exclude_archived: true, types: 'public_channel', limit: PAGE_SIZE, cursor },
      repeats: 'transport',
      refusals: explainRefusals(page),
    } as const;
    const listed = Listed.safeParse(await slack.ask(request, context));
    if (!listed.success) throw explainUnreadable(listed.error);
    const { channels, response_metadata: metadata } = listed.data;
    const items = channels.filter((channel) => isNamed(channel.name, name)).map(readItem);
    return { items, nextToken: metadata?.next_cursor };
  };
  const words = { one: 'channel', many: 'channels' };
  const list = { words, key: 'channels', tool: NAME, verb: 'List', query: { name } } as const;
  return answerChainedPage({ ...list, tokens, page, context, read });
};

const isNamed = (name: string, wanted = ''): boolean =>
  name.toLowerCase().includes(wanted.trim().replace(/^#/, '').toLowerCase());

const readItem = ({ id, name, topic, num_members: members, is_member, is_private }: z.output<typeof Channel>) => ({
  id: showValue(id),
  name: showValue(name),
  topic: showValue((topic?.value ?? '').replace(/\s+/g, ' ').trim(), TOPIC_CHARACTERS),
  members: members ?? null,
  is_member,
  is_private,
});
