import type { InlineTool } from '../../tool.ts';
import type { CalendarToolOptions } from './event-page.ts';
import { createListCalendarEvents } from './list-calendar-events.ts';
import { createSearchCalendarEvents } from './search-calendar-events.ts';

/** The tools of the group `calendar`. */
export const createCalendarTools = (options: CalendarToolOptions): readonly InlineTool[] => [
  createListCalendarEvents(options),
  createSearchCalendarEvents(options),
];
