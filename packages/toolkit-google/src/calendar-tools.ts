import { isPageToken, pageShape } from '@recourse/toolkit-kit/page-answers';
import { answerChainedPage } from '@recourse/toolkit-kit/paging/page-chain';
import { defineTool, RetryableToolError } from 'recourse-server';
import type { InlineTool, PageTokens, ToolContext } from 'recourse-server/extension';
import * as z from 'zod';
import { addDays, Day, dayAt, startOfDay, TimeZone } from './calendar-days.ts';
import { Event, isToTakePlace, listEvents, MOST_ON_PAGE, readTimeZone, toEvent } from './calendar-requests.ts';
import { mapInSteps, WellFormedText } from './email-text.ts';
import type { GoogleAccess } from './google-access.ts';
import { beginGoogleCall, createTokenHider, type GoogleCall } from './google-call.ts';

type CalendarToolOptions = {
  readonly google: GoogleAccess;
  readonly pageTokens: PageTokens;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
};

const EventPage = z.object({ ...pageShape, events: z.array(Event) });

const eventPageInput = {
  calendar_id: WellFormedText.max(300)
    .regex(/^[^\s/\\]*[^\s/\\.][^\s/\\]*$/, 'must be primary, or the id of a calendar, such as anna@example.com')
    .default('primary')
    .describe("The calendar: primary for the user's own, or an id, usually the email address of its owner.")
    .meta({ examples: ['primary'] }),
  time_zone: TimeZone.optional().describe('The time zone for days and times. Default: that of the calendar.'),
  page: z.int().min(1).max(1000).default(1).describe('Request pages in order, with the other arguments unchanged.'),
  page_size: z.int().min(1).max(MOST_ON_PAGE).default(25).describe('Events per page.'),
};

type Days = { readonly from: string; readonly to: string };

type EventPageRequest = {
  readonly tool: string;
  readonly verb: 'List' | 'Search';
  /** The arguments of the call. */
  readonly input: {
    readonly calendar_id: string;
    readonly time_zone?: string | undefined;
    readonly page: number;
    readonly page_size: number;
  } & Readonly<Record<string, unknown>>;
  readonly q?: string;
  /** The days that are wanted, given today's. */
  readonly toDays: (today: string) => Days;
};

const answerEvents = (
  options: CalendarToolOptions,
  { tool, verb, input: { page, ...query }, q, toDays }: EventPageRequest,
  context: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
) => {
  const call = beginGoogleCall(context);
  const read = async (stored: string | undefined) => {
    const { pageToken, ...range } =
      stored === undefined ? await decideRange(options, query, toDays, call) : pickShown(stored);
    const { calendar_id: calendarId, time_zone: timeZone, page_size: maxResults } = query;
    const given = Object.entries({ q, timeZone, pageToken }).filter(([, value]) => value !== undefined);
    const wanted = { calendarId, maxResults, ...range, ...Object.fromEntries(given) };
    const { items, nextPageToken } = await listEvents(options.google, wanted, call);
    const hide = createTokenHider(call);
    return {
      items: await mapInSteps((items ?? []).filter(isToTakePlace), (event) => toEvent(event, hide)),
      nextToken: nextPageToken ? `${range.timeMin} ${range.timeMax} ${nextPageToken}` : null,
    };
  };
  const words = { one: 'event', many: 'events' };
  const tokens = describeDays(options.pageTokens);
  return answerChainedPage({ words, key: 'events', tool, verb, query, tokens, page, context, read });
};

type Range = { readonly timeMin: string; readonly timeMax: string; readonly pageToken?: string | undefined };

/** The range goes with the token: Google wants the very same on every page, and a page may be asked for on another day. */
const pickShown = (kept: string): Range & { readonly pageToken: string } => {
  const [timeMin = '', timeMax = '', ...pageToken] = kept.split(' ');
  return { timeMin, timeMax, pageToken: pageToken.join(' ') };
};

const RangeTime = z.iso.datetime();

