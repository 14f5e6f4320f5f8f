import { createInstantClock, failureOf, findClosedPort } from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { createSlackAccess } from '#src/slack-access.ts';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { failing, limiting, refusing, startSlackStandIn } from '#test/support/slack-stand-in.ts';
import { createChannel, createWorkspace, SLACK_TOKEN } from '#test/support/slack-workspace.ts';

const RETRY = 'RetryableToolError';
const TERMINAL = 'TerminalToolError';
const UPSTREAM = 'UpstreamToolError';

test.each([
  [
    'nowhere',
    { channel: '#nowhere' },
    RETRY,
    "There is no channel '#nowhere', or the app is not in it. Call list_slack_channels.",
  ],
  [
    'closed',
    { channel: 'closed' },
    TERMINAL,
    "The app is not in channel 'closed'. A human must invite it there with /invite.",
  ],
  [
    'old',
    { channel: 'old' },
    TERMINAL,
    "Channel 'old' is archived. A human must unarchive it, or name another channel.",
  ],
  [
    'a thread',
    { thread_ts: '1.1' },
    RETRY,
    "Channel '#general' has no message '1.1' to reply to. Correct thread_ts, or leave it out.",
  ],
])('posting to %s is refused, and nothing was posted', async (_what, input, name, message) => {
  const { slack, post } = await startSlackLab({
    channels: [
      createChannel(1, { name: 'general' }),
      createChannel(2, { name: 'closed', is_member: false }),
      createChannel(3, { name: 'old', is_archived: true }),
    ],
  });
  expect(await failureOf(post(input))).toMatchObject({ name, message, executed: 'no' });
  expect(slack.workspace.messages).toEqual([]);
});

test.each([
  ['msg_too_long', RETRY, 'The text is too long for Slack. Shorten it, or post it in parts.'],
  ['no_text', RETRY, 'The message contains no text that Slack shows. Write some.'],
  ['invalid_blocks', RETRY, 'Slack cannot parse this text. Simplify its formatting.'],
  ['invalid_arguments', RETRY, 'Slack does not accept these arguments (invalid_arguments). Correct them.'],
  [
    'restricted_action',
    TERMINAL,
    "Slack does not let the app post to '#general' (restricted_action). A human must allow it.",
  ],
  ['no_permission', TERMINAL, "Slack does not let the app post to '#general' (no_permission). A human must allow it."],
  [
    'token_revoked',
    TERMINAL,
    'Slack does not accept the token (token_revoked). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  ],
  [
    'token_expired',
    TERMINAL,
    'Slack does not accept the token (token_expired). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  ],
  [
    'account_inactive',
    TERMINAL,
    'Slack does not accept the token (account_inactive). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  ],
  [
    'not_authed',
    TERMINAL,
    'Slack does not accept the token (not_authed). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  ],
  [
    'a_word_of_tomorrow',
    TERMINAL,
    "Slack refused: 'a_word_of_tomorrow'. A human must find out why: docs.slack.dev/reference/methods.",
  ],
])('%s means that nothing was posted', async (error, name, message) => {
  const { slack, post } = await startSlackLab();
  slack.meet(refusing(error));
  expect(await failureOf(post())).toMatchObject({ name, message, executed: 'no' });
  expect(slack.requests).toHaveLength(1);
});

test.each(['duplicate_message_not_found', 'duplicate_channel_not_found'])(
  '%s leaves in doubt what became of the message',
  async (error) => {
    const { slack, post } = await startSlackLab();
    slack.meet(refusing(error));
    expect(await failureOf(post())).toMatchObject({
      name: TERMINAL,
      executed: 'maybe',
      message:
        'Slack has seen the id of this message but does not find it: it may have been posted and then deleted. A human must check before it is posted again.',
    });
  },
);

test('what Slack’s library cannot write is sent to nobody, and is not Slack’s fault', async () => {
  const slack = await startSlackStandIn(createWorkspace([]));
  const access = createSlackAccess({ token: SLACK_TOKEN, apiUrl: slack.origin });
  onTestFinished(access.close);
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const context = { signal: new AbortController().signal, log, timeoutMs: 30_000 };
  const message = { channel: '#general', text: 'half \ud83d' };
  const request = { method: 'chat.postMessage', arguments: message, repeats: 'never', refusals: new Map() } as const;
  expect(await failureOf(access.ask(request, context))).toMatchObject({
    name: RETRY,
    message: 'These arguments cannot be written into a request to Slack. Change them.',
    executed: 'no',
  });
  expect(slack.requests).toEqual([]);
});

const ignore = (): void => undefined;

test.each([
  ['of two seconds', limiting('2'), 2_000, 'Slack rate limit exceeded. Try again in 2 seconds.'],
  ['of one second', limiting('1'), 1_000, 'Slack rate limit exceeded. Try again in 1 second.'],
  ['without a time', limiting(), undefined, 'Slack rate limit exceeded. Try again later.'],
  ['with 200', refusing('ratelimited'), undefined, 'Slack rate limit exceeded. Try again later.'],
  ['of another name', refusing('rate_limited'), undefined, 'Slack rate limit exceeded. Try again later.'],
])('a rate limit %s is passed on at once, and nothing was posted', async (_what, fault, retryAfterMs, message) => {
  const clock = createInstantClock();
  const { slack, post } = await startSlackLab({ clock });
  slack.meet(fault);
  expect(await failureOf(post())).toMatchObject({ name: UPSTREAM, message, executed: 'no' });
  slack.meet(fault);
  expect(await failureOf(post())).toHaveProperty('retryAfterMs', retryAfterMs);
  expect(slack.requests).toHaveLength(2);
  expect(clock.pauses).toEqual([]);
});

test.each([301, 302, 307, 308, 400, 401, 403, 404])(
  'HTTP %d is nobody of Slack’s: a human must look where requests go',
  async (status) => {
    const { slack, post } = await startSlackLab();
    slack.meet(failing(status, { location: 'http://127.0.0.1:9/elsewhere' }));
    expect(await failureOf(post())).toMatchObject({
      name: TERMINAL,
      message: `Received HTTP ${status}, which is not an answer of Slack. A human must check SLACK_API_URL.`,
      executed: 'no',
    });
    expect(slack.requests).toHaveLength(1);
  },
);

test('a Slack that is not there was sent nothing', async () => {
  const { post } = await startSlackLab({ apiUrl: `http://127.0.0.1:${await findClosedPort()}` });
  expect(await failureOf(post())).toMatchObject({ name: UPSTREAM, executed: 'no' });
});

test('a caller who goes away ends the request', async () => {
  const { slack, post } = await startSlackLab({ limitMs: 600_000 });
  slack.meet({ kind: 'silent' });
  const leaving = new AbortController();
  const posting = failureOf(post({}, { signal: leaving.signal }));
  await expect.poll(() => slack.requests.length, { timeout: timeLimit(15_000) }).toBe(1);
  leaving.abort(new Error('gone'));
  expect(await posting).toMatchObject({ message: 'gone' });
});
