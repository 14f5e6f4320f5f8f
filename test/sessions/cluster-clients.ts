import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { type RedisCluster, type RedisClusterNode, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/** Counts at its first key. */
export const COUNT = "return redis.call('INCR', KEYS[1])";

/** Meeting again takes nodes a few seconds. */
export const RECOVERY = { timeout: timeLimit(20_000), interval: 20 };

/** A cluster for the tests of one file, and clients of the service's own that end with their test. */
export const useClusterClients = () => {
  const state: { cluster?: RedisCluster; keys: number } = { keys: 0 };
  const clients: RedisClient[] = [];
  const errors: unknown[] = [];
  beforeAll(async () => {
    state.cluster = await startRedisCluster();
  }, timeLimit(60_000));
  afterAll(() => state.cluster?.stop());
  beforeEach(() => {
    errors.length = 0;
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });
  const cluster = (): RedisCluster => {
    if (state.cluster === undefined) throw new Error('The cluster is there only while tests run.');
    return state.cluster;
  };
  return {
    cluster,
    /** What the clients of this test have said to be wrong. */
    errors,
    /** A client that is ready. It waits a second for an answer unless told otherwise: a busy machine is no outage. */
    connect: async (urls = cluster().urls, patienceMs = 1000): Promise<RedisClient> => {
      const client = createRedisClient(urls, patienceMs);
      clients.push(client);
      client.onError((error) => errors.push(error));
      const ready = new Promise<void>((resolve) => client.onReady(resolve));
      client.connect();
      await ready;
      return client;
    },
    nodeAt: (position: number): RedisClusterNode => {
      const node = cluster().nodes[position];
      if (node === undefined) throw new Error(`There is no node ${position}.`);
      return node;
    },
    /** A key that no test has used yet, at this node. */
    keyAt: async (node: RedisClusterNode): Promise<string> => {
      for (;;) {
        state.keys += 1;
        const key = `recourse:{client:${state.keys}}`;
        if ((await cluster().ownerOf(key)) === node) return key;
      }
    },
  };
};
