import type { EndedSessions } from '../executor/session-store.ts';
import { tenantOfKey } from '../memory/bounded-store.ts';
import type { StoreMemory } from '../memory/store-memory.ts';
import type { RedisClient } from './redis-client.ts';
import type { StoreAvailability } from './store-availability.ts';

/** Ended sessions of this process: of the tenant that holds most the one that ended first is forgotten first. */
export const createMemoryEndedSessions = (options: {
  readonly ttlMs: number;
  readonly memory: StoreMemory;
  readonly now: () => number;
}): EndedSessions => {
  const { ttlMs, memory, now } = options;
  const ttl = { ms: ttlMs, renewed: 'never' } as const;
  const ended = memory.open<true>('ended_sessions', { tenantOf: tenantOfKey, ttl, now });
  return {
    add: (sessionKey) => ended.set(sessionKey, true, 0),
    has: (sessionKey) => ended.peek(sessionKey) !== undefined,
  };
};

/** Ended sessions in Redis, for all replicas. */
export const createRedisEndedSessions = (options: {
  readonly client: Pick<RedisClient, 'call'>;
  readonly availability: Pick<StoreAvailability, 'attemptWhileUp'>;
  readonly ttlMs: number;
}): EndedSessions => {
  const { client, availability, ttlMs } = options;
  const toKey = (sessionKey: string): string => `recourse:{${sessionKey}}:ended`;
  return {
    add: async (sessionKey) =>
      void (await availability.attemptWhileUp('end', () =>
        client.call('SET', toKey(sessionKey), '1', 'PX', String(ttlMs)),
      )),
    has: async (sessionKey) => {
      // As a reading: one that is late must not take the store away from batches.
      const reply = await availability.attemptWhileUp('read', () => client.call('EXISTS', toKey(sessionKey)));
      return reply.kind === 'answered' && reply.answer === 1;
    },
  };
};
