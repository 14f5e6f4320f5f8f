import { expect, test } from 'vitest';
import { createEvent, createEvents } from '#test/support/calendar-routes.ts';
import { NOW, startLab } from '#test/support/gmail-and-calendar-lab.ts';

const calendarOf = (events: readonly Readonly<Record<string, unknown>>[], timeZone = 'UTC') =>
  new Map([['primary', { timeZone, events }]]);

const SYNC = createEvent('sync', '2026-11-23T10:00:00+01:00', '2026-11-23T11:00:00+01:00', {
  summary: 'Platform\tSync',
  location: 'Room 4',
  description: '<p>Agenda:<br>Tom &amp; Eve</p> 3 &lt; 4',
  hangoutLink: 'https://meet.google.com/abc-defg-hij',
  attendees: [
    { email: 'anna@example.com', responseStatus: 'accepted' },
    { email: 'ben@example.com', responseStatus: 'needsAction' },
  ],
});
const HOLIDAY = createEvent('holiday', '2026-11-26', '2026-11-28', {
  summary: 'Thanksgiving',
  status: 'tentative',
  organizer: { email: 'holidays@group.v.calendar.google.com' },
});

test('list_calendar_events tells the events of a week, in the order of their start', async () => {
  const { call, standIn } = await startLab({ calendars: calendarOf([HOLIDAY, SYNC], 'Europe/Berlin') });
  expect(await call('list_calendar_events')).toEqual({
    isEmpty: false,
    failure: undefined,
    value: {
      display: '2 events found.',
      count: 2,
      page: 1,
      has_more: false,
      events: [
        {
          id: 'sync',
          summary: 'Platform Sync',
          start: '2026-11-23T10:00:00+01:00',
          end: '2026-11-23T11:00:00+01:00',
          all_day: false,
          location: 'Room 4',
          organizer: 'Anna',
          status: 'confirmed',
          attendees: 2,
          description: 'Agenda: Tom & Eve 3 < 4',
          link: 'https://www.google.com/calendar/event?eid=sync',
          meeting_link: 'https://meet.google.com/abc-defg-hij',
        },
        {
          id: 'holiday',
          summary: 'Thanksgiving',
          start: '2026-11-26',
          end: '2026-11-27',
          all_day: true,
          location: null,
          organizer: 'holidays@group.v.calendar.google.com',
          status: 'tentative',
          attendees: 0,
          description: null,
          link: 'https://www.google.com/calendar/event?eid=holiday',
          meeting_link: null,
        },
      ],
    },
  });
  const [zone, list] = standIn.apiRequests();
  expect(zone?.path).toBe('/calendar/v3/calendars/primary');
  expect(list?.path).toBe('/calendar/v3/calendars/primary/events');
  expect(Object.fromEntries(list?.query ?? [])).toEqual({
    singleEvents: 'true',
    orderBy: 'startTime',
    timeMin: '2026-11-21T23:00:00.000Z',
    timeMax: '2026-11-28T23:00:00.000Z',
    maxResults: '25',
    fields: list?.query.get('fields'),
  });
});

test('no event is an empty success', async () => {
  const { call } = await startLab({ calendars: calendarOf([]) });
  const value = { display: 'No events found.', count: 0, page: 1, has_more: false, events: [] };
  expect(await call('list_calendar_events')).toEqual({ isEmpty: true, failure: undefined, value });
  const search = await call('search_calendar_events', { query: 'Chris 1:1 February 5 2026' });
  expect(search).toEqual({ isEmpty: true, failure: undefined, value });
});

test('search_calendar_events finds words from a month back to a year ahead', async () => {
  const { call, standIn } = await startLab({ calendars: calendarOf([HOLIDAY, SYNC]) });
  const found = await call('search_calendar_events', { query: 'platform sync' });
  expect(found.value).toMatchObject({ count: 1, events: [{ id: 'sync' }] });
  const { q, timeMin, timeMax } = Object.fromEntries(standIn.apiRequests().at(-1)?.query ?? []);
  expect({ q, timeMin, timeMax }).toEqual({
    q: 'platform sync',
    timeMin: '2026-10-23T00:00:00.000Z',
    timeMax: '2027-11-23T00:00:00.000Z',
  });
});

test('other arguments that are wrong are refused before anything is asked', async () => {
  const { call, standIn } = await startLab();
  for (const input of [
    { calendar_id: '..' },
    { calendar_id: 'a/../b' },
    { calendar_id: '' },
    { calendar_id: 'x'.repeat(301) },
    { time_zone: 'Mars/Base' },
    { from: '1800-01-01' },
    { to: '9999-12-31' },
    { page: 0 },
    { page_size: 51 },
  ])
    expect((await call('list_calendar_events', input)).failure).toMatchObject({ code: 'invalid_arguments' });
  for (const query of ['', ' ', 'x'.repeat(1001)])
    expect((await call('search_calendar_events', { query })).failure).toMatchObject({ code: 'invalid_arguments' });
  expect(standIn.requests).toEqual([]);
});

