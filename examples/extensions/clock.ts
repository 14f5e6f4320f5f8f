import { defineTool, ok, z } from 'recourse-server';
import { Counter, defineExtension } from 'recourse-server/extension';

// A clock: a tool, a route, a page of the console and a metric. Start: EXTENSIONS=./examples/extensions/clock.ts npm start

const Zone = z.string().refine((zone) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== null;
  } catch {
    return false;
  }
}, 'must be the name of a time zone, for example Europe/Vienna');

const tellTime = (timeZone: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone }).format();

/** What the console shows: `ask` sends the reader's key with it. */
const PAGE = `export const show = async (root, ask) => {
  const tick = async () => { root.textContent = (await ask('clock')).time; };
  await tick();
  const timer = setInterval(tick, 1000);
  return () => clearInterval(timer);
};`;

export const extension = defineExtension({
  name: 'clock',
  settings: { CLOCK_ZONE: Zone.default('UTC').describe('The time zone of the clock.') },
  open: async ({ CLOCK_ZONE }, { metrics, log }) => {
    const asked = new Counter({ name: 'clock_asked_total', help: 'Times told.', registers: [metrics] });
    const tell = (zone: string): string => {
      asked.inc();
      return tellTime(zone);
    };
    const clock = defineTool({
      name: 'tell_time',
      description: 'Tells the date and the time.',
      effects: 'read',
      input: z.object({ zone: Zone.default(CLOCK_ZONE).describe('A time zone, such as Asia/Tokyo.') }),
      run: ({ zone }) => ok({ zone, time: tell(zone) }),
    });
    return {
      tools: [clock],
      addRoutes: (app, { callerOf }) => {
        app.get('/clock', (request) => ({ tenant: callerOf(request).tenant, time: tell(CLOCK_ZONE) }));
      },
      links: { clock: '/clock' },
      consolePage: { title: 'Clock', script: PAGE },
      close: async () => log.info({ zone: CLOCK_ZONE }, 'the clock has stopped'),
    };
  },
});
