import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { onCore } from './cores.ts';
import type { Server, Surroundings } from './servers.ts';

/** A script of the bench that listens on a port of its own choice, and says which. */
export type ListeningScript = {
  readonly script: string;
  /** Which core it is on. */
  readonly place: 'server' | 'load';
  /** Where it answers. */
  readonly path: string;
  readonly environment?: Readonly<Record<string, string>>;
};

const Listening = z.object({ port: z.int().positive() });
const START_TIMEOUT_MS = 30_000;

/** Resolves when the script listens. */
export const startListening = async (
  { cores, processes, path: searchPath }: Surroundings,
  { script, place, path, environment = {} }: ListeningScript,
): Promise<Server> => {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const started = processes.start({
    words: onCore(cores.pinned ? cores[place] : null, [process.execPath, ...process.execArgv, file]),
    environment: { ...environment, PATH: searchPath },
    output: 'ignore',
    channel: 'ipc',
  });
  const told = once(started.child, 'message', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
  const [message]: unknown[] = await Promise.race([told, started.failure]);
  const { port } = Listening.parse(message);
  return { url: `http://127.0.0.1:${port}${path}`, process: started };
};
