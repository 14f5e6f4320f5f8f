import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { findFreePort, findRedisServer, type RedisServer, startRedisServer } from './redis-server.ts';
import { timeLimit } from './time-limit.ts';
import { watchOver } from './watch-over.ts';

export type Sentinel = {
  readonly port: number;
  readonly direct: Redis;
  /** SIGKILL; may be called twice. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP: it accepts connections and answers nothing. */
  readonly pause: () => void;
  readonly resume: () => void;
};

/** A server, and the port by which the Sentinels know it: with TLS not the plain one. */
export type SentinelServer = { readonly server: RedisServer; readonly port: number };

/** A master, its replicas and three Sentinels on loopback, gone with the test's process. */
export type SentinelSetup = {
  /** As REDIS_URL wants it, with all Sentinels. */
  readonly url: string;
  /** The first one is the master at the start. */
  readonly servers: readonly SentinelServer[];
  readonly sentinels: readonly Sentinel[];
  /** The port of the master, as this Sentinel says; by default the first one. */
  readonly masterPort: (sentinel?: Sentinel) => Promise<number>;
  /** Resolves when the first Sentinel names another master than this one; how many milliseconds after the call. */
  readonly promoted: (port: number) => Promise<number>;
  readonly stop: () => Promise<void>;
};

