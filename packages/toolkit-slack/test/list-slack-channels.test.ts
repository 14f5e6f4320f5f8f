import { failureOf } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { refusing } from '#test/support/slack-stand-in.ts';
import { createChannel } from '#test/support/slack-workspace.ts';

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
    display: '200 channels found on page 1. There are more, but further pages need a session.',
    has_more: true,
  });
  expect(await failureOf(list({ page: 2 }, { session: null }))).toMatchObject({
    message: 'Page 2 not available. Pages need a session, and this call has none: only page 1 can be listed.',
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
    message: 'Page 2 is no longer available. List from page 1 first.',
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
      { id: 'C3', topic: `${'x'.repeat(249)}…` },
    ],
  });
});

test('names and topics are one line of printable text, and no character of them is cut in two', async () => {
  const { slack, list } = await startSlackLab();
  const channels = [
    { id: 'C1', name: 'red\u001b[31m', topic: { value: ' one\r\ntwo \u202egnp.exe' } },
    { id: 'C2', name: 'emoji', topic: { value: `${'x'.repeat(248)}😀${'y'.repeat(9)}` } },
  ];
  slack.meet({ kind: 'answer', status: 200, body: JSON.stringify({ ok: true, channels }) });
  expect(await list()).toMatchObject({
    channels: [
      { name: 'red\\u001b[31m', topic: 'one two \\u202egnp.exe' },
      { name: 'emoji', topic: `${'x'.repeat(248)}…` },
    ],
  });
});

test.each([
  ['is too long', 'x'.repeat(5000)],
  ['has control characters', 'a\u0000b'],
  ['is not ASCII', 'größer'],
])('a cursor that %s leads nowhere, and no page is promised', async (_what, cursor) => {
  const { slack, list } = await startSlackLab();
  const body = { ok: true, channels: [{ id: 'C1', name: 'a' }], response_metadata: { next_cursor: cursor } };
  slack.meet({ kind: 'answer', status: 200, body: JSON.stringify(body) });
  expect(await list()).toMatchObject({
    display: '1 channel found on page 1. There are more, but no further page is available.',
    has_more: true,
  });
});
