import { defineExtension, flag } from 'recourse-server/extension';
import * as z from 'zod';

// The id stands behind the host: nothing else decides where the link leads.
const traceUrl = z
  .string()
  .regex(
    /^https?:\/\/[^\s/?#{}@]+\/\S*\{trace_id\}\S*$/,
    'must be an http:// or https:// address with {trace_id} behind its host',
  )
  .refine((text) => URL.canParse(text), 'must be an address')
  .default('');

/** The pages at `/console`. */
export const extension = defineExtension({
  name: 'console',
  settings: {
    CONSOLE: flag(true).describe('Serve the console at `/console`.'),
    TRACE_URL: traceUrl.describe(
      'Where the console links a failed call to its trace: an address with `{trace_id}`, such as `https://jaeger.example.com/trace/{trace_id}`. Readable without a key.',
    ),
  },
  open: async ({ CONSOLE, TRACE_URL }) => {
    if (!CONSOLE) return null;
    const { addConsoleRoutes } = await import('./console-routes.ts');
    return {
      addRoutes: (app, { consolePages }) => addConsoleRoutes(app, consolePages, TRACE_URL),
      links: { console: '/console' },
    };
  },
});
