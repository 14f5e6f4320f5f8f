import { expect, test } from 'vitest';
import { NOW, startLab } from '#test/support/gmail-and-calendar-lab.ts';
import { createMessages } from '#test/support/gmail-routes.ts';

const INVOICE = {
  id: '18c2f',
  subject: '=?UTF-8?Q?Rechnung_f=C3=BCr?= =?UTF-8?B?IE3DpHJ6?=',
  from: '"Anna Ödegård" <anna@example.com>',
  to: 'ben@example.com, =?iso-8859-1?Q?J=FCrgen?= <j@example.com>',
  timeMs: Date.parse('2026-11-20T08:30:00Z'),
  labelIds: ['INBOX', 'UNREAD'],
  snippet: 'Tom &amp; Eve&#39;s bill &lt;42 EUR&gt;',
};

test('list_emails tells the newest emails of the inbox, their texts decoded', async () => {
  const old = { id: 'old', subject: 'Hello', timeMs: Date.parse('2026-11-01T00:00:00Z') };
  const { call, standIn } = await startLab({ mailbox: { messages: [old, INVOICE] } });
  expect(await call('list_emails')).toEqual({
    isEmpty: false,
    failure: undefined,
    value: {
      display: '2 emails found.',
      count: 2,
      page: 1,
      has_more: false,
      emails: [
        {
          id: '18c2f',
          thread_id: 't-18c2f',
          from: '"Anna Ödegård" <anna@example.com>',
          to: 'ben@example.com, Jürgen <j@example.com>',
          subject: 'Rechnung für März',
          date: '2026-11-20T08:30:00.000Z',
          snippet: "Tom & Eve's bill <42 EUR>",
          unread: true,
        },
        {
          id: 'old',
          thread_id: 't-old',
          from: 'Anna <anna@example.com>',
          to: 'ben@example.com',
          subject: 'Hello',
          date: '2026-11-01T00:00:00.000Z',
          snippet: '',
          unread: false,
        },
      ],
    },
  });
  const [list, get] = standIn.apiRequests();
  expect(`${list?.path}?${list?.query}`).toBe(
    '/gmail/v1/users/me/messages?fields=messages%28id%29%2CnextPageToken&labelIds=INBOX&maxResults=10',
  );
  expect(get?.query.getAll('metadataHeaders')).toEqual(['From', 'To', 'Subject', 'Date']);
});

test('no email is an empty success', async () => {
  const { call } = await startLab();
  const value = { display: 'No emails found.', count: 0, page: 1, has_more: false, emails: [] };
  expect(await call('list_emails')).toEqual({ isEmpty: true, failure: undefined, value });
  expect(await call('search_emails', { query: 'is:unread' })).toEqual({ isEmpty: true, failure: undefined, value });
});

test('emails are listed by label and by whether they were read', async () => {
  const messages = [
    { id: 'a', labelIds: ['INBOX', 'UNREAD'] },
    { id: 'b', labelIds: ['INBOX'] },
    { id: 'c', labelIds: ['Label_7', 'UNREAD'] },
    { id: 'd', labelIds: ['TRASH'] },
  ];
  const { call } = await startLab({ mailbox: { messages, labels: [{ id: 'Label_7', name: 'Travel/Rome' }] } });
  const idsOf = async (input: Readonly<Record<string, unknown>>) => (await call('list_emails', input)).value;
  expect(await idsOf({ unread_only: true })).toMatchObject({ count: 1, emails: [{ id: 'a' }] });
  expect(await idsOf({ label: 'travel/rome' })).toMatchObject({ count: 1, emails: [{ id: 'c' }] });
  expect(await idsOf({ label: 'Label_7', unread_only: true })).toMatchObject({ count: 1, emails: [{ id: 'c' }] });
  expect(await idsOf({ label: 'trash' })).toMatchObject({ count: 1, emails: [{ id: 'd' }] });
  expect(await idsOf({ label: 'UNREAD', unread_only: true })).toMatchObject({ count: 2 });
});

test('a label that is not there is a retry that names those that are', async () => {
  const labels = [
    { id: 'INBOX', name: 'INBOX' },
    { id: 'Label_7', name: 'Travel' },
  ];
  const { call } = await startLab({ mailbox: { messages: [], labels } });
  expect((await call('list_emails', { label: 'Holiday\n' })).failure).toMatchObject({
    code: 'retry_requested',
    message: "No label is called 'Holiday\\u000a'. Choose one of these: INBOX, Travel.",
  });
});

