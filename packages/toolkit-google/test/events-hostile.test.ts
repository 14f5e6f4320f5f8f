import { expect, test } from 'vitest';
import { createEvent } from '#test/support/calendar-routes.ts';
import { startLab } from '#test/support/gmail-and-calendar-lab.ts';

const read = async (event: Readonly<Record<string, unknown>>, timeZone = 'UTC') => {
  const { call } = await startLab({ calendars: new Map([['primary', { timeZone, events: [event] }]]) });
  return call('list_calendar_events');
};

const at = (members: Readonly<Record<string, unknown>>) =>
  createEvent('a', '2026-11-23T09:00:00Z', '2026-11-23T10:00:00Z', members);

test('texts of any size are cut, and ten thousand attendees are a number', async () => {
  const huge = '<b>x</b> '.repeat(100_000);
  const attendees = Array.from({ length: 10_000 }, (_, place) => ({
    email: `guest${place}@example.com`,
    responseStatus: 'needsAction',
  }));
  const members = { summary: huge, location: huge, description: huge, organizer: { displayName: huge }, attendees };
  const { value } = await read(at({ ...members, htmlLink: `https://x/${huge}`, status: huge }));
  expect(value).toMatchObject({ count: 1, events: [{ attendees: 10_000, link: null }] });
  expect(JSON.stringify(value).length).toBeLessThan(5000);
});

test('control, bidi and hidden characters become blanks', async () => {
  const { value } = await read(
    at({ summary: '\u001b[31mPay\u0000 \u202enow\u{e0041}', description: 'a&#27;[2Jb\u2028c' }),
  );
  expect(value).toMatchObject({ events: [{ summary: '[31mPay now', description: 'a [2Jb c' }] });
});

test.each([
  ['without a start', at({ start: undefined, end: undefined }), { start: null, end: null, all_day: false }],
  [
    'with a start that is none',
    at({ start: { dateTime: 'soon' }, end: { date: '2026-13-01' } }),
    { start: null, end: null },
  ],
  [
    'that ends before it begins',
    createEvent('a', '2026-11-24', '2026-11-24'),
    { start: '2026-11-24', end: '2026-11-24' },
  ],
  ['with guests that are not told', at({ attendees: [{ self: true }], attendeesOmitted: true }), { id: 'a' }],
])('an event %s is told as far as it is known', async (_what, event, expected) => {
  expect((await read(event)).value).toMatchObject({ count: 1, events: [expected] });
});

test('where guests were left out of the answer, no number is told', async () => {
  const { value } = await read(at({ attendees: [{ self: true }], attendeesOmitted: true }));
  expect(JSON.stringify(value)).not.toContain('attendees');
});

test('members of wrong types and unknown ones change nothing else', async () => {
  const wrong = { summary: 7, description: {}, location: null, organizer: 'Anna', attendees: 'all', status: false };
  const { value } = await read(at({ ...wrong, htmlLink: 'javascript:alert(1)', hangoutLink: 'http://x', secret: 'x' }));
  expect(value).toMatchObject({
    events: [
      {
        id: 'a',
        summary: '(no title)',
        start: '2026-11-23T09:00:00Z',
        location: null,
        organizer: null,
        status: 'confirmed',
        attendees: 0,
        description: null,
        link: null,
        meeting_link: null,
      },
    ],
  });
  expect(JSON.stringify(value)).not.toContain('secret');
});

test.each(['Mars/Base', '', '\u0000'])('a calendar whose time zone is %j has the days of UTC', async (timeZone) => {
  expect((await read(at({}), timeZone)).value).toMatchObject({ count: 1 });
});

const UNREADABLE = {
  code: 'upstream_unavailable',
  message: 'Google Calendar sent an answer that cannot be read. Try again later.',
};

test.each(['[]', 'null', '{"timeZone":7}'])('a calendar such as %s cannot be read', async (body) => {
  const { call, standIn } = await startLab();
  standIn.fault({ kind: 'body', body });
  expect((await call('list_calendar_events')).failure).toMatchObject(UNREADABLE);
});

test.each([
  ['an array', '[]'],
  ['null', 'null'],
  ['items that are no array', '{"items":{}}'],
  ['an event that is null', '{"items":[null]}'],
  ['an event without an id', '{"items":[{"summary":"x"}]}'],
  ['an id that is a number', '{"items":[{"id":7}]}'],
  ['one of 51', JSON.stringify({ items: Array.from({ length: 51 }, (_, place) => ({ id: `e${place}` })) })],
  ['a token that is an object', '{"items":[],"nextPageToken":{}}'],
])('a list such as %s cannot be read', async (_what, body) => {
  const { call, standIn } = await startLab();
  standIn.fault({ kind: 'body', body });
  expect((await call('list_calendar_events', { time_zone: 'UTC' })).failure).toMatchObject(UNREADABLE);
});
