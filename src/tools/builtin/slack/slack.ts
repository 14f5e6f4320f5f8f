import type { PageTokens } from '../../page-tokens.ts';
import type { FamilyLog, SlackOptions, ToolFamily } from '../../tool-family.ts';
import { createListSlackChannels } from './list-slack-channels.ts';
import { createPostSlackMessage } from './post-slack-message.ts';
import { createSlackAccess, isSlackToken } from './slack-access.ts';

export type SlackFamilyOptions = SlackOptions & {
  readonly pageTokens: PageTokens;
  /** Warned of a token that cannot be sent. */
  readonly log?: FamilyLog;
};

/** `list_slack_channels` and `post_slack_message`, offered without a token, too: they say then what is to be set. */
export const createSlack = ({ pageTokens, log, ...options }: SlackFamilyOptions): ToolFamily => {
  const slack = createSlackAccess(options);
  const { token = '' } = options;
  const fields = { setting: 'SLACK_BOT_TOKEN', mistake: 'is not a token' };
  if (token !== '' && !isSlackToken(token)) log?.warn(fields, 'tool group is not set up: its calls will say so');
  return {
    tools: [createListSlackChannels(slack, pageTokens), createPostSlackMessage(slack)],
    close: slack.close,
  };
};
