import * as z from 'zod';
import { defineTool } from '../../define-tool.ts';
import type { InlineTool } from '../../tool.ts';
import { addDays, Day } from './calendar-days.ts';
import { answerEvents, type CalendarToolOptions, EventPage, eventPageInput } from './event-page.ts';

const ListCalendarEventsInput = z.object({
  from: Day.optional().describe('The first day, YYYY-MM-DD. Default: today.'),
  to: Day.optional().describe('The last day, included, YYYY-MM-DD. Default: six days after the first.'),
  ...eventPageInput,
});

/** `list_calendar_events`: what takes place on some days, a week from today by default. */
export const createListCalendarEvents = (options: CalendarToolOptions): InlineTool =>
  // The page's list is a member named at run time: its type is checked with each call, not by the compiler.
  defineTool<typeof ListCalendarEventsInput, z.ZodType>({
    name: 'list_calendar_events',
    description:
      'Lists the events of a Google calendar from one day to another, both included; by default the seven days from today. Events that go on on the first day are listed, too, each time of a recurring event by itself, cancelled ones never. Returns summary, start, end, all_day, location, organizer, status, number of attendees, description and links, in the order of their start. Comes in pages: where has_more is true, call again with page + 1.',
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
