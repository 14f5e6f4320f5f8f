import { expect, test } from 'vitest';
import { startSlackLab } from '#test/support/slack-lab.ts';
import { createChannel, SLACK_TOKEN } from '#test/support/slack-workspace.ts';

test('a message is posted once, as a form with a bearer token, and nothing in it unfolds', async () => {
  const { slack, post } = await startSlackLab();
  expect(await post({ text: 'Grüße & <b> 😀' })).toEqual({
    display: 'Posted to #general.',
    count: 1,
    channel: 'C0000000001',
    ts: '1700000000.000001',
  });
  expect(slack.requests).toEqual([
    {
      method: 'chat.postMessage',
      verb: 'POST',
      authorization: `Bearer ${SLACK_TOKEN}`,
      contentType: 'application/x-www-form-urlencoded',
      form: { channel: '#general', text: 'Grüße & <b> 😀', unfurl_links: 'false', unfurl_media: 'false' },
    },
  ]);
});

test.each(['general', '#general', 'C0000000001', ' #general '])('channel %j is found', async (channel) => {
  const { slack, post } = await startSlackLab();
  expect(await post({ channel })).toMatchObject({ channel: 'C0000000001', count: 1 });
  expect(slack.workspace.messages).toHaveLength(1);
});

test('a reply goes into its thread', async () => {
  const { slack, post } = await startSlackLab();
  await post();
  expect(await post({ thread_ts: '1700000000.000001' })).toMatchObject({ display: 'Posted to #general, in a thread.' });
  expect(slack.workspace.messages.map(({ thread_ts }) => thread_ts)).toEqual([undefined, '1700000000.000001']);
});

test('40 000 characters are posted, and no more', async () => {
  const { slack, post } = await startSlackLab();
  await post({ text: 'x'.repeat(40_000) });
  expect(slack.workspace.messages[0]?.text).toHaveLength(40_000);
  await expect(post({ text: 'x'.repeat(40_001) })).rejects.toThrow('40000');
  expect(slack.requests).toHaveLength(1);
});

test.each([
  [{ text: ' \n' }, 'must not be blank'],
  [{ text: '' }, 'must not be blank'],
  [{ text: 'half an emoji \ud83d' }, 'text: contains half a character (a lone surrogate); send the whole character'],
  [{ text: '\ude00 the other half' }, 'text: contains half a character (a lone surrogate); send the whole character'],
  [{ channel: '#a\ud83d' }, "must be a channel's id or name"],
  [{ channel: '' }, "must be a channel's id or name"],
  [{ channel: 'two words' }, "must be a channel's id or name"],
  [{ channel: '@someone' }, "must be a channel's id or name"],
  [{ channel: 'https://example.com' }, "must be a channel's id or name"],
  [{ thread_ts: 'yesterday' }, 'must be the ts of a message'],
])('arguments %j are refused before anything is sent', async (input, words) => {
  const { slack, post } = await startSlackLab();
  await expect(post(input)).rejects.toThrow(words);
  expect(slack.requests).toEqual([]);
});

test('without a key a message has no id of ours', async () => {
  const { slack, post } = await startSlackLab();
  await post();
  await post();
  expect(slack.requests.map(({ form }) => form['client_msg_id'])).toEqual([undefined, undefined]);
  expect(slack.workspace.messages).toHaveLength(2);
});

test('a key without a session names no message: other tenants may have chosen the same one', async () => {
  const { slack, post } = await startSlackLab();
  for (let tenant = 0; tenant < 2; tenant += 1) await post({}, { idempotencyKey: 'k#0', session: null });
  expect(slack.requests.map(({ form }) => form['client_msg_id'])).toEqual([undefined, undefined]);
  expect(slack.workspace.messages).toHaveLength(2);
});

test('what notifies a whole channel is sent as it was written, and no name is made a mention', async () => {
  const { slack, post } = await startSlackLab();
  await post({ text: '<!channel> @here' });
  expect(slack.requests[0]?.form).toEqual({
    channel: '#general',
    text: '<!channel> @here',
    unfurl_links: 'false',
    unfurl_media: 'false',
  });
});

test('an answer is read as JSON and never unpacked, whatever it calls itself', async () => {
  const { slack, post } = await startSlackLab();
  const body = '{"ok":true,"channel":"C1","ts":"1.1"}';
  slack.meet({ kind: 'answer', status: 200, body, headers: { 'content-type': 'application/gzip' } });
  expect(await post()).toMatchObject({ channel: 'C1', ts: '1.1' });
});

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('a repeat of one call with its key has the same id, and Slack posts it once', async () => {
  const { slack, post } = await startSlackLab();
  const first = await post({}, { idempotencyKey: 'k#0' });
  expect(await post({}, { idempotencyKey: 'k#0' })).toEqual(first);
  const [one = '', other] = slack.requests.map(({ form }) => form['client_msg_id']);
  expect(one).toMatch(UUID);
  expect(other).toBe(one);
  expect(slack.workspace.messages).toHaveLength(1);
});

test('a repeat after an outcome that nobody knows has the same id', async () => {
  const { slack, post } = await startSlackLab();
  slack.meet({ kind: 'done_then_cut' });
  await expect(post({}, { idempotencyKey: 'k#0' })).rejects.toMatchObject({ executed: 'maybe' });
  expect(await post({}, { idempotencyKey: 'k#0' })).toMatchObject({ ts: '1700000000.000001' });
  const ids = slack.requests.map(({ form }) => form['client_msg_id']);
  expect(ids[0]).toMatch(UUID);
  expect(new Set(ids).size).toBe(1);
  expect(slack.workspace.messages).toHaveLength(1);
});

test.each([
  ['key', {}, { idempotencyKey: 'k#1' }],
  ['session', {}, { session: 'other:session' }],
  ['text', { text: 'Bye' }, {}],
  ['channel', { channel: '#random' }, {}],
  ['thread', { thread_ts: '1700000000.000001' }, {}],
])('another %s makes another message', async (_what, input, context) => {
  const channels = [createChannel(1, { name: 'general' }), createChannel(2, { name: 'random' })];
  const { slack, post } = await startSlackLab({ channels });
  await post({}, { idempotencyKey: 'k#0' });
  await post(input, { idempotencyKey: 'k#0', ...context });
  expect(slack.workspace.messages).toHaveLength(2);
});
