import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { onCore } from './cores.ts';
import type { Server, Surroundings } from './servers.ts';

/** Which core a process of the bench is on. */
export type Place = 'server' | 'load';

const Listening = z.object({ port: z.int().positive() });
const START_TIMEOUT_MS = 30_000;

/** Starts a script of the bench that listens on a port of its own choice and says which. `path`: where it answers. */
export const startListening = async (
  script: string,
  place: Place,
  { cores, processes, path: searchPath }: Surroundings,
  path: string,
): Promise<Server> => {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const started = processes.start({
    words: onCore(cores.pinned ? cores[place] : null, [process.execPath, file]),
    environment: { PATH: searchPath },
    output: 'ignore',
    channel: 'ipc',
  });
  const told = once(started.child, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
  const [message]: unknown[] = await Promise.race([told, started.failure]);
  const { port } = Listening.parse(message);
  return { url: `http://127.0.0.1:${port}${path}`, process: started };
};