/** What a store gives that is none of what is kept here counts as not kept. */
const describeDays = (tokens: PageTokens): PageTokens => ({
  ...tokens,
  find: async (list, page) => {
    const kept = await tokens.find(list, page);
    if (kept === null) return null;
    const { timeMin, timeMax, pageToken } = pickShown(kept);
    const isReadable = [timeMin, timeMax].every((time) => RangeTime.safeParse(time).success) && isPageToken(pageToken);
    return isReadable ? kept : null;
  },
});

const decideRange = async (
  { google, now = Date.now }: CalendarToolOptions,
  { calendar_id: calendarId, time_zone }: { readonly calendar_id: string; readonly time_zone?: string | undefined },
  toDays: EventPageRequest['toDays'],
  call: GoogleCall,
): Promise<Range> => {
  const zone = time_zone ?? (await readTimeZone(google, calendarId, call));
  const { from, to } = toDays(dayAt(now(), zone));
  if (to < from)
    throw new RetryableToolError(
      `The last day, ${to}, is before the first day, ${from}. Send a 'to' that is not before 'from'.`,
    );
  const timeOf = (day: string): string => new Date(startOfDay(day, zone)).toISOString();
  return { timeMin: timeOf(from), timeMax: timeOf(addDays(to, 1)) };
};

const ListCalendarEventsInput = z.object({
  from: Day.optional().describe('The first day, YYYY-MM-DD. Default: today.'),
  to: Day.optional().describe('The last day, included, YYYY-MM-DD. Default: six days after the first.'),
  ...eventPageInput,
});

const createListCalendarEvents = (options: CalendarToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListCalendarEventsInput, z.ZodType>({
    name: 'list_calendar_events',
    description:
      'Lists the events of a Google calendar from one day to another, both included; by default the seven days from today. Includes events that are still running on the first day, and each occurrence of a recurring event; cancelled ones are omitted. Returns summary, start, end, all_day, location, organizer, status, number of attendees, description and links, in the order of their start. Results come in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: ListCalendarEventsInput,
    output: EventPage,
    run: (input, context) => {
      const toDays = (today: string) => {
        const from = input.from ?? today;
        return { from, to: input.to ?? addDays(from, 6) };
      };
      return answerEvents(options, { tool: 'list_calendar_events', verb: 'List', input, toDays }, context);
    },
  });

const SearchCalendarEventsInput = z.object({
  query: WellFormedText.max(1000)
    .regex(/\S/, 'must not be blank')
    .describe(
      'Words to search in title, description, location, and names and addresses of organizer and attendees. All must match.',
    )
    .meta({ examples: ['platform sync'] }),
  from: Day.optional().describe('The first day, YYYY-MM-DD. Default: 30 days ago, or a year before to.'),
  to: Day.optional().describe('The last day, included, YYYY-MM-DD. Default: in a year, or a year after from.'),
  ...eventPageInput,
});

const createSearchCalendarEvents = (options: CalendarToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof SearchCalendarEventsInput, z.ZodType>({
    name: 'search_calendar_events',
    description:
      'Finds events of a Google calendar by words, by default from 30 days ago to a year ahead; send from and to for other days. Each occurrence of a recurring event is listed; cancelled ones are omitted. Returns summary, start, end, all_day, location, organizer, status, number of attendees, description and links, in the order of their start. Results come in pages: if has_more is true, call again with page + 1.',
    effects: 'read',
    input: SearchCalendarEventsInput,
    output: EventPage,
    run: (input, context) => {
      const toDays = (today: string) => decideSearchedDays(input, today);
      const { query: q } = input;
      return answerEvents(options, { tool: 'search_calendar_events', verb: 'Search', input, q, toDays }, context);
    },
  });

const YEAR = 365;

const decideSearchedDays = (
  { from, to }: { from?: string | undefined; to?: string | undefined },
  today: string,
): Days => {
  if (from !== undefined) return { from, to: to ?? addDays(from, YEAR) };
  return to === undefined ? { from: addDays(today, -30), to: addDays(today, YEAR) } : { from: addDays(to, -YEAR), to };
};

/** The tools of the group `calendar`. */
export const createCalendarTools = (options: CalendarToolOptions): readonly InlineTool[] => [
  createListCalendarEvents(options),
  createSearchCalendarEvents(options),
];