test('each time of a recurring event is told by itself, and cancelled events never', async () => {
  const daily = createEvent('daily', '2026-11-23T09:00:00.000Z', '2026-11-23T09:15:00.000Z', {
    summary: 'Standup',
    recurrence: ['RRULE:FREQ=DAILY;COUNT=3'],
  });
  const cancelled = createEvent('gone', '2026-11-24T09:00:00Z', '2026-11-24T10:00:00Z', { status: 'cancelled' });
  const { call } = await startLab({ calendars: calendarOf([daily, cancelled]) });
  expect((await call('list_calendar_events')).value).toMatchObject({
    count: 3,
    events: [
      { id: 'daily_20261123T090000Z', start: '2026-11-23T09:00:00.000Z' },
      { id: 'daily_20261124T090000Z', start: '2026-11-24T09:00:00.000Z' },
      { id: 'daily_20261125T090000Z', start: '2026-11-25T09:00:00.000Z' },
    ],
  });
});

test('another calendar is named by its id, and one that is not there is a retry that names it', async () => {
  const id = 'en.german#holiday@group.v.calendar.google.com';
  const { call } = await startLab({ calendars: new Map([[id, { timeZone: 'UTC', events: [HOLIDAY] }]]) });
  const found = await call('list_calendar_events', { calendar_id: id });
  expect(found.value).toMatchObject({ count: 1, events: [{ id: 'holiday' }] });
  const missing = {
    code: 'retry_requested',
    message:
      "There is no calendar 'team@example.com', or it is not shared with anna@example.com. Use primary, or the id of a calendar, usually the email address of its owner.",
  };
  const calendar = { calendar_id: 'team@example.com' };
  expect((await call('list_calendar_events', calendar)).failure).toMatchObject(missing);
  const search = { ...calendar, query: 'x', time_zone: 'UTC' };
  expect((await call('search_calendar_events', search)).failure).toMatchObject(missing);
});

test('pages are walked in order, also where the day changes between two of them', async () => {
  let now = Date.parse('2026-11-22T23:59:00Z');
  const { call, standIn } = await startLab({ calendars: calendarOf(createEvents(5)), now: () => now });
  const input = { query: 'event', page_size: 2 };
  expect((await call('search_calendar_events', input)).value).toMatchObject({
    display: '2 events found on page 1. More on page 2.',
    has_more: true,
    events: [{ id: 'e1' }, { id: 'e2' }],
  });
  now += 120_000;
  expect((await call('search_calendar_events', { ...input, page: 2 })).value).toMatchObject({
    display: '2 events found on page 2. More on page 3.',
    events: [{ id: 'e3' }, { id: 'e4' }],
  });
  expect((await call('search_calendar_events', { ...input, page: 3 })).value).toMatchObject({
    display: '1 event found on page 3.',
    has_more: false,
    events: [{ id: 'e5' }],
  });
  expect((await call('search_calendar_events', { ...input, page: 4 })).failure).toMatchObject({
    code: 'retry_requested',
    message: 'Page 4 not available. Search from page 1 first.',
  });
  // The time zone once, and each page once.
  expect(standIn.apiRequests()).toHaveLength(4);
});

test('a further page is asked for with the very arguments of the first', async () => {
  const { call, standIn } = await startLab({ calendars: calendarOf(createEvents(3)) });
  const input = { query: 'event', time_zone: 'Europe/Berlin', from: '2026-11-22', to: '2026-11-23', page_size: 2 };
  for (const page of [1, 2])
    expect((await call('search_calendar_events', { ...input, page })).value).toMatchObject({ page });
  const wanted = {
    q: 'event',
    timeZone: 'Europe/Berlin',
    timeMin: '2026-11-21T23:00:00.000Z',
    timeMax: '2026-11-23T23:00:00.000Z',
    maxResults: '2',
  };
  const [first, second] = standIn.apiRequests().map(({ query }) => Object.fromEntries(query));
  expect(first).toMatchObject(wanted);
  expect(second).toEqual({ ...first, pageToken: expect.any(String) });
  expect(standIn.apiRequests()).toHaveLength(2);
});

test('a page that no page led to, in this session and for these days, is a retry that asks nobody', async () => {
  const { call, standIn } = await startLab({ calendars: calendarOf(createEvents(9)), now: () => NOW });
  const violation = { code: 'retry_requested', message: 'Page 5 not available. List from page 1 first.' };
  expect((await call('list_calendar_events', { page: 5 })).failure).toMatchObject(violation);
  expect(standIn.requests).toEqual([]);
  expect((await call('list_calendar_events', { page_size: 3 })).value).toMatchObject({ has_more: true });
  const asked = standIn.requests.length;
  const second = { page_size: 3, page: 2 };
  for (const [input, session] of [
    [second, 's2'],
    [{ ...second, to: '2026-11-30' }, 's1'],
    [{ ...second, calendar_id: 'other' }, 's1'],
  ] as const)
    expect((await call('list_calendar_events', input, { session })).failure).toMatchObject({
      message: 'Page 2 not available. List from page 1 first.',
    });
  expect(standIn.requests).toHaveLength(asked);
  expect((await call('list_calendar_events', second)).value).toMatchObject({
    events: [{ id: 'e4' }, { id: 'e5' }, { id: 'e6' }],
  });
});
