import { expect, test } from 'vitest';
import { startLab } from '#test/support/gmail-and-calendar-lab.ts';

const calendarOf = (events: readonly Readonly<Record<string, unknown>>[], timeZone = 'UTC') =>
  new Map([['primary', { timeZone, events }]]);

test.each([
  ['list_calendar_events', {}, '2026-11-22T00:00:00.000Z', '2026-11-29T00:00:00.000Z'],
  [
    'list_calendar_events',
    { from: '2026-12-24', to: '2026-12-24' },
    '2026-12-24T00:00:00.000Z',
    '2026-12-25T00:00:00.000Z',
  ],
  ['list_calendar_events', { from: '2026-12-30' }, '2026-12-30T00:00:00.000Z', '2027-01-06T00:00:00.000Z'],
  ['list_calendar_events', { to: '2026-11-22' }, '2026-11-22T00:00:00.000Z', '2026-11-23T00:00:00.000Z'],
  [
    'search_calendar_events',
    { query: 'x', from: '2024-01-01' },
    '2024-01-01T00:00:00.000Z',
    '2025-01-01T00:00:00.000Z',
  ],
  ['search_calendar_events', { query: 'x', to: '2024-12-31' }, '2024-01-01T00:00:00.000Z', '2025-01-01T00:00:00.000Z'],
])('%s with %j asks for %s to %s', async (name, input, timeMin, timeMax) => {
  const { call, standIn } = await startLab({ calendars: calendarOf([]) });
  expect(await call(name, input)).toMatchObject({ isEmpty: true });
  const query = standIn.apiRequests().at(-1)?.query;
  expect([query?.get('timeMin'), query?.get('timeMax')]).toEqual([timeMin, timeMax]);
});

test('days begin in the time zone asked for, and nobody is asked for that of the calendar', async () => {
  const { call, standIn } = await startLab({
    calendars: calendarOf([]),
    now: () => Date.parse('2026-11-22T12:00:00Z'),
  });
  // Noon in London is the next day in Kiritimati already.
  expect(await call('list_calendar_events', { time_zone: 'Pacific/Kiritimati' })).toMatchObject({ isEmpty: true });
  const [list] = standIn.apiRequests();
  expect(list?.query.get('timeMin')).toBe('2026-11-22T10:00:00.000Z');
  expect(list?.query.get('timeZone')).toBe('Pacific/Kiritimati');
});

test.each([
  ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z'],
  ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z'],
  ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', '2018-11-05T02:00:00.000Z'],
  ['America/Havana', '2026-11-01', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
  ['Asia/Kathmandu', '2026-07-01', '2026-06-30T18:15:00.000Z', '2026-07-01T18:15:00.000Z'],
])('in %s the day %s is from %s to %s', async (timeZone, day, timeMin, timeMax) => {
  const { call, standIn } = await startLab({ calendars: calendarOf([], timeZone) });
  expect(await call('list_calendar_events', { from: day, to: day })).toMatchObject({ isEmpty: true });
  const query = standIn.apiRequests().at(-1)?.query;
  expect([query?.get('timeMin'), query?.get('timeMax')]).toEqual([timeMin, timeMax]);
});

test.each(['2026-13-01', '2026-02-30', 'tomorrow', '24.12.2026', ''])('the day %j is none', async (day) => {
  const { call, standIn } = await startLab({ calendars: calendarOf([]) });
  const message = 'Invalid date format. Use YYYY-MM-DD.\nInvalid date format. Use YYYY-MM-DD.';
  const days = { from: day, to: day };
  expect((await call('list_calendar_events', days)).failure).toMatchObject({ code: 'invalid_arguments', message });
  expect((await call('search_calendar_events', { query: 'x', ...days })).failure).toMatchObject({ message });
  expect(standIn.requests).toEqual([]);
});

test('a last day before the first is a retry that says so', async () => {
  const { call, standIn } = await startLab({ calendars: calendarOf([]) });
  const days = { from: '2026-12-24', to: '2026-12-23' };
  const violation = {
    code: 'retry_requested',
    message: "The last day, 2026-12-23, is before the first day, 2026-12-24. Send a 'to' that is not before 'from'.",
  };
  expect((await call('list_calendar_events', days)).failure).toMatchObject(violation);
  expect((await call('search_calendar_events', { query: 'x', ...days })).failure).toMatchObject(violation);
  // The first day is today then.
  expect((await call('list_calendar_events', { to: '2026-11-21' })).failure).toMatchObject({
    message: "The last day, 2026-11-21, is before the first day, 2026-11-22. Send a 'to' that is not before 'from'.",
  });
  expect(standIn.apiRequests().filter(({ path }) => path.endsWith('/events'))).toEqual([]);
});
