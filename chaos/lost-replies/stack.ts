import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findFreePort, startRedisServer } from '@recourse/test-support/redis-server.ts';
import { createReplica, type Replica } from '../replica.ts';

/** A redis-server, two replicas that answer requests, and a worker. */
export type Stack = {
  readonly directory: string;
  readonly replicas: readonly [Replica, Replica];
  readonly worker: Replica;
  /** Ends everything; the logs are kept where they are to be read. */
  readonly close: (logs: 'remove' | 'keep') => Promise<void>;
};

const ROOT = join(import.meta.dirname, '../..');

const environmentOf = (redisUrl: string, bankUrl: string) => ({
  PATH: [join(ROOT, 'node_modules/.bin'), process.env['PATH'] ?? ''].join(delimiter),
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/recourse/compiled'),
  REDIS_URL: redisUrl,
  BANK_URL: bankUrl,
  TOOLS_DIR: join(import.meta.dirname, 'tools'),
  TOOLS_ENV: 'BANK_URL',
  RECONCILE_DELAYS: '200ms,1s,5s',
  // Nearly every first try fails here, of which a circuit makes a pause for all payments.
  CIRCUIT_FAILURES: '0',
  MAX_EVENT_LOOP_LAG_MS: '60000',
});

export const startStack = async (bankUrl: string, say: (line: string) => void): Promise<Stack> => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-lost-replies-'));
  mkdirSync(join(directory, 'logs'));
  const redis = await startRedisServer();
  const create = async (name: string, role: 'api' | 'worker'): Promise<Replica> => {
    const environment = { ...environmentOf(redis.url, bankUrl), ROLE: role };
    const plan = { name, port: await findFreePort(), environment, logFile: join(directory, 'logs', name) };
    return createReplica(plan, ({ told, code, signal }) => {
      if (!told) say(`${name} ended by itself with ${code ?? signal}`);
    });
  };
  const [one, two, worker] = [
    await create('replica-1', 'api'),
    await create('replica-2', 'api'),
    await create('worker', 'worker'),
  ];
  const all = [one, two, worker];
  const close: Stack['close'] = async (logs) => {
    await Promise.all(all.map((each) => each.stop('process')));
    await redis.stop();
    if (logs === 'remove') rmSync(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all(all.map((each) => each.start()));
  } catch (error) {
    await close('keep');
    throw error;
  }
  return { directory, replicas: [one, two], worker, close };
};