test('search_emails hands the search on and narrows it to days that begin in the time zone asked for', async () => {
  const { call, standIn } = await startLab({ mailbox: { messages: [INVOICE] } });
  const found = await call('search_emails', { query: 'from:anna OR from:ben', time_zone: 'Europe/Berlin' });
  expect(found.value).toMatchObject({ count: 0 });
  expect(standIn.apiRequests().at(-1)?.query.get('q')).toBe('from:anna OR from:ben');
  const days = { after: '2026-11-20', before: '2026-11-21' };
  expect((await call('search_emails', { query: 'from:anna', ...days })).value).toMatchObject({ count: 1 });
  expect((await call('search_emails', { query: 'from:anna', after: '2026-11-21' })).value).toMatchObject({ count: 0 });
  await call('search_emails', { query: 'a OR b', ...days, time_zone: 'Europe/Berlin' });
  expect(standIn.apiRequests().at(-1)?.query.get('q')).toBe('after:1795129200 before:1795215600 (a OR b)');
  await call('search_emails', { query: 'a OR b', ...days, time_zone: 'America/New_York' });
  expect(standIn.apiRequests().at(-1)?.query.get('q')).toBe('after:1795150800 before:1795237200 (a OR b)');
});

test.each(['2026-13-01', '2026-02-30', 'tomorrow', '24.12.2026', ''])('the day %j is none', async (day) => {
  const { call, standIn } = await startLab();
  const { failure } = await call('search_emails', { query: 'x', after: day, before: day });
  expect(failure).toMatchObject({
    code: 'invalid_arguments',
    message: 'Invalid date format. Use YYYY-MM-DD.\nInvalid date format. Use YYYY-MM-DD.',
  });
  expect(standIn.requests).toEqual([]);
});

test('days that leave nothing between them are a retry', async () => {
  const { call, standIn } = await startLab();
  const { failure } = await call('search_emails', { query: 'x', after: '2026-11-22', before: '2026-11-22' });
  expect(failure).toMatchObject({
    code: 'retry_requested',
    message:
      "No email can be both after 2026-11-22 and before 2026-11-22. Send an 'after' that is earlier than 'before'.",
  });
  expect(standIn.requests).toEqual([]);
});

test('other arguments that are wrong are refused before anything is asked', async () => {
  const { call, standIn } = await startLab();
  const refused = async (name: string, input: Readonly<Record<string, unknown>>) => (await call(name, input)).failure;
  expect(await refused('search_emails', {})).toMatchObject({ message: 'required parameter missing' });
  expect(await refused('search_emails', { query: ' ' })).toMatchObject({ message: 'must not be blank' });
  expect(await refused('search_emails', { query: 'x'.repeat(1001) })).toMatchObject({ code: 'invalid_arguments' });
  expect(await refused('search_emails', { query: 'x', time_zone: 'Mars/Base' })).toMatchObject({
    message: 'must be the name of a time zone, such as Europe/Berlin',
  });
  for (const input of [{ page: 0 }, { page: 1001 }, { page_size: 26 }, { label: '' }, { label: 'x'.repeat(226) }])
    expect(await refused('list_emails', input)).toMatchObject({ code: 'invalid_arguments' });
  expect(standIn.requests).toEqual([]);
});

test('pages are walked in order, and the model never sees a token', async () => {
  const { call } = await startLab({ mailbox: { messages: createMessages(5) } });
  const input = { page_size: 2 };
  const first = await call('list_emails', input);
  expect(first.value).toMatchObject({
    display: '2 emails found on page 1. More on page 2.',
    has_more: true,
    emails: [{ id: 'm1' }, { id: 'm2' }],
  });
  expect(JSON.stringify(first)).not.toContain('p2-');
  const second = { display: '2 emails found on page 2. More on page 3.', emails: [{ id: 'm3' }, { id: 'm4' }] };
  expect((await call('list_emails', { ...input, page: 2 })).value).toMatchObject(second);
  const third = { display: '1 email found on page 3.', has_more: false, emails: [{ id: 'm5' }] };
  expect((await call('list_emails', { ...input, page: 3 })).value).toMatchObject(third);
  expect((await call('list_emails', { ...input, page: 4 })).failure).toMatchObject({
    code: 'retry_requested',
    message: 'Page 4 not available. List from page 1 first.',
  });
});

