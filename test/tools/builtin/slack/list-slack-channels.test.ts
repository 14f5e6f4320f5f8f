import { expect, test } from 'vitest';
import { createInstantClock, failureOf } from '#test/support/http-target.ts';
import { startSlackLab } from '#test/support/slack/slack-lab.ts';
import { failing, limiting, refusing, type SlackFault } from '#test/support/slack/slack-stand-in.ts';
import { createChannel } from '#test/support/slack/slack-workspace.ts';

const many = (count: number) => Array.from({ length: count }, (_, at) => createChannel(at + 1));

test('channels are listed with what a model needs of them', async () => {
  const { slack, list } = await startSlackLab({
    channels: [
      createChannel(7, { name: 'general' }),
      createChannel(8, { is_archived: true }),
      createChannel(9, { is_private: true }),
    ],
  });
  expect(await list()).toEqual({
    display: '1 channel found.',
    count: 1,
    page: 1,
    has_more: false,
    channels: [
      { id: 'C0000000007', name: 'general', topic: 'Topic 7', members: 7, is_member: true, is_private: false },
    ],
  });
  expect(slack.requests.map(({ form }) => form)).toEqual([
    { exclude_archived: 'true', types: 'public_channel', limit: '200' },
  ]);
});

test('a workspace without channels is a success', async () => {
  const { list } = await startSlackLab({ channels: [] });
  expect(await list()).toEqual({ display: 'No channels found.', count: 0, page: 1, has_more: false, channels: [] });
});

test('pages follow one another, and none is skipped to', async () => {
  const { slack, list } = await startSlackLab({ channels: many(450) });
  expect(await failureOf(list({ page: 2 }))).toMatchObject({
    name: 'RetryableToolError',
    message: 'Page 2 not available. List from page 1 first.',
  });
  expect(slack.requests).toEqual([]);
  expect(await list()).toMatchObject({ display: '200 channels found on page 1. More on page 2.', has_more: true });
  expect(await failureOf(list({ page: 3 }))).toMatchObject({
    message: 'Page 3 not available. List from page 1 first.',
  });
  expect(await list({ page: 2 })).toMatchObject({ display: '200 channels found on page 2. More on page 3.', page: 2 });
  expect(await list({ page: 3 })).toMatchObject({
    display: '50 channels found on page 3.',
    count: 50,
    has_more: false,
    channels: expect.arrayContaining([expect.objectContaining({ name: 'channel-450' })]),
  });
  expect(await failureOf(list({ page: 4 }))).toMatchObject({
    message: 'Page 4 not available. List from page 1 first.',
  });
  expect(await list({ page: 2 }, {})).toMatchObject({ page: 2 });
});

test('another session and another name have chains of their own', async () => {
  const { list } = await startSlackLab({ channels: many(450) });
  await list();
  expect(await failureOf(list({ page: 2 }, { session: 'acme:other' }))).toMatchObject({ name: 'RetryableToolError' });
  expect(await failureOf(list({ page: 2, name: 'x' }))).toMatchObject({ name: 'RetryableToolError' });
});

test('two that walk one list at once both see all of it', async () => {
  const { list } = await startSlackLab({ channels: many(450) });
  const walk = async () => [await list(), await list({ page: 2 }), await list({ page: 3 })];
  for (const pages of await Promise.all([walk(), walk()]))
    expect(pages).toMatchObject([{ count: 200 }, { count: 200 }, { count: 50 }]);
});

test('without a session there is no second page, and the first says so', async () => {
  const { list } = await startSlackLab({ channels: many(250) });
  expect(await list({}, { session: null })).toMatchObject({
    display: '200 channels found on page 1. There are more, and without a session no further page.',
    has_more: true,
  });
  expect(await failureOf(list({ page: 2 }, { session: null }))).toMatchObject({
    message: 'Page 2 not available. Pages are kept per session, and this call has none: only page 1 can be listed.',
  });
});

test('a name picks out of each page, which may then be empty while there are more', async () => {
  const { list } = await startSlackLab({ channels: [...many(200), createChannel(201, { name: 'Deploy-prod' })] });
  expect(await list({ name: '#dePLoy' })).toEqual({
    display: 'No channels found on page 1. More on page 2.',
    count: 0,
    page: 1,
    has_more: true,
    channels: [],
  });
  expect(await list({ name: '#dePLoy', page: 2 })).toMatchObject({
    display: '1 channel found on page 2.',
    channels: [{ name: 'Deploy-prod' }],
  });
  expect(await list({ name: 'nix' })).toMatchObject({ has_more: true });
  expect(await list({ name: 'nix', page: 2 })).toMatchObject({
    display: 'No more results.',
    count: 0,
    has_more: false,
  });
});

test('a cursor that Slack has forgotten begins again', async () => {
  const { slack, list } = await startSlackLab({ channels: many(250) });
  await list();
  slack.meet(refusing('invalid_cursor'));
  expect(await failureOf(list({ page: 2 }))).toMatchObject({
    name: 'RetryableToolError',
    message: 'Page 2 is not available any more. List from page 1 first.',
  });
});

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

test('a long rate limit is not waited for', async () => {
  const { slack, list } = await startSlackLab({ clock: createInstantClock() });
  slack.meet(limiting('90'));
  expect(await failureOf(list())).toMatchObject({
    name: 'UpstreamToolError',
    message: 'Slack allows no more requests for now. Try again in 90 s.',
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
  ['401', failing(401), "HTTP 401 came instead of an answer of Slack's. A human must check SLACK_API_URL."],
])('%s is for a human', async (_what, fault, message) => {
  const { slack, list } = await startSlackLab();
  slack.meet(fault);
  expect(await failureOf(list())).toMatchObject({ name: 'TerminalToolError', message });
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

test('what is missing or odd in one channel does not hide the others', async () => {
  const { slack, list } = await startSlackLab();
  const channels = [
    { id: 'C1', name: 'bare' },
    { id: 'C2', name: 'odd', topic: 7, num_members: 'many', is_member: 'yes' },
    { id: 'C3', name: 'long', topic: { value: 'x'.repeat(1000) } },
  ];
  slack.meet({ kind: 'answer', status: 200, body: JSON.stringify({ ok: true, channels }) });
  const bare = { topic: '', members: null, is_member: false, is_private: false };
  expect(await list()).toMatchObject({
    count: 3,
    has_more: false,
    channels: [
      { id: 'C1', name: 'bare', ...bare },
      { id: 'C2', name: 'odd', ...bare },
      { id: 'C3', topic: 'x'.repeat(250) },
    ],
  });
});
