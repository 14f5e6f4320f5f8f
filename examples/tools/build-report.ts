// A tool whose calls may go on after their request: it reports progress, shows pages as they come, and can be cancelled.
import { setTimeout as pause } from 'node:timers/promises';
import { defineTool, z } from 'recourse-server';

export const buildReport = defineTool({
  name: 'build_report',
  description: 'Builds a report, one page a second. Returns the number of pages.',
  effects: 'read',
  background: 'optional',
  timeoutMs: 60_000,
  maxDurationMs: 10 * 60_000,
  input: z.object({ pages: z.int().min(1).max(300) }),
  output: z.object({ pages: z.int() }),
  run: async function* ({ pages }, { progress, signal }) {
    for (let page = 1; page <= pages; page += 1) {
      await pause(1_000, undefined, { signal });
      progress({ progress: page, total: pages, message: `page ${page}` });
      yield { page };
    }
    return { pages };
  },
});
