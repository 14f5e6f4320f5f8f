import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type CallKind, toBody, toSessionId, toTexts } from './bodies.ts';
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

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 2;

export type ServiceTerms = {
  /** Left out: the embedded store. */
  readonly redisUrl?: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Another script that wires the same service in another way. */
  readonly script?: string;
  /** What a caller must send; left out: nothing. */
  readonly headers?: Readonly<Record<string, string>>;
};

// Where other work has the core of a service, its 503s would say nothing of what is measured.
const PATIENT = { MAX_EVENT_LOOP_LAG_MS: '60000' };

/**
 * The service as `npm start` runs it, with its default settings but for those given and for a limit of the event loop's
 * lag that is never reached. Metrics are kept, and each batch is logged to a file. Resolves with its first answer.
 */
export const startService = async (
  { cores, processes, directory, path }: Surroundings,
  { redisUrl = '', settings = {}, script = MAIN, headers = {} }: ServiceTerms = {},
): Promise<Server> => {
  const port = await findFreePort();
  const logFile = join(directory, `service-${port}.log`);
  const log = openSync(logFile, 'a');
  // Nobody reads it: its space is free again when the service ends.
  rmSync(logFile);
  const started = processes.start({
    words: onCore(cores.pinned ? cores.server : null, [process.execPath, ...process.execArgv, script]),
    environment: {
      PATH: path,
      ...PATIENT,
      ...settings,
      PORT: String(port),
      REDIS_URL: redisUrl,
      // As `npm start` has it: the code compiled by one start serves the next. Empty when the bench begins.
      NODE_COMPILE_CACHE: join(directory, 'compiled'),
    },
    output: log,
    channel: 'ignore',
  });
  closeSync(log);
  const url = `http://127.0.0.1:${port}/tool-calls`;
  await Promise.race([waitForAnswer(url, headers), started.failure]);
  return { url, process: started };
};

/** Ends servers, so that what is measured next has their core for itself. */
export const endServers = async (servers: readonly Server[]): Promise<void> => {
  for (const { process: running } of servers) await running.end();
};

const waitForAnswer = async (url: string, headers: Readonly<Record<string, string>>): Promise<void> => {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (performance.now() < deadline) {
    if ((await answerOrNull(url, headers)) !== null) return;
    await pause(POLL_MS);
  }
  throw new Error(`${url} gave no answer within ${START_TIMEOUT_MS} ms.`);
};

const answerOrNull = async (url: string, headers: Readonly<Record<string, string>>): Promise<string | null> => {
  try {
    return await postBatch(url, 'succeeding', 1, headers);
  } catch (error) {
    // Nothing listens there yet. Every other error is one of the bench.
    if (error instanceof TypeError) return null;
    throw error;
  }
};

// Beyond all that a load uses. Each batch is the first one of its session: nothing came before that could change it.
let nextSession = 1_000_000;

/** Posts one batch and gives the body of the answer; throws unless it is a 200. */
export const postBatch = async (
  url: string,
  kind: CallKind,
  calls: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> => {
  nextSession += 1;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: toBody(kind, toSessionId(nextSession), toTexts(calls)),
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