test('a page that no page led to, in this session and this search, is a retry that asks nobody', async () => {
  const { call, standIn } = await startLab({ mailbox: { messages: createMessages(9) } });
  const violation = { code: 'retry_requested', message: 'Page 5 not available. Search from page 1 first.' };
  expect((await call('search_emails', { query: 'subject', page: 5 })).failure).toMatchObject(violation);
  expect(standIn.requests).toEqual([]);
  expect((await call('search_emails', { query: 'subject', page_size: 3 })).value).toMatchObject({ has_more: true });
  const asked = standIn.requests.length;
  const second = { query: 'subject', page_size: 3, page: 2 };
  for (const [input, session] of [
    [second, 's2'],
    [{ ...second, query: 'other' }, 's1'],
    [{ ...second, page_size: 4 }, 's1'],
  ] as const)
    expect((await call('search_emails', input, { session })).failure).toMatchObject({
      message: 'Page 2 not available. Search from page 1 first.',
    });
  expect(standIn.requests).toHaveLength(asked);
  expect((await call('search_emails', second)).value).toMatchObject({
    emails: [{ id: 'm4' }, { id: 'm5' }, { id: 'm6' }],
  });
});

test('a message that went between the list and its own request is left out', async () => {
  const { call } = await startLab({ mailbox: { messages: createMessages(4), vanished: new Set(['m2', 'm4']) } });
  expect((await call('list_emails')).value).toMatchObject({
    display: '2 emails found.',
    count: 2,
    emails: [{ id: 'm1' }, { id: 'm3' }],
  });
});

test('a mailbox whose messages all went is an empty success', async () => {
  const { call } = await startLab({ mailbox: { messages: createMessages(1), vanished: new Set(['m1']) } });
  expect(await call('list_emails')).toMatchObject({ isEmpty: true, value: { display: 'No emails found.' } });
});

test('a page of 25 emails is asked for a few at a time and keeps its order', async () => {
  const { call, standIn } = await startLab({ mailbox: { messages: createMessages(30) } });
  const { value } = await call('list_emails', { page_size: 25 });
  const expected = Array.from({ length: 25 }, (_, place) => ({ id: `m${place + 1}` }));
  expect(value).toMatchObject({ count: 25, emails: expected });
  expect(standIn.apiRequests()).toHaveLength(26);
});

test('a call that is given up asks no further message', async () => {
  const given = new AbortController();
  const { call, standIn } = await startLab({
    mailbox: { messages: createMessages(25) },
    routes: [
      ({ path }) => {
        if (path.includes('/messages/')) given.abort(new Error('given up'));
        return undefined;
      },
    ],
  });
  const { failure } = await call('list_emails', { page_size: 25 }, { signal: given.signal });
  expect(failure).toMatchObject({ message: 'given up' });
  expect(standIn.apiRequests().length).toBeLessThan(7);
});

test('the mailbox of a service account without a subject does not exist, which is a retry that says what to set', async () => {
  const { call, standIn } = await startLab();
  const fault = { status: 400, reason: 'failedPrecondition', message: 'Precondition check failed.' };
  for (const [name, input] of [
    ['list_emails', {}],
    ['search_emails', { query: 'x' }],
  ] as const) {
    standIn.fault({ kind: 'status', ...fault, word: 'FAILED_PRECONDITION' });
    expect((await call(name, input)).failure).toMatchObject({
      code: 'retry_requested',
      message:
        'Gmail has no mailbox for these credentials. A service account has none of its own: set GOOGLE_SUBJECT to the user whose mail is read, and delegate the scope https://www.googleapis.com/auth/gmail.readonly to the service account.',
    });
  }
});

test('an unread message of now is told with its date', async () => {
  const messages = [{ id: 'now', timeMs: NOW, labelIds: ['INBOX', 'UNREAD'] }];
  const { call } = await startLab({ mailbox: { messages } });
  expect((await call('list_emails')).value).toMatchObject({
    emails: [{ date: '2026-11-22T12:00:00.000Z', unread: true }],
  });
});
