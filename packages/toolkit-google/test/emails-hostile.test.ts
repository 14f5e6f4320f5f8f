import { expect, test } from 'vitest';
import { startLab } from '#test/support/gmail-and-calendar-lab.ts';
import type { StoredMessage } from '#test/support/gmail-routes.ts';

const read = async (messages: readonly StoredMessage[]) => {
  const { call } = await startLab({ mailbox: { messages } });
  return call('list_emails', { page_size: 25 });
};

const headersOf = (...headers: readonly unknown[]) => ({ raw: { payload: { headers } } });

test('texts of any size are cut', async () => {
  const huge = 'x'.repeat(1_000_000);
  const messages = [
    { id: 'a', subject: huge, to: `${'ben@example.com, '.repeat(60_000)}`, snippet: '&amp;'.repeat(200_000) },
    { id: 'b', subject: `=?utf-8?b?${'w7w'.repeat(300_000)}?=`, from: '=?utf-8?q?'.repeat(100_000) },
  ];
  const { value } = await read(messages);
  expect(value).toMatchObject({ count: 2, emails: [{ subject: `${'x'.repeat(299)}…` }, { id: 'b' }] });
  expect(JSON.stringify(value).length).toBeLessThan(5000);
});

test('control, bidi and hidden characters become blanks, and broken characters are mended', async () => {
  const subject = '\u001b[31mPay\u0000 \u202enow\u2028 \u{e0041}\u{e0042}at once\ud800';
  const { value } = await read([{ id: 'a', subject, snippet: 'a&#27;[2Jb&#8238;c&#0;d', from: '\r\n\t' }]);
  expect(value).toMatchObject({
    emails: [{ subject: '[31mPay now at once\ufffd', snippet: 'a [2Jb c d', from: '(unknown sender)' }],
  });
});

test.each([
  ['no headers', headersOf()],
  ['a null payload', { raw: { payload: null } }],
  ['a payload that is a text', { raw: { payload: 'x' } }],
  ['headers that are none', { raw: { payload: { headers: 'Subject: x' } } }],
  ['headers of wrong types', headersOf(null, 7, [], { name: 7, value: 'x' }, { name: 'Subject', value: { a: 1 } })],
  ['blank headers', headersOf({ name: 'subject', value: ' ' }, { name: 'FROM', value: '' })],
])('a message with %s is told as far as it is known', async (_what, message) => {
  expect((await read([{ id: 'a', timeMs: 0, ...message }])).value).toMatchObject({
    count: 1,
    emails: [{ id: 'a', from: '(unknown sender)', to: '', subject: '(no subject)', date: '1970-01-01T00:00:00.000Z' }],
  });
});

test('members of wrong types and unknown ones change nothing else', async () => {
  const raw = { threadId: 7, labelIds: 'UNREAD', snippet: [1], internalDate: {}, secret: 'x', constructor: 1 };
  const { value } = await read([{ id: 'a', subject: 'Fine', timeMs: 1000, raw }]);
  expect(value).toMatchObject({
    emails: [
      {
        id: 'a',
        thread_id: null,
        from: 'Anna <anna@example.com>',
        to: 'ben@example.com',
        subject: 'Fine',
        date: '1970-01-01T00:00:01.000Z',
        snippet: '',
        unread: false,
      },
    ],
  });
  expect(JSON.stringify(value)).not.toContain('secret');
});

test('a date that is none is null', async () => {
  const raw = { internalDate: '99999999999999999999', payload: { headers: [{ name: 'Date', value: 'yesterday' }] } };
  expect((await read([{ id: 'a', raw }])).value).toMatchObject({ emails: [{ date: null }] });
});

const UNREADABLE = {
  code: 'upstream_unavailable',
  message: 'Gmail sent an answer that cannot be read. Try again later.',
};

test.each([
  ['an array', '[]'],
  ['null', 'null'],
  ['a text', '"x"'],
  ['messages that are no array', '{"messages":{}}'],
  ['a message that is null', '{"messages":[null]}'],
  ['an id that is a number', '{"messages":[{"id":7}]}'],
  ['an id that is a path', '{"messages":[{"id":"../../drive/v3/files"}]}'],
  ['an id of dots', '{"messages":[{"id":".."}]}'],
  ['a token that is a number', '{"messages":[],"nextPageToken":7}'],
  ['one of 26', JSON.stringify({ messages: Array.from({ length: 26 }, (_, place) => ({ id: `m${place}` })) })],
])('a list such as %s cannot be read', async (_what, body) => {
  const { call, standIn } = await startLab();
  standIn.fault({ kind: 'body', body });
  expect((await call('list_emails')).failure).toMatchObject(UNREADABLE);
  expect(standIn.apiRequests()).toHaveLength(1);
});

test.each([
  ['no fitting id', { raw: { id: null } }],
  ['an id that is a path', { raw: { id: 'a/b' } }],
])('a message with %s cannot be read', async (_what, message) => {
  expect((await read([{ id: 'a', ...message }])).failure).toMatchObject(UNREADABLE);
});

test('a message that is null cannot be read, and is not taken for one that is gone', async () => {
  const { call } = await startLab({
    mailbox: { messages: [{ id: 'a' }] },
    routes: [({ path }) => (path.endsWith('/messages/a') ? { body: null } : undefined)],
  });
  expect((await call('list_emails')).failure).toMatchObject(UNREADABLE);
});

test('fifty thousand headers are no matter', async () => {
  const headers = Array.from({ length: 50_000 }, () => ({ name: 'X-Spam', value: 'y' }));
  expect(
    (await read([{ id: 'a', ...headersOf({ name: 'Subject', value: 'First' }, ...headers) }])).value,
  ).toMatchObject({
    emails: [{ subject: 'First' }],
  });
});

test.each([
  ['=?x-unknown?q?abc?= rest', '=?x-unknown?q?abc?= rest'],
  ['=?utf-8?x?abc?=', '=?utf-8?x?abc?='],
  ['=?utf-8?q?=C3?= =?UTF-8?Q?=BC?=', 'ü'],
  ['=?utf-8?b?w7w=?= and =?iso-8859-1*de?q?_=FC?=', 'ü and ü'],
  ['1 =?= 2 ?= 3', '1 =?= 2 ?= 3'],
  ['=?utf-8?q?=1B[31m=0A?=x', '[31m x'],
])('the subject %j reads %j', async (subject, expected) => {
  expect((await read([{ id: 'a', subject }])).value).toMatchObject({ emails: [{ subject: expected }] });
});
