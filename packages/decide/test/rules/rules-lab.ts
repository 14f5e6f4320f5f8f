import { join } from 'node:path';
import { startConfigLab } from '@recourse/test-support/config-lab.ts';
import {
  type Actor,
  createActor,
  createKeyedClient,
  type KeyedAnswer,
  whenConnected,
} from '@recourse/test-support/keyed-client.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { onTestFinished } from 'vitest';

export type Store = 'memory' | 'sqlite' | 'redis';
export const STORES: readonly Store[] = ['memory', 'sqlite', 'redis'];

type RuleText = Readonly<Record<string, unknown>>;
type Environment = Readonly<Record<string, string>>;

export const CAP = { name: 'refund_cap', tools: 'refund', sum: '/amount', max: 5000, per: 'session' } as const;
export const CHECK_FIRST = {
  name: 'fraud_check_first',
  tools: 'refund',
  requires: { success_of: 'fraud_check', same: ['/order_id'], within: '1h' },
  message: 'Call fraud_check for this order first.',
} as const;

/** A write that notes what it was asked for, and a read. */
export const createTools = () => {
  const refund = createActor('refund', { effects: 'write', timeoutMs: 5000 });
  const check = createActor('fraud_check');
  return { refund, check };
};

/** Where a store is, and nothing where it is the memory of each process. */
export const openStore = async (store: Store): Promise<Environment> => {
  if (store === 'sqlite') return { STORE: `sqlite:${join(makeDirectory().root, 'records.db')}` };
  if (store === 'memory') return {};
  const redis = await startRedisServer();
  onTestFinished(redis.stop);
  return { REDIS_URL: redis.url };
};

export const startRules = async (
  rules: readonly RuleText[],
  actors: readonly Pick<Actor, 'tool'>[],
  environment: Environment = {},
) => {
  const lab = await startConfigLab(
    { rules },
    environment,
    actors.map(({ tool }) => tool),
  );
  const client = createKeyedClient(lab.service.url);
  if (environment['REDIS_URL'] !== undefined) await whenConnected(client);
  return { ...lab, ...client, url: lab.service.url };
};

/** The sum of what a tool was asked for: the ledger. */
export const sumOf = ({ asked }: Pick<Actor, 'asked'>): number =>
  asked.reduce((sum, { amount }) => sum + (typeof amount === 'number' ? amount : 0), 0);

export const refundOf = (amount: unknown, more: object = {}) => ({ name: 'refund', arguments: { amount, ...more } });

/** What each call came to: `ok`, or its code and the rule that refused it. */
export const endsOf = ({ results }: Pick<KeyedAnswer, 'results'>): readonly string[] =>
  results.map(({ error }) => (error === null ? 'ok' : [error.code, error.rule].filter(Boolean).join(' ')));
