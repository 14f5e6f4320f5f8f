import { KEY_PREFIX } from '../store/key-prefix.ts';
import type { RedisClient } from './redis-client.ts';
import type { WatchableStore } from './store-availability.ts';

// Whoever may connect may still lack the right to run scripts or to write, and a replica or a cluster that is down runs a script
// which touches nothing: only one that has written says that it serves.
const CHECK = "redis.call('HSET', KEYS[1], 'at', '1') return redis.call('DEL', KEYS[1])";

/**
 * Says when a Redis is lost and when it serves. No batch waits for the question, and a process that starts is busy: it is given
 * longer than a batch gives, or each slow start would begin with a second without Redis.
 */
export const createRedisCheck = (client: RedisClient): WatchableStore => {
  const check = (): Promise<unknown> => client.callPatiently('EVAL', CHECK, '1', `${KEY_PREFIX}:{ready}`);
  return {
    watch: ({ lost, back, refused }) => {
      client.onLost(lost);
      client.onReady(() => void check().then(back, refused));
    },
    check: () => (client.isReady() ? check() : null),
  };
};
