import { type SpawnOptions, spawn } from 'node:child_process';
import { defineTool, z } from 'recourse-server';

/** `seconds`: how long the child sleeps, a number that nobody else uses. `after`: what the tool does then. */
const Child = z.object({ seconds: z.string(), after: z.enum(['answers', 'spins', 'exits']) });

const leaving = (name: string, command: (seconds: string) => readonly string[], options: SpawnOptions) =>
  defineTool({
    name,
    description: 'Starts a process and leaves it behind.',
    effects: 'read',
    timeoutMs: 10_000,
    input: Child,
    run: async ({ seconds, after }) => {
      const [file = '', ...words] = command(seconds);
      const child = spawn(file, words, options);
      await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject));
      child.unref();
      if (after === 'exits') process.exit(5);
      while (after === 'spins');
      return process.pid;
    },
  });

const sleep = (seconds: string): readonly string[] => ['sleep', seconds];

export const tools = [
  leaving('leaves_a_child', sleep, { stdio: 'ignore' }),
  leaving('leaves_a_child_on_its_pipes', sleep, { stdio: 'inherit' }),
  leaving('leaves_a_detached_child', sleep, { stdio: 'ignore', detached: true }),
  leaving('leaves_a_session_of_its_own', (seconds) => ['setsid', '-f', 'sleep', seconds], { stdio: 'inherit' }),
  leaving('leaves_an_orphan', (seconds) => ['sh', '-c', `trap '' TERM HUP; (setsid sleep ${seconds} &) ; exit 0`], {
    stdio: 'ignore',
  }),
];
