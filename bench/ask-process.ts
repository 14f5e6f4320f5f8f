import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onCore } from './cores.ts';
import type { Server, Surroundings } from './servers.ts';

/** Sends a plan to a process of the bench, and gives what it found out. One at a time. */
export type AskProcess = (servers: readonly Server[], plan: object, seconds: number) => Promise<unknown>;

// A run that has not ended this long after its time is stuck.
const OVERTIME_MS = 30_000;

/** Starts a script of the bench on the load core; it serves for all its plans, so that it is warm. */
export const startAsking = (script: string, { cores, processes, path }: Surroundings): AskProcess => {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const words = onCore(cores.pinned ? cores.load : null, [process.execPath, ...process.execArgv, file]);
  const asked = processes.start({ words, environment: { PATH: path }, output: 'ignore', channel: 'ipc' });
  return async (servers, plan, seconds) => {
    const signal = AbortSignal.timeout(Math.ceil(seconds * 1000) + OVERTIME_MS);
    asked.child.send(plan);
    const answered = once(asked.child, 'message', { signal });
    const [message]: unknown[] = await Promise.race([
      answered,
      asked.failure,
      ...servers.map((server) => server.process.failure),
    ]);
    return message;
  };
};
