import type { ExtensionLog, OpenedTools, PageTokens } from 'recourse-server/extension';
import { createListSlackChannels } from './list-slack-channels.ts';
import { createPostSlackMessage } from './post-slack-message.ts';
import { createSlackAccess, isSlackToken, type SlackOptions } from './slack-access.ts';

export type SlackToolsOptions = SlackOptions & {
  readonly pageTokens: PageTokens;
  /** Warned of a token that cannot be sent. */
  readonly log?: ExtensionLog;
};

/** `list_slack_channels` and `post_slack_message`, offered without a token, too: they say then what is to be set. */
export const createSlack = ({ pageTokens, log, ...options }: SlackToolsOptions): OpenedTools => {
  const slack = createSlackAccess(options);
  const { token = '' } = options;
  const fields = { setting: 'SLACK_BOT_TOKEN', mistake: 'is not a token' };
  if (token !== '' && !isSlackToken(token)) log?.warn(fields, 'tool group is not configured: its calls will fail');
  return {
    tools: [createListSlackChannels(slack, pageTokens), createPostSlackMessage(slack)],
    close: slack.close,
  };
};
