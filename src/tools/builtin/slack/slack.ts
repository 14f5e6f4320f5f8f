import type { PageTokens } from '../../page-tokens.ts';
import type { SlackOptions, ToolFamily } from '../../tool-family.ts';
import { createListSlackChannels } from './list-slack-channels.ts';
import { createPostSlackMessage } from './post-slack-message.ts';
import { createSlackAccess } from './slack-access.ts';

/** `list_slack_channels` and `post_slack_message`, offered without a token, too: they say then what is to be set. */
export const createSlack = (options: SlackOptions & { readonly pageTokens: PageTokens }): ToolFamily => {
  const slack = createSlackAccess(options);
  return {
    tools: [createListSlackChannels(slack, options.pageTokens), createPostSlackMessage(slack)],
    close: slack.close,
  };
};
