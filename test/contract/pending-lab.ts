import { type Actor, freshName, startLab } from '@recourse/test-support/keyed-client.ts';
import { createPendingClient, type PendingAnswer } from '@recourse/test-support/pending-client.ts';
import { type RedisForTests, redisForTests } from '@recourse/test-support/redis-server.ts';
import { afterAll, beforeAll } from 'vitest';

export const outcomesOf = ({ results }: PendingAnswer): readonly string[] =>
  results.map(({ outcome, error }) => error?.code ?? outcome);

export const valuesOf = ({ results }: PendingAnswer): readonly unknown[] => results.map(({ value }) => value);

export const handleOf = ({ results }: PendingAnswer, index = 0): string => {
  const result = results[index];
  return result?.outcome === 'pending' ? result.pending.call : '';
};

export const stateOf = ({ results }: PendingAnswer, index = 0): string | null => {
  const result = results[index];
  return result?.outcome === 'pending' ? result.pending.state : null;
};

export const callOf = (name: string, only: unknown = freshName()) => ({ id: 'x', name, arguments: { only } });

/** Starts a service with these tools on a store, and a client for it; its Redis is that of the file. */
export const usePendingLab = () => {
  let redis: RedisForTests;
  beforeAll(async () => {
    redis = await redisForTests();
  });
  afterAll(() => redis.stop());
  return async (
    store: 'memory' | 'redis',
    actors: readonly Pick<Actor, 'tool'>[],
    more: Readonly<Record<string, string>> = {},
  ) => {
    const lab = await startLab(actors, store === 'memory' ? more : { REDIS_URL: redis.url, ...more });
    return { ...lab, ...createPendingClient(lab.service.url) };
  };
};
