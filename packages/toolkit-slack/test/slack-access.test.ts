import { createInstantClock, failureOf } from '@recourse/test-support/http-target.ts';
import { expect, test, vi } from 'vitest';
import { createSlack } from '#src/slack-tools.ts';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { refusing } from '#test/support/slack-stand-in.ts';
import { SLACK_TOKEN } from '#test/support/slack-workspace.ts';

test.each([undefined, ''])('without a token (%j) both tools say what is to be set, and ask nobody', async (token) => {
  const { slack, list, post } = await startSlackLab({ token });
  for (const tool of [list, post])
    expect(await failureOf(tool())).toMatchObject({
      name: 'RetryableToolError',
      message: 'Slack not configured. Set SLACK_BOT_TOKEN to the bot token of a Slack app.',
      executed: 'no',
    });
  expect(slack.requests).toEqual([]);
});

test('a token that no header can carry is not repeated to anybody', async () => {
  const { slack, post, logged } = await startSlackLab({ token: 'xoxb-secret\nsecret' });
  const failure = await failureOf(post());
  expect(failure).toMatchObject({
    name: 'TerminalToolError',
    message: 'SLACK_BOT_TOKEN is not a token. A human must set it to the bot token of a Slack app.',
    executed: 'no',
  });
  expect(JSON.stringify(failure) + logged.join()).not.toContain('secret');
  expect(slack.requests).toEqual([]);
});

test('a call whose time is over before anything is sent says that nothing was posted', async () => {
  const { slack, post, list } = await startSlackLab();
  for (const tool of [post, list])
    expect(await failureOf(tool({}, { timeoutMs: 2 }))).toMatchObject({
      name: 'UpstreamToolError',
      message: 'The request to Slack cannot be sent (no time left). Try again later.',
      executed: 'no',
    });
  expect(slack.requests).toEqual([]);
});

test.each([
  { token: 'xoxb-secret\nsecret', warned: true },
  { token: 'xoxb-sécret', warned: true },
  { token: 'xoxb-secret', warned: false },
  { token: '', warned: false },
])('a token that cannot be sent is warned of at once, and not repeated: $token', ({ token, warned }) => {
  const lines: string[] = [];
  const tell = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { info: tell, warn: tell, error: tell };
  createSlack({ token, apiUrl: undefined, pageTokens: NO_TOKENS, log });
  const line =
    'tool group is not configured: its calls will fail {"setting":"SLACK_BOT_TOKEN","mistake":"is not a token"}';
  expect(lines).toEqual(warned ? [line] : []);
});

const NO_TOKENS = { find: async () => null, keep: async () => undefined };

test('Slack’s library writes nothing to the console; its warnings are in the log, the token is not', async () => {
  const written: unknown[] = [];
  const writers = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((chunk) => {
      written.push(String(chunk));
      return true;
    }),
  );
  const { slack, post, list, logged } = await startSlackLab({ clock: createInstantClock() });
  await post();
  slack.meet({ kind: 'cut' });
  await failureOf(post());
  slack.meet(refusing('invalid_auth', { response_metadata: { messages: ['[ERROR] no', '[WARN] hm'] } }));
  await failureOf(list());
  for (const writer of writers) writer.mockRestore();
  expect(written.join('')).not.toMatch(/web-api|slack|missing_charset/i);
  expect(logged).toContain('slack warning {"warning":"missing_charset"}');
  expect(logged).toContain('slack warning {"warning":"no"}');
  expect(logged.join('\n')).not.toContain(SLACK_TOKEN);
});

test('a flood of warnings is five lines', async () => {
  const { slack, list, logged } = await startSlackLab();
  const warnings = Array.from({ length: 1000 }, (_, at) => `warning ${at}`);
  slack.meet({
    kind: 'answer',
    status: 200,
    body: JSON.stringify({ ok: true, channels: [], response_metadata: { warnings } }),
  });
  await list();
  expect(logged).toHaveLength(5);
});

test('what the tools say of themselves', () => {
  const { tools } = createSlack({
    token: undefined,
    apiUrl: undefined,
    pageTokens: NO_TOKENS,
  });
  expect(tools.map(({ name, effects, retries, timeoutMs }) => ({ name, effects, retries, timeoutMs }))).toEqual([
    { name: 'list_slack_channels', effects: 'read', retries: 3, timeoutMs: 30_000 },
    { name: 'post_slack_message', effects: 'write', retries: 1, timeoutMs: 30_000 },
  ]);
});
