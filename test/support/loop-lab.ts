import { afterAll, beforeAll } from 'vitest';
import { codesOf, freshName, type Lab, startLab } from './keyed-client.ts';
import { type RedisForTests, redisForTests } from './redis-server.ts';

type Actors = Parameters<typeof startLab>[0];

/** Services in which only the loop guard stops a call: retries are plenty and no circuit opens. */
export const useLoopLab = () => {
  let redis: RedisForTests;
  beforeAll(async () => {
    redis = await redisForTests();
  });
  afterAll(() => redis.stop());
  return (store: 'memory' | 'redis', actors: Actors, more: Readonly<Record<string, string>> = {}): Promise<Lab> =>
    startLab(actors, {
      SESSION_RETRIES: '100',
      CIRCUIT_FAILURES: '0',
      ...(store === 'memory' ? {} : { REDIS_URL: redis.url }),
      ...more,
    });
};

/** A session in which one batch follows the other; each gives the codes of its results. */
export const createLoopSession = ({ post }: Lab) => {
  const id = freshName();
  const send = (...calls: readonly unknown[]) => post({ session_id: id, calls });
  return { id, send, codes: async (...calls: readonly unknown[]) => codesOf(await send(...calls)) };
};
