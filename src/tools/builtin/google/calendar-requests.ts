import * as z from 'zod';
import { showText } from '../../http/show-url.ts';
import { toTimeZone } from './calendar-days.ts';
import { CalendarEvent, EVENT_FIELDS } from './event-details.ts';
import { CALENDAR, type GoogleAccess, type GoogleCall, type GoogleMeaning } from './google-access.ts';

/** The largest page that is asked for, and taken. */
export const MOST_ON_PAGE = 50;

/** Which events events.list shall give. Times are RFC 3339. */
export type EventQuery = {
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
    toMeaning(query.calendarId),
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
    toMeaning(calendarId),
  );
  return toTimeZone(timeZone ?? 'UTC') ?? 'UTC';
};

const toMeaning = (calendarId: string): GoogleMeaning => ({
  missing: (account) =>
    `There is no calendar '${showText(calendarId, 100)}', or it is not shared with ${account ?? 'the user who signed in'}. Use primary, or the id of a calendar, which is mostly the email address of its owner.`,
});
