import { showText } from '../../http/show-url.ts';
import type { RefusalText, RefusalTexts } from './slack-failure.ts';

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
  text: 'Slack knows the id of this message and does not find the message: it may have been posted, and deleted since. A human must look before it is posted again.',
};

/** What Slack's refusals of a message mean. Source: docs.slack.dev/reference/methods/chat.postMessage, errors. */
export const toPostRefusals = (message: {
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
    ['no_text', retry('Slack sees no text in this message. Write some.')],
    ['invalid_blocks', retry('Slack cannot read this text. Write it more simply.')],
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
