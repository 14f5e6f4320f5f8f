import { baseAddress, defineExtension } from 'recourse-server/extension';
import * as z from 'zod';

/** `list_slack_channels` and `post_slack_message`. */
export const extension = defineExtension({
  name: 'slack',
  groups: {
    slack: {
      title: 'Slack',
      packages: ['@slack/web-api'],
    },
  },
  settings: {
    SLACK_BOT_TOKEN: z
      .string()
      .optional()
      .describe('The token of a Slack app, xoxb-…, with chat:write and channels:read.'),
    SLACK_API_URL: baseAddress.describe('Base URL for requests to Slack instead of its own host.'),
  },
  purposes: { SLACK_BOT_TOKEN: { use: 'needed' }, SLACK_API_URL: { use: 'further' } },
  open: async ({ SLACK_BOT_TOKEN, SLACK_API_URL }, { pageTokens, log }) =>
    (await import('./slack-tools.ts')).createSlack({ token: SLACK_BOT_TOKEN, apiUrl: SLACK_API_URL, pageTokens, log }),
});
