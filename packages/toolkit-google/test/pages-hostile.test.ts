import type { PageTokens } from 'recourse-server/internal/tools/page-tokens.ts';
import { expect, test } from 'vitest';
import { createCalendarTools } from '#src/calendar-tools.ts';
import { createCalendarRoutes, createEvents } from '#test/support/calendar-routes.ts';
import { startLab } from '#test/support/gmail-and-calendar-lab.ts';
import { callTool, startGoogleLab } from '#test/support/google-lab.ts';

const LONG = 'x'.repeat(4_097);

test.each([
  ['list_emails', {}, { messages: [], nextPageToken: LONG }, 'No emails found on page 1.'],
  ['list_emails', {}, { messages: [], nextPageToken: 'a\u0000b' }, 'No emails found on page 1.'],
  ['list_calendar_events', { time_zone: 'UTC' }, { items: [], nextPageToken: LONG }, 'No events found on page 1.'],
  ['list_calendar_events', { time_zone: 'UTC' }, { items: [], nextPageToken: 'é' }, 'No events found on page 1.'],
  // Kept with the range of its days, this one is too long.
  [
    'list_calendar_events',
    { time_zone: 'UTC' },
    { items: [], nextPageToken: LONG.slice(9) },
    'No events found on page 1.',
  ],
] as const)('a further page of %s that cannot be kept is not promised', async (tool, input, body, found) => {
  const { call, standIn } = await startLab();
  standIn.fault({ kind: 'body', body: JSON.stringify(body) });
  expect((await call(tool, input)).value).toMatchObject({
    has_more: true,
    display: `${found} There are more, but no further page is available.`,
  });
});

const RANGE = '2026-11-22T00:00:00.000Z 2026-11-29T00:00:00.000Z';

test.each([
  { what: 'one word', kept: 'onlyone' },
  { what: 'no token', kept: `${RANGE} ` },
  { what: 'times that are none', kept: 'monday friday p1-abc' },
  { what: 'a line break', kept: `${RANGE} a\nb` },
])('what a store has of a page and cannot be read counts as not kept: $what', async ({ kept }) => {
  const lab = await startGoogleLab({
    routes: createCalendarRoutes(new Map([['primary', { timeZone: 'UTC', events: createEvents(3) }]])),
  });
  const pageTokens: PageTokens = { find: async () => kept, keep: async () => undefined };
  const [listEvents] = createCalendarTools({ ...lab, pageTokens });
  if (listEvents === undefined) throw new Error('There is no tool.');
  expect(await callTool(listEvents, { time_zone: 'UTC', page: 2 })).toMatchObject({
    code: 'retry_requested',
    message: 'Page 2 not available. List from page 1 first.',
  });
  expect(lab.standIn.requests).toEqual([]);
});

test.each([
  ['list_calendar_events', { calendar_id: 'x\ud800' }],
  ['search_calendar_events', { query: 'x\ud800' }],
  ['list_emails', { label: 'x\ud800' }],
  ['search_emails', { query: '\udc00' }],
] as const)('%s takes no half emoji', async (tool, input) => {
  const { call, standIn } = await startLab();
  expect((await call(tool, input)).failure).toMatchObject({ code: 'invalid_arguments' });
  expect(standIn.requests).toEqual([]);
});

test('a label of Gmail whose id cannot be sent is an answer that cannot be read', async () => {
  const { call, standIn } = await startLab({ mailbox: { messages: [], labels: [{ id: '\ud800', name: 'Bills' }] } });
  expect((await call('list_emails', { label: 'bills' })).failure).toMatchObject({ code: 'upstream_unavailable' });
  expect(standIn.apiRequests()).toHaveLength(1);
});
