import * as z from 'zod';
import { isPageToken, type PageTokens } from '../../page-tokens.ts';
import type { ToolContext } from '../../tool.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { answerPage, pageShape } from '../answers.ts';
import { openPageChain } from '../paging/page-chain.ts';
import { addDays, dayAt, startOfDay, TimeZone } from './calendar-days.ts';
import { listEvents, MOST_ON_PAGE, readTimeZone } from './calendar-requests.ts';
import { Event, isToTakePlace, toEvent } from './event-details.ts';
import type { GoogleAccess, GoogleCall } from './google-access.ts';
import { beginGoogleCall, toTokenHider } from './google-call.ts';
import { mapInSteps } from './map-in-steps.ts';
import { WellFormedText } from './well-formed-text.ts';

export type CalendarToolOptions = {
  readonly google: GoogleAccess;
  readonly pageTokens: PageTokens;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
};

export const EventPage = z.object({ ...pageShape, events: z.array(Event) });

/** The arguments that say which calendar, which page, and how large. */
export const eventPageInput = {
  calendar_id: WellFormedText.max(300)
    .regex(/^[^\s/\\]*[^\s/\\.][^\s/\\]*$/, 'must be primary, or the id of a calendar, such as anna@example.com')
    .default('primary')
    .describe('The calendar: primary for the own one, or an id, mostly the email address of its owner.')
    .meta({ examples: ['primary'] }),
  time_zone: TimeZone.optional().describe(
    "The time zone in which days begin and times are told. Default: the calendar's own.",
  ),
  page: z.int().min(1).max(1000).default(1).describe('Pages are read in order, with the same other arguments.'),
  page_size: z.int().min(1).max(MOST_ON_PAGE).default(25).describe('Events on a page.'),
};

/** First and last day, both included. */
export type Days = { readonly from: string; readonly to: string };

export type EventPageRequest = {
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

/** One page of events. */
export const answerEvents = async (
  options: CalendarToolOptions,
  { tool, verb, input: { page, ...query }, q, toDays }: EventPageRequest,
  context: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
) => {
  const call = beginGoogleCall(context);
  const chain = openPageChain({ tokens: toReadable(options.pageTokens), tool, verb, query, context });
  const kept = await chain.tokenOf(page);
  const { pageToken, ...range } = kept === undefined ? await toRange(options, query, toDays, call) : toKept(kept);
  const { calendar_id: calendarId, time_zone: timeZone, page_size: maxResults } = query;
  const given = Object.entries({ q, timeZone, pageToken }).filter(([, value]) => value !== undefined);
  const wanted = { calendarId, maxResults, ...range, ...Object.fromEntries(given) };
  const { items, nextPageToken } = await listEvents(options.google, wanted, call);
  const next = nextPageToken ? `${range.timeMin} ${range.timeMax} ${nextPageToken}` : null;
  const hasMore = await chain.keepNext(page, next);
  const hide = toTokenHider(call);
  return answerPage({
    words: { one: 'event', many: 'events' },
    key: 'events',
    items: await mapInSteps((items ?? []).filter(isToTakePlace), (event) => toEvent(event, hide)),
    page,
    hasMore,
    keepsPages: chain.keepsPages,
  });
};

type Range = { readonly timeMin: string; readonly timeMax: string; readonly pageToken?: string | undefined };

/** The range goes with the token: Google wants the very same on every page, and a page may be asked for on another day. */
const toKept = (kept: string): Range & { readonly pageToken: string } => {
  const [timeMin = '', timeMax = '', ...pageToken] = kept.split(' ');
  return { timeMin, timeMax, pageToken: pageToken.join(' ') };
};

const RangeTime = z.iso.datetime();

/** What a store gives that is none of what is kept here counts as not kept. */
const toReadable = (tokens: PageTokens): PageTokens => ({
  ...tokens,
  find: async (list, page) => {
    const kept = await tokens.find(list, page);
    if (kept === null) return null;
    const { timeMin, timeMax, pageToken } = toKept(kept);
    const isReadable = [timeMin, timeMax].every((time) => RangeTime.safeParse(time).success) && isPageToken(pageToken);
    return isReadable ? kept : null;
  },
});

const toRange = async (
  { google, now = Date.now }: CalendarToolOptions,
  { calendar_id: calendarId, time_zone }: { readonly calendar_id: string; readonly time_zone?: string | undefined },
  toDays: EventPageRequest['toDays'],
  call: GoogleCall,
): Promise<Range> => {
  const zone = time_zone ?? (await readTimeZone(google, calendarId, call));
  const { from, to } = toDays(dayAt(now(), zone));
  if (to < from)
    throw new RetryableToolError(
      `The last day, ${to}, is before the first day, ${from}. Send 'from' and 'to' so that 'to' is not before 'from'.`,
    );
  const timeOf = (day: string): string => new Date(startOfDay(day, zone)).toISOString();
  return { timeMin: timeOf(from), timeMax: timeOf(addDays(to, 1)) };
};
