import type { GoogleStandIn, StandInRoute } from '@recourse/test-support/google/google-stand-in.ts';
import { createCalendarTools } from '#src/calendar-tools.ts';
import { createMailTools } from '#src/mail-tools.ts';
import { createCalendarRoutes, type StoredCalendar } from './calendar-routes.ts';
import { createGmailRoutes, type Mailbox } from './gmail-routes.ts';
import { type CallEnd, callTool, type GoogleLabOptions, startGoogleLab } from './google-lab.ts';

/** What a call gave: its value and whether it was said to be empty, or how it failed. */
export type Outcome = {
  readonly value: unknown;
  readonly isEmpty: boolean;
  readonly failure: Extract<CallEnd, { readonly kind: 'failure' }> | undefined;
};

export type CallByName = (
  name: string,
  input?: Readonly<Record<string, unknown>>,
  context?: Parameters<typeof callTool>[2],
) => Promise<Outcome>;

export type MailAndCalendarLab = { readonly standIn: GoogleStandIn; readonly call: CallByName };

export type MailAndCalendarLabOptions = Partial<GoogleLabOptions> & {
  readonly mailbox?: Mailbox;
  readonly calendars?: ReadonlyMap<string, StoredCalendar>;
  /** Asked before those of the mailbox and the calendars. */
  readonly routes?: readonly StandInRoute[];
  readonly now?: () => number;
};

/** Sunday noon in London. */
export const NOW = Date.parse('2026-11-22T12:00:00Z');

/** The mail and calendar tools on Google's own client libraries, and the Google that they talk to. Ends with the test. */
export const startLab = async (options: MailAndCalendarLabOptions = {}): Promise<MailAndCalendarLab> => {
  const { mailbox = { messages: [] }, calendars = new Map(), routes = [], now = () => NOW, ...rest } = options;
  const { standIn, google, pageTokens } = await startGoogleLab({
    subject: 'anna@example.com',
    ...rest,
    routes: [...routes, ...createGmailRoutes(mailbox), ...createCalendarRoutes(calendars)],
  });
  const tools = [...createMailTools({ google, pageTokens }), ...createCalendarTools({ google, pageTokens, now })];
  return {
    standIn,
    call: async (name, input = {}, context = {}) => {
      const tool = tools.find((one) => one.name === name);
      if (tool === undefined) throw new Error(`There is no tool ${name}.`);
      return toOutcome(await callTool(tool, input, context));
    },
  };
};

const toOutcome = (end: CallEnd): Outcome =>
  end.kind === 'failure'
    ? { value: undefined, isEmpty: false, failure: end }
    : { value: end.value, isEmpty: end.kind === 'empty', failure: undefined };
