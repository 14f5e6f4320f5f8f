import { showText } from '@recourse/toolkit-kit/http';
import * as z from 'zod';
import { addDays, toTimeZone } from './calendar-days.ts';
import { joinLine, readTextLine, writeLink } from './email-text.ts';
import type { GoogleAccess } from './google-access.ts';
import { CALENDAR, type GoogleCall, type GoogleMeaning } from './google-call.ts';
import type { HideSecrets } from './hide-secrets.ts';

// A member of a wrong type is as good as none; only without an id there is nothing to tell of.
const Text = z.string().nullish().catch(null);
const Moment = z.object({ date: Text, dateTime: Text }).nullish().catch(null);

const CalendarEvent = z.object({
  id: z.string().min(1).max(1024),
  status: Text,
  summary: Text,
  description: Text,
  location: Text,
  htmlLink: Text,
  hangoutLink: Text,
  organizer: z.object({ email: Text, displayName: Text }).nullish().catch(null),
  start: Moment,
  end: Moment,
  attendees: z.array(z.unknown()).nullish().catch(null),
  attendeesOmitted: z.boolean().nullish().catch(null),
});
type CalendarEvent = z.output<typeof CalendarEvent>;

/** The members of the above, for `fields`: of an attendee hardly anything is sent. */
const EVENT_FIELDS =
  'items(id,status,summary,description,location,htmlLink,hangoutLink,organizer(email,displayName),start,end,attendees/responseStatus,attendeesOmitted),nextPageToken';

/** One event as the tools give it. */
export const Event = z.object({
  id: z.string(),
  summary: z.string(),
  start: z.string().nullable().describe('A time with its offset, or for an all-day event its first day.'),
  end: z.string().nullable().describe('A time with its offset, or for an all-day event its last day, included.'),
  all_day: z.boolean(),
  location: z.string().nullable(),
  organizer: z.string().nullable(),
  status: z.string().describe('confirmed, or tentative.'),
  attendees: z.int().optional().describe('Number of invited people; absent if the calendar does not show it.'),
  description: z.string().nullable().describe('The beginning of its description, as plain text.'),
  link: z.string().nullable().describe('The event in Google Calendar.'),
  meeting_link: z.string().nullable().describe('The link to its video call.'),
});
export type Event = z.output<typeof Event>;

const MOST_SHOWN = 300;
const MOST_DESCRIBED = 1000;

/** Whether an event was not cancelled. */
export const isToTakePlace = ({ status }: CalendarEvent): boolean => status !== 'cancelled';

/** An event of Google's, its texts without these secrets, and cut. */
export const toEvent = (event: CalendarEvent, hide: HideSecrets): Event => {
  const describeShown = (text: string | null | undefined): string | null => {
    const line = joinLine(text ?? '', { most: MOST_SHOWN, hide });
    return line === '' ? null : line;
  };
  const start = toMoment(event.start);
  return {
    id: hide(event.id),
    summary: describeShown(event.summary) ?? '(no title)',
    start: start?.text ?? null,
    end: toEnd(event, start),
    all_day: start?.isDay ?? false,
    location: describeShown(event.location),
    organizer: describeShown(event.organizer?.displayName) ?? describeShown(event.organizer?.email),
    status: describeShown(event.status) ?? 'confirmed',
    ...(event.attendeesOmitted === true ? {} : { attendees: event.attendees?.length ?? 0 }),
    description: event.description ? readTextLine(event.description, { most: MOST_DESCRIBED, hide }) : null,
    link: writeLink(event.htmlLink, hide),
    meeting_link: writeLink(event.hangoutLink, hide),
  };
};

type Shown = { readonly text: string; readonly isDay: boolean };

const DayText = z.iso.date();
const TimeText = z.iso.datetime({ offset: true, local: true }).max(64);

const toMoment = (moment: CalendarEvent['start']): Shown | null => {
  const day = DayText.safeParse(moment?.date);
  if (day.success) return { text: day.data, isDay: true };
  const time = TimeText.safeParse(moment?.dateTime);
  return time.success ? { text: time.data, isDay: false } : null;
};

/** Google's end of an all-day event is the day after it, which people and models take for a part of it. */
const toEnd = (event: CalendarEvent, start: Shown | null): string | null => {
  const end = toMoment(event.end);
  if (end === null || !end.isDay) return end?.text ?? null;
  const last = addDays(end.text, -1);
  return start !== null && last < start.text ? start.text : last;
};

/** The largest page that is asked for, and taken. */
export const MOST_ON_PAGE = 50;

type EventQuery = {
  readonly calendarId: string;
  readonly timeMin: string;
  readonly timeMax: string;
  readonly timeZone?: string;
  readonly q?: string;
  readonly maxResults: number;
  readonly pageToken?: string;
};

// With the first call: the library has some ten thousand lines.
const openCalendar = async () => (await import('@googleapis/calendar')).calendar('v3');

const EventList = z.object({
  items: z.array(CalendarEvent).max(MOST_ON_PAGE).nullish(),
  nextPageToken: z.string().nullish(),
});

/** One page of events in the order of their start, each time of a recurring one by itself. Rejects as `GoogleAccess.read` does. */
export const listEvents = (google: GoogleAccess, query: EventQuery, call: GoogleCall) =>
  google.read(
    CALENDAR,
    async (auth, options) =>
      (await openCalendar()).events.list(
        { auth, singleEvents: true, orderBy: 'startTime', fields: EVENT_FIELDS, ...query },
        { ...options },
      ),
    EventList,
    call,
    explainMeaning(query.calendarId),
  );

const Calendar = z.object({ timeZone: z.string().max(64).nullish() });

/** The time zone of a calendar; UTC where the calendar, or this system, knows none. Rejects as `GoogleAccess.read` does. */
export const readTimeZone = async (google: GoogleAccess, calendarId: string, call: GoogleCall): Promise<string> => {
  const { timeZone } = await google.read(
    CALENDAR,
    async (auth, options) =>
      (await openCalendar()).calendars.get({ auth, calendarId, fields: 'timeZone' }, { ...options }),
    Calendar,
    call,
    explainMeaning(calendarId),
  );
  return toTimeZone(timeZone ?? 'UTC') ?? 'UTC';
};

const explainMeaning = (calendarId: string): GoogleMeaning => ({
  missing: (account) =>
    `There is no calendar '${showText(calendarId, 100)}', or it is not shared with ${account ?? 'the user who signed in'}. Use primary, or the id of a calendar, usually the email address of its owner.`,
});
