import { setTimeout as pause } from 'node:timers/promises';
import { defineTool, z } from 'recourse-server';

/** Takes its time without taking the processor, as a call of somebody else's server does. */
export const sleepIsolated = defineTool({
  name: 'sleep_isolated',
  description: 'Waits, and says how long.',
  effects: 'read',
  // As many as there may be hosts: without this it would get half of them.
  concurrency: 16,
  input: z.object({ ms: z.int().min(0).max(10_000).describe('Time to wait, in milliseconds.') }),
  run: async ({ ms }, { signal }) => {
    await pause(ms, undefined, { signal });
    return { ms };
  },
});
