import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { timeLimit } from './time-limit.ts';
import { watchOver } from './watch-over.ts';

/** A real redis-server of a test's own on loopback. It keeps nothing on disk and dies with the test's process. */
export type RedisServer = {
  readonly url: string;
  readonly port: number;
  /** Changes with every restart. */
  readonly pid: number;
  /** Ends it in good order and removes what it left behind. May be called twice. */
  readonly stop: () => Promise<void>;
  /** SIGKILL; the port answers nothing until `restart`. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP: connections stay, answers do not come. */
  readonly pause: () => void;
  /** SIGCONT. */
  readonly resume: () => void;
  /** A new and empty server on the same port. */
  readonly restart: () => Promise<void>;
};

export type RedisServerOptions = {
  /** More words for its command line, for example `['--maxmemory', '2mb']`. */
  readonly settings?: readonly string[];
  readonly places?: RedisServerPlaces;
};

/** Where a redis-server is looked for: the PATH, then the link that scripts/ensure-redis.sh makes. */
export type RedisServerPlaces = { readonly path: string; readonly link: string };

const LINK = fileURLToPath(new URL('../../node_modules/.cache/recourse/redis-server', import.meta.url));
// Loading nothing, it is ready within 20 ms; a machine under full load takes longer.
const START_TIMEOUT_MS = timeLimit(10_000);
const STOP_TIMEOUT_MS = timeLimit(5_000);
// Between finding a free port and listening on it, another process may take it.
const START_ATTEMPTS = 5;

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
};

/** The file to start, or undefined where there is none. */
export const findRedisServer = ({ path, link }: RedisServerPlaces): string | undefined =>
  [...path.split(delimiter).map((directory) => join(directory, 'redis-server')), link].find(isExecutable);

const usualPlaces = (): RedisServerPlaces => ({ path: process.env['PATH'] ?? '', link: LINK });

/** A port of loopback that nobody listens on right now. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('No free port was given.');
  return address.port;
};

/** Rejects unless the server at `port` answers PING. A demand for a password is an answer, too. */
const ping = async (port: number): Promise<void> => {
  const socket = connect(port, '127.0.0.1');
  try {
    socket.end('PING\r\n');
    const [answer]: unknown[] = await once(socket, 'data', { signal: AbortSignal.timeout(START_TIMEOUT_MS) });
    if (!/^(\+PONG|-NOAUTH)/.test(String(answer))) throw new Error(`redis-server answered PING with ${answer}`);
  } finally {
    socket.destroy();
  }
};

/** Reads the server's log until it says that it listens; rejects with that log where it ends before. */
const becomeReady = async (server: ChildProcess): Promise<void> => {
  const { stdout } = server;
  if (stdout === null) throw new Error('redis-server was started without a log.');
  const log: string[] = [];
  const lines = createInterface({ input: stdout });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new Error(`redis-server was not ready in ${START_TIMEOUT_MS} ms.`)),
    START_TIMEOUT_MS,
  );
  lines.on('line', (line) => {
    // Read to the end, or a full pipe would stop the server; kept only while it may be needed.
    if (log.length < 100) log.push(line);
    if (line.includes('Ready to accept connections')) resolve();
  });
  lines.once('close', () => reject(new Error(`redis-server ended:\n${log.join('\n')}`)));
  server.once('error', reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
};

const hasEnded = (server: ChildProcess): boolean => server.exitCode !== null || server.signalCode !== null;

const end = async (server: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  if (hasEnded(server) || server.pid === undefined) return;
  const ended = once(server, 'exit');
  // A stopped process hears SIGTERM only once it goes on.
  server.kill('SIGCONT');
  server.kill(signal);
  const timer = setTimeout(() => server.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};

type Launch = { readonly binary: string; readonly directory: string; readonly settings: readonly string[] };

const launch = async ({ binary, directory, settings }: Launch, port: number): Promise<ChildProcess> => {
  const base = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no'];
  const server = spawn(binary, [...base, ...settings], { stdio: ['ignore', 'pipe', 'ignore'] });
  watchOver(server);
  try {
    await becomeReady(server);
    await ping(port);
  } catch (error) {
    await end(server, 'SIGKILL');
    throw error;
  }
  return server;
};

const launchOnFreePort = async (plan: Launch): Promise<{ readonly server: ChildProcess; readonly port: number }> => {
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    try {
      return { server: await launch(plan, port), port };
    } catch (error) {
      if (attempt === START_ATTEMPTS || !String(error).includes('Address already in use')) throw error;
    }
  }
};

/** Starts a server on a free port and waits until it answers. Rejects with its log where it does not start. */
export const startRedisServer = async ({
  settings = [],
  places = usualPlaces(),
}: RedisServerOptions = {}): Promise<RedisServer> => {
  const binary = findRedisServer(places);
  if (binary === undefined) throw new Error('There is no redis-server: run sh scripts/ensure-redis.sh.');
  const plan = { binary, settings, directory: mkdtempSync(join(tmpdir(), 'recourse-redis-')) };
  const started = await launchOnFreePort(plan);
  const { port } = started;
  let { server } = started;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return server.pid ?? 0;
    },
    stop: async () => {
      await end(server, 'SIGTERM');
      rmSync(plan.directory, { recursive: true, force: true });
    },
    kill: () => end(server, 'SIGKILL'),
    pause: () => {
      server.kill('SIGSTOP');
    },
    resume: () => {
      server.kill('SIGCONT');
    },
    restart: async () => {
      await end(server, 'SIGKILL');
      server = await launch(plan, port);
    },
  };
};

/** A redis that tests may use. `own` is null where it is shared: then use own key prefixes and never FLUSHALL. */
export type RedisForTests = {
  readonly url: string;
  readonly own: RedisServer | null;
  readonly stop: () => Promise<void>;
};

/** A server of the test's own where there is a binary, else the one at REDIS_URL; rejects where there is neither. */
export const redisForTests = async (
  places = usualPlaces(),
  url = process.env['REDIS_URL'] ?? '',
): Promise<RedisForTests> => {
  if (findRedisServer(places) === undefined && url !== '') return { url, own: null, stop: () => Promise.resolve() };
  const own = await startRedisServer({ places });
  return { url: own.url, own, stop: own.stop };
};
