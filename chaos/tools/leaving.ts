import { spawn } from 'node:child_process';
import { defineTool, z } from 'recourse-server';

const WAYS = {
  attached: { words: [], options: {} },
  // A process group and a session of its own.
  detached: { words: [], options: { detached: true } },
  setsid: { words: ['setsid', '--fork'], options: {} },
  // Its environment tells nothing: it can be known by its parent alone.
  nameless: { words: [], options: { detached: true, env: {} } },
} as const;

export const leave = defineTool({
  name: 'leave',
  description: 'Leaves a process behind: after an answer, or by never answering.',
  effects: 'read',
  input: z.object({
    how: z.enum(['attached', 'detached', 'setsid', 'nameless']),
    seconds: z.string(),
    end: z.enum(['answer', 'hang']),
  }),
  timeoutMs: 700,
  run: ({ how, seconds, end }) => {
    const { words, options } = WAYS[how];
    const [command = 'sleep', ...rest] = [...words, 'sleep', seconds];
    const child = spawn(command, rest, { stdio: 'ignore', ...options });
    child.unref();
    return end === 'hang' ? new Promise(() => undefined) : { pid: child.pid ?? null };
  },
});
