import { once } from 'node:events';
import { createRedisClient, type RedisClient } from '@recourse/store-redis/redis-client';
import { createRedisKeyedUnderTest } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { type RedisCluster, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { createRedisUnderTest, type StoreUnderTest } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { SessionSettings } from '#src/executor/session-store.ts';
import { describeKeyedStore } from '#test/sessions/promises/describe-idempotency-store.ts';
import { describeSessionStore } from '#test/sessions/promises/describe-session-store.ts';

// Far longer than the service waits: a busy machine is no outage.
const PATIENCE_MS = 1000;

let cluster: RedisCluster | undefined;
let connected: RedisClient | undefined;
let tests: Cluster | undefined;

beforeAll(async () => {
  cluster = await startRedisCluster();
  const client = createRedisClient(cluster.urls, PATIENCE_MS);
  client.onError(() => undefined);
  const ready = new Promise<void>((resolve) => client.onReady(resolve));
  client.connect();
  await ready;
  connected = client;
  tests = new Cluster(cluster.nodes.map(({ url }) => url));
  await once(tests, 'ready');
}, timeLimit(60_000));

afterAll(async () => {
  connected?.disconnect();
  tests?.disconnect();
  await cluster?.stop();
});

const service = (): RedisClient => {
  if (connected === undefined) throw new Error('The cluster is there only while tests run.');
  return connected;
};

// The stores as the service has them, with the service's own client; tests age and forget over another.
describeSessionStore('a Redis Cluster of three nodes', (settings: SessionSettings): StoreUnderTest => {
  const client = service();
  if (tests === undefined) throw new Error('The cluster is there only while tests run.');
  return createRedisUnderTest(tests, settings, { client });
});

describeKeyedStore('a Redis Cluster of three nodes', (terms) => createRedisKeyedUnderTest(service(), terms));
