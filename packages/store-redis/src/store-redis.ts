import type { OpenedStore } from 'recourse-server/store/opened-store';
import { LONG_TIMEOUT_MS, SHORT_TIMEOUT_MS } from './command-timeout.ts';
import { refuseFormerReplicas } from './former-replicas.ts';
import { createRedisClient, createRedisSubscription } from './redis-client.ts';
import { createRedisRecordStore } from './redis-record-store.ts';
import { createRedisLook } from './redis-space.ts';

/** Records in Redis, for all processes that share it. */
export const openRedisStore = (options: {
  /** A REDIS_URL. */
  readonly url: string;
  readonly sentinelPassword: string | undefined;
  /** Stands for Redis's own maxmemory where it has none or does not tell it. */
  readonly memoryBytes: number;
  /** Bytes of the heap for the last known states of all kinds. */
  readonly cacheBytes: number;
  /** Another process has written since the state that was decided on. */
  readonly onConflict: () => void;
  /** Of the connection. */
  readonly onError: (error: unknown) => void;
}): OpenedStore => {
  const { cacheBytes, onConflict, memoryBytes } = options;
  const client = createRedisClient(options);
  client.onError(options.onError);
  const subscription = createRedisSubscription(options);
  return {
    durability: 'durable',
    records: createRedisRecordStore({
      ...{ client, cacheBytes, onConflict },
      timeouts: { short: SHORT_TIMEOUT_MS, long: LONG_TIMEOUT_MS },
    }),
    keysOf: () => [],
    watch: ({ lost, connected }) => {
      client.onLost(lost);
      client.onReady(connected);
    },
    isConnected: client.isReady,
    look: createRedisLook(client, memoryBytes),
    connect: (ready) => {
      client.onReady(ready);
      client.connect();
      return refuseFormerReplicas(client);
    },
    shared: { client, subscription },
    close: () => {
      subscription.close();
      client.disconnect();
    },
  };
};