export type SentinelSettings = {
  readonly replicas?: number;
  /** Of the servers. */
  readonly password?: string;
  /** Of the Sentinels. */
  readonly sentinelPassword?: string;
  readonly db?: number;
  /** After how long a server that is away is said to be down, in milliseconds. */
  readonly downAfterMs?: number;
  /** Files of a certificate for 127.0.0.1, its own authority, and its text. What the Sentinels name is reached by TLS only. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly pem: string };
};

export const MASTER_NAME = 'recourse-master';
const READY_TIMEOUT_MS = timeLimit(30_000);
const SENTINELS = 3;

type Tls = NonNullable<SentinelSettings['tls']>;

const tlsLines = ({ cert, key }: Tls, port: number): readonly string[] => [
  `tls-port ${port}`,
  ...[`tls-cert-file ${cert}`, `tls-key-file ${key}`, `tls-ca-cert-file ${cert}`],
  'tls-auth-clients no',
  'tls-replication yes',
];

const toConfig = (port: number, masterPort: number, directory: string, settings: SentinelSettings): string => {
  const { password, sentinelPassword, tls, downAfterMs = 1000 } = settings;
  return [
    `port ${tls === undefined ? port : 0}`,
    ...(tls === undefined ? [] : tlsLines(tls, port)),
    ...['bind 127.0.0.1', `dir ${directory}`],
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfterMs}`,
    `sentinel failover-timeout ${MASTER_NAME} 10000`,
    ...(password === undefined ? [] : [`sentinel auth-pass ${MASTER_NAME} ${password}`]),
    ...(sentinelPassword === undefined
      ? []
      : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
  ].join('\n');
};

const kill = async (server: ChildProcess): Promise<void> => {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
};

const toDirectOptions = ({ tls }: SentinelSettings) => ({
  host: '127.0.0.1',
  lazyConnect: false,
  ...(tls === undefined ? {} : { tls: { ca: tls.pem } }),
});

const startSentinel = async (masterPort: number, settings: SentinelSettings): Promise<Sentinel> => {
  const binary = findRedisServer({ path: process.env['PATH'] ?? '', link: LINK });
  if (binary === undefined) throw new Error('There is no redis-server: run sh scripts/ensure-redis.sh.');
  const port = await findFreePort();
  const directory = mkdtempSync(join(tmpdir(), 'recourse-sentinel-'));
  const file = join(directory, 'sentinel.conf');
  writeFileSync(file, toConfig(port, masterPort, directory, settings));
  const server = spawn(binary, [file, '--sentinel'], { stdio: 'ignore' });
  watchOver(server);
  const { sentinelPassword } = settings;
  const direct = new Redis({
    ...toDirectOptions(settings),
    port,
    ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    maxRetriesPerRequest: null,
    retryStrategy: () => 20,
  });
  direct.on('error', () => undefined);
  return {
    port,
    direct,
    kill: async () => {
      direct.disconnect();
      await kill(server);
      rmSync(directory, { recursive: true, force: true });
    },
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
  };
};

const LINK = join(import.meta.dirname, '../../node_modules/.cache/recourse/redis-server');

const toWords = (line: string): readonly string[] => `--${line}`.split(' ');

const startServer = async (settings: SentinelSettings, masterPort: number | null): Promise<SentinelServer> => {
  const { tls } = settings;
  const tlsPort = tls === undefined ? 0 : await findFreePort();
  const words = [
    ...serverSettings(settings),
    ...(tls === undefined ? [] : tlsLines(tls, tlsPort).flatMap(toWords)),
    ...(masterPort === null ? [] : ['--replicaof', `127.0.0.1 ${masterPort}`]),
  ];
  const server = await startRedisServer({ settings: words });
  return { server, port: tls === undefined ? server.port : tlsPort };
};

const serverSettings = ({ password }: SentinelSettings): readonly string[] => [
  ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password]),
  ...['--repl-diskless-sync-delay', '0'],
];

const knows = async ({ direct }: Sentinel, replicas: number): Promise<boolean> => {
  const words = await direct.call('SENTINEL', 'MASTER', MASTER_NAME);
  if (!Array.isArray(words)) return false;
  const read = (name: string): string => String(words[words.indexOf(name) + 1]);
  const counts = `${read('flags')} ${read('num-slaves')} ${read('num-other-sentinels')}`;
  return counts === `master ${replicas} ${SENTINELS - 1}`;
};

const until = async (isSo: () => Promise<boolean>, what: string): Promise<void> => {
  const end = performance.now() + READY_TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not in ${READY_TIMEOUT_MS} ms.`);
    await pause(10);
  }
};

/** Starts all of them, and waits until each Sentinel knows the replicas and the other two. */
export const startRedisSentinels = async (settings: SentinelSettings = {}): Promise<SentinelSetup> => {
  const { replicas = 2, password, db } = settings;
  const first = await startServer(settings, null);
  const { port } = first;
  const servers = [first];
  const sentinels: Sentinel[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(sentinels.map((sentinel) => sentinel.kill()));
    await Promise.all(servers.map(({ server }) => server.stop()));
  };
  const masterPort = async (sentinel = sentinels[0]): Promise<number> => {
    const address = await sentinel?.direct.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
    return Array.isArray(address) ? Number(address[1]) : Number.NaN;
  };
  try {
    for (let count = 0; count < replicas; count += 1) servers.push(await startServer(settings, port));
    for (let count = 0; count < SENTINELS; count += 1) sentinels.push(await startSentinel(port, settings));
    for (const sentinel of sentinels) await until(() => knows(sentinel, replicas), 'The Sentinels know each other');
  } catch (error) {
    await stop();
    throw error;
  }
  const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  const hosts = sentinels.map((sentinel) => `127.0.0.1:${sentinel.port}`).join(',');
  return {
    url: `redis${settings.tls === undefined ? '' : 's'}+sentinel://${credentials}${hosts}/${MASTER_NAME}${db === undefined ? '' : `/${db}`}`,
    servers,
    sentinels,
    masterPort,
    promoted: async (former) => {
      const startedAt = performance.now();
      await until(async () => (await masterPort()) !== former, 'A replica is promoted');
      return performance.now() - startedAt;
    },
    stop,
  };
};

/**
 * Lets a master answer no further write, and waits until its replicas have all that it has answered: what a kill before that loses is
 * Redis's own loss, which the page on fail-over tells of.
 */
export const holdWrites = async ({ url }: { readonly url: string }): Promise<void> => {
  const master = new Redis(url);
  master.on('error', () => undefined);
  await master.call('CLIENT', 'PAUSE', '60000', 'WRITE');
  const isCaughtUp = async (): Promise<boolean> => {
    const told = await master.info('replication');
    const offset = /^master_repl_offset:(\d+)/m.exec(told)?.[1];
    const replicas = [...told.matchAll(/^slave\d+:.*offset=(\d+)/gm)];
    return replicas.length > 0 && replicas.every(([, reached]) => reached === offset);
  };
  await until(isCaughtUp, 'All replicas have what the master has answered').finally(() => master.disconnect());
};
