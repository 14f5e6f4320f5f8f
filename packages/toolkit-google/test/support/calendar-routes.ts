import {
  type StandInAnswer,
  type StandInRequest,
  type StandInRoute,
  toError,
} from '@recourse/test-support/google/google-stand-in.ts';
import { cutPage, pickFields } from './gmail-routes.ts';

type Shape = Readonly<Record<string, unknown>>;

/** Events as Google's JSON has them; one with `recurrence` (`RRULE:FREQ=DAILY;COUNT=3`) is told as its instances. */
export type StoredCalendar = { readonly timeZone: string; readonly events: readonly Shape[] };

const PATH = /^\/calendar\/v3\/calendars\/([^/]+)(\/events)?$/;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Google Calendar, as far as the calendar tools ask it (calendars.get, events.list), by the ids of the calendars. */
export const createCalendarRoutes = (calendars: ReadonlyMap<string, StoredCalendar>): readonly StandInRoute[] => [
  (request) => {
    const [, id, events] = PATH.exec(request.path) ?? [];
    if (id === undefined) return undefined;
    const calendar = calendars.get(decodeURIComponent(id));
    if (calendar === undefined) return toError(404, 'notFound', 'Not Found');
    if (events !== undefined) return list(calendar, request);
    const whole = { kind: 'calendar#calendar', id, summary: 'Work', timeZone: calendar.timeZone };
    return { body: pickFields(whole, request.query.get('fields')) };
  },
];

/** `count` events of an hour each, one an hour from 2026-11-22T06:00:00Z on: `e1`, `e2`, … */
export const createEvents = (count: number): readonly Shape[] =>
  Array.from({ length: count }, (_, place) => {
    const start = Date.parse('2026-11-22T06:00:00Z') + place * 3_600_000;
    return createEvent(`e${place + 1}`, new Date(start).toISOString(), new Date(start + 3_600_000).toISOString(), {
      summary: `Event ${place + 1}`,
    });
  });

/** An event as Google tells it, with the members that every event has. */
export const createEvent = (id: string, start: string, end: string, members: Shape = {}): Shape => ({
  kind: 'calendar#event',
  etag: '"3181161784712000"',
  id,
  status: 'confirmed',
  htmlLink: `https://www.google.com/calendar/event?eid=${id}`,
  created: '2026-01-01T00:00:00.000Z',
  iCalUID: `${id}@google.com`,
  sequence: 0,
  creator: { email: 'anna@example.com' },
  organizer: { email: 'anna@example.com', displayName: 'Anna' },
  start: toMoment(start),
  end: toMoment(end),
  eventType: 'default',
  ...members,
});

const toMoment = (text: string): Shape => (text.length === 10 ? { date: text } : { dateTime: text, timeZone: 'UTC' });

const list = (calendar: StoredCalendar, { query }: StandInRequest): StandInAnswer => {
  const [timeMin = '', timeMax = ''] = [query.get('timeMin') ?? '', query.get('timeMax') ?? ''];
  if (!RFC_3339.test(timeMin) || !RFC_3339.test(timeMax)) return toError(400, 'badRequest', 'Bad Request');
  if (timeMin >= timeMax) return toError(400, 'timeRangeEmpty', 'The specified time range is empty.');
  if (query.get('singleEvents') !== 'true' || query.get('orderBy') !== 'startTime')
    return toError(400, 'badRequest', 'The requested ordering is not available for the particular query.');
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/);
  const found = calendar.events
    .flatMap(expand)
    .filter((event) => startOf(event) < Date.parse(timeMax) && endOf(event) > Date.parse(timeMin))
    .filter((event) => words.every((word) => toText(event).includes(word)))
    .toSorted((one, other) => startOf(one) - startOf(other));
  const page = cutPage(found, query);
  if (page === null) return toError(400, 'invalid', 'Invalid page token value.');
  const next = page.next === undefined ? { nextSyncToken: 'CPDA' } : { nextPageToken: page.next };
  const whole = { kind: 'calendar#events', summary: 'Work', timeZone: calendar.timeZone, items: page.items, ...next };
  return { body: pickFields(whole, query.get('fields')) };
};

const expand = (event: Shape): readonly Shape[] => {
  const [, count] = /^RRULE:FREQ=DAILY;COUNT=(\d+)$/.exec(String([event['recurrence']].flat()[0])) ?? [];
  if (count === undefined) return [event];
  const { recurrence: _, ...single } = event;
  return Array.from({ length: Number(count) }, (_unused, day) => {
    const start = new Date(startOf(event) + day * 86_400_000).toISOString();
    const end = new Date(endOf(event) + day * 86_400_000).toISOString();
    const id = `${String(event['id'])}_${start.replace(/[-:]|\.000/g, '')}`;
    return { ...single, id, recurringEventId: event['id'], start: toMoment(start), end: toMoment(end) };
  });
};

const timeOf = (moment: unknown, other: number): number => {
  if (typeof moment !== 'object' || moment === null) return other;
  const { date, dateTime }: Shape = { ...moment };
  const timeMs = Date.parse(String(dateTime ?? date));
  return Number.isNaN(timeMs) ? other : timeMs;
};

// One without a time is told whatever the range is.
const startOf = (event: Shape): number => timeOf(event['start'], 0);
const endOf = (event: Shape): number => timeOf(event['end'], Number.MAX_VALUE);

const toText = ({ summary = '', description = '', location = '' }: Shape): string =>
  [summary, description, location].map(String).join(' ').toLowerCase();
