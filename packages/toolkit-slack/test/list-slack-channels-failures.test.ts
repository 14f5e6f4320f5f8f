import { createInstantClock, failureOf } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { failing, limiting, refusing, type SlackFault } from '#test/support/slack-stand-in.ts';

test.each([
  ['500', [failing(500)], 2],
  ['503 twice', [failing(503), failing(503)], 3],
  ['a cut connection', [{ kind: 'cut' }], 2],
  ['a short rate limit', [limiting('1')], 2],
] satisfies readonly (readonly [string, readonly SlackFault[], number])[])(
  'after %s the list is asked for again',
  async (_what, faults, requests) => {
    const clock = createInstantClock();
    const { slack, list } = await startSlackLab({ clock });
    slack.meet(...faults);
    expect(await list()).toMatchObject({ count: 1 });
    expect(slack.requests).toHaveLength(requests);
    expect(clock.pauses).toHaveLength(requests - 1);
  },
);

test('a rate limit that is longer than the call has is told at once', async () => {
  const clock = createInstantClock();
  const { slack, list } = await startSlackLab({ clock });
  slack.meet(limiting('2'));
  expect(await failureOf(list({}, { timeoutMs: 1500 }))).toMatchObject({
    message: 'Slack rate limit exceeded. Try again in 2 seconds.',
    retryAfterMs: 2000,
  });
  expect(slack.requests).toHaveLength(1);
  expect(clock.pauses).toEqual([]);
});

test('a slow Slack is told as such also where a call has little time', async () => {
  const { slack, list } = await startSlackLab();
  slack.meet({ kind: 'silent' });
  expect(await failureOf(list({}, { timeoutMs: 1000 }))).toMatchObject({
    name: 'UpstreamToolError',
    message: expect.stringMatching(/^Slack did not answer in time .*Try again later\.$/),
  });
});

test('an answer that drips, or is too large, is told as such', async () => {
  const { slack, list } = await startSlackLab({ limitMs: 1000 });
  const body = `{"ok":true,"channels":[],"more":"${'x'.repeat(5_000_000)}"}`;
  slack.meet({ kind: 'drip' }, { kind: 'answer', status: 200, body });
  expect(await failureOf(list())).toMatchObject({ message: 'Slack did not answer in time. Try again later.' });
  expect(await failureOf(list())).toMatchObject({
    message: 'Slack sent an answer that is too large to be read. Try again later.',
  });
});

test('a long rate limit is not waited for', async () => {
  const { slack, list } = await startSlackLab({ clock: createInstantClock() });
  slack.meet(limiting('90'));
  expect(await failureOf(list())).toMatchObject({
    name: 'UpstreamToolError',
    message: 'Slack rate limit exceeded. Try again in 90 seconds.',
    retryAfterMs: 90_000,
  });
  expect(slack.requests).toHaveLength(1);
});

test.each([
  [
    'invalid_auth',
    refusing('invalid_auth'),
    'Slack does not accept the token (invalid_auth). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  ],
  [
    'no right',
    refusing('access_denied'),
    "Slack refused: 'access_denied'. A human must find out why: docs.slack.dev/reference/methods.",
  ],
  ['400', failing(400), 'Received HTTP 400, which is not an answer of Slack. A human must check SLACK_API_URL.'],
  ['401', failing(401), 'Received HTTP 401, which is not an answer of Slack. A human must check SLACK_API_URL.'],
  ['403', failing(403), 'Received HTTP 403, which is not an answer of Slack. A human must check SLACK_API_URL.'],
  ['404', failing(404), 'Received HTTP 404, which is not an answer of Slack. A human must check SLACK_API_URL.'],
])('%s is for a human', async (_what, fault, message) => {
  const { slack, list } = await startSlackLab();
  slack.meet(fault);
  expect(await failureOf(list())).toMatchObject({ name: 'TerminalToolError', message });
  expect(slack.requests).toHaveLength(1);
});

test('a token that is revoked meanwhile is for a human', async () => {
  const { slack, list } = await startSlackLab();
  await list();
  slack.workspace.tokens.clear();
  expect(await failureOf(list())).toMatchObject({
    name: 'TerminalToolError',
    message:
      'Slack does not accept the token (invalid_auth). A human must set SLACK_BOT_TOKEN to a valid token of a Slack app.',
  });
});

test('a missing scope is named', async () => {
  const { slack, list, post } = await startSlackLab();
  slack.workspace.scopes.clear();
  expect(await failureOf(list())).toMatchObject({
    name: 'TerminalToolError',
    message: "The Slack app lacks the scope 'channels:read'. A human must add it to the app and install the app again.",
  });
  expect(await failureOf(post())).toMatchObject({
    message: "The Slack app lacks the scope 'chat:write'. A human must add it to the app and install the app again.",
    executed: 'no',
  });
});

test('wrong arguments can be corrected', async () => {
  const { slack, list } = await startSlackLab();
  slack.meet(refusing('invalid_arguments'));
  expect(await failureOf(list())).toMatchObject({ name: 'RetryableToolError' });
  await expect(list({ page: 0 })).rejects.toThrow('page');
  await expect(list({ name: 'x'.repeat(81) })).rejects.toThrow('name');
});

test.each([
  ['half of one', { kind: 'half' }],
  ['channels that are none', { kind: 'answer', status: 200, body: '{"ok":true,"channels":[{"id":5}]}' }],
  ['nothing', { kind: 'answer', status: 200, body: '' }],
] satisfies readonly (readonly [string, SlackFault])[])('an answer that is %s cannot be read', async (_what, fault) => {
  const { slack, list } = await startSlackLab();
  slack.meet(fault);
  expect(await failureOf(list())).toMatchObject({
    name: 'UpstreamToolError',
    message: 'Slack sent an answer that cannot be read. Try again later.',
  });
});
