import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type CallKind, toBody, toSessionId, toText } from './bodies.ts';
import { type Cores, onCore } from './cores.ts';
import type { Processes, RunningProcess } from './processes.ts';
import type { RedisServers } from './redis-servers.ts';

/** A server under test, on the server core. */
export type Server = { readonly url: string; readonly process: RunningProcess };

/** What servers of one bench share. */
export type Surroundings = {
  readonly cores: Cores;
  readonly processes: Processes;
  readonly redisServers: RedisServers;
  /** For what servers write: removed after the bench. */
  readonly directory: string;
  readonly path: string;
};

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const START_TIMEOUT_MS = 30_000;
const POLL_MS = 2;

/** The bare Fastify route in a process of its own. */
export const startBareRoute = async (surroundings: Surroundings): Promise<Server> => {
  const port = await findFreePort();
  return start(surroundings, port, {
    words: [process.execPath, fileOf('bare-route.ts'), String(port)],
    environment: {},
    output: 'ignore',
    channel: 'ipc',
  });
};

/**
 * The service as `npm start` runs it, with its default settings but for those given; metrics are kept and each batch is
 * logged to a file. Another script may wire the same service in another way.
 */
export const startService = async (
  surroundings: Surroundings,
  redisUrl: string | null,
  settings: Readonly<Record<string, string>> = {},
  script: string = fileOf('../src/main.ts'),
): Promise<Server> => {
  const port = await findFreePort();
  const log = openSync(join(surroundings.directory, `service-${port}.log`), 'a');
  return start(surroundings, port, {
    words: [process.execPath, script],
    environment: {
      ...settings,
      PORT: String(port),
      REDIS_URL: redisUrl ?? '',
      // As `npm start` has it: the code compiled by one start serves the next. Empty when the bench begins.
      NODE_COMPILE_CACHE: join(surroundings.directory, 'compiled'),
    },
    output: log,
    channel: 'ignore',
  });
};

type Launch = Parameters<Processes['start']>[0];

const start = async ({ cores, processes, path }: Surroundings, port: number, launch: Launch): Promise<Server> => {
  const words = onCore(cores.pinned ? cores.server : null, launch.words);
  const started = processes.start({ ...launch, words, environment: { PATH: path, ...launch.environment } });
  const url = `http://127.0.0.1:${port}/tool-calls`;
  await Promise.race([waitForAnswer(url), started.failure]);
  return { url, process: started };
};

const waitForAnswer = async (url: string): Promise<void> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if ((await answerOrNull(url)) !== null) return;
    await pause(POLL_MS);
  }
  throw new Error(`${url} gave no answer within ${START_TIMEOUT_MS} ms.`);
};

const answerOrNull = async (url: string): Promise<string | null> => {
  try {
    return await postBatch(url, 'succeeding', 1);
  } catch (error) {
    // Nothing listens there yet. Every other error is one of the bench.
    if (error instanceof TypeError) return null;
    throw error;
  }
};

// Beyond all that a load uses. Each batch is the first one of its session: nothing came before that could change it.
let nextSession = 1_000_000;

/** Posts one batch and gives the body of the answer; throws unless it is a 200. */
export const postBatch = async (url: string, kind: CallKind, calls: number): Promise<string> => {
  nextSession += 1;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: toBody(kind, calls, toSessionId(nextSession), toText(0, 'a')),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}: ${text.slice(0, 500)}`);
  return text;
};

/** A port of loopback that nobody listens on. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port was given.');
  return address.port;
};
