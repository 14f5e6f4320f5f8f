import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { addDays, Day } from './calendar-days.ts';
import { answerEvents, type CalendarToolOptions, type Days, EventPage, eventPageInput } from './event-page.ts';
import { WellFormedText } from './well-formed-text.ts';

const SearchCalendarEventsInput = z.object({
  query: WellFormedText.max(1000)
    .regex(/\S/, 'must not be blank')
    .describe(
      'Words that are looked for in title, description, location, and names and addresses of organizer and attendees. All must be there.',
    )
    .meta({ examples: ['platform sync'] }),
  from: Day.optional().describe('The first day, YYYY-MM-DD. Default: 30 days ago, or a year before to.'),
  to: Day.optional().describe('The last day, included, YYYY-MM-DD. Default: in a year, or a year after from.'),
  ...eventPageInput,
});

/** `search_calendar_events`: events with some words, a month back and a year ahead by default. */
export const createSearchCalendarEvents = (options: CalendarToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof SearchCalendarEventsInput, z.ZodType>({
    name: 'search_calendar_events',
    description:
      'Finds events of a Google calendar by words, by default from 30 days ago to a year ahead; send from and to for other days. Each time of a recurring event is found by itself, cancelled ones never. Returns summary, start, end, all_day, location, organizer, status, number of attendees, description and links, in the order of their start. Comes in pages: where has_more is true, call again with page + 1.',
    effects: 'read',
    input: SearchCalendarEventsInput,
    output: EventPage,
    run: (input, context) => {
      const toDays = (today: string) => toSearchedDays(input, today);
      const { query: q } = input;
      return answerEvents(options, { tool: 'search_calendar_events', verb: 'Search', input, q, toDays }, context);
    },
  });

const YEAR = 365;

const toSearchedDays = ({ from, to }: { from?: string | undefined; to?: string | undefined }, today: string): Days => {
  if (from !== undefined) return { from, to: to ?? addDays(from, YEAR) };
  return to === undefined ? { from: addDays(today, -30), to: addDays(today, YEAR) } : { from: addDays(to, -YEAR), to };
};
