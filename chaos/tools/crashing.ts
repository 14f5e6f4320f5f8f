import { defineTool, z } from 'recourse-server';

const CRASHES = {
  exit: () => process.exit(0),
  abort: () => process.abort(),
  segfault: async () => {
    process.kill(process.pid, 'SIGSEGV');
    // The signal need not have arrived when kill returns.
    await new Promise(() => undefined);
  },
} as const;

export const crash = defineTool({
  name: 'crash',
  description: 'Ends its process.',
  effects: 'read',
  input: z.object({ how: z.enum(['exit', 'abort', 'segfault']) }),
  timeoutMs: 5000,
  run: ({ how }) => CRASHES[how](),
});

export const crashLater = defineTool({
  name: 'crash_later',
  description: 'Answers, and throws when nobody listens any more.',
  effects: 'read',
  input: z.object({ ms: z.int().min(0).max(1000) }),
  run: ({ ms }) => {
    setTimeout(() => {
      throw new Error('thrown after the answer');
    }, ms);
    return { answered: true };
  },
});
