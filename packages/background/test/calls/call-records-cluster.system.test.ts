import { once } from 'node:events';
import { createRedisClient, createRedisSubscription } from '@recourse/store-redis/redis-client';
import {
  accept,
  createRedisCallsUnderTest,
  createRedisRecords,
  look,
  SURE,
  subscribeTo,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { type RedisCluster, startRedisCluster } from '@recourse/test-support/redis-cluster.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeCallRecords } from './describe-call-records.ts';

const WAIT = { timeout: timeLimit(20_000), interval: 20 };

let cluster: RedisCluster | undefined;
let tests: Cluster | undefined;
let listening: Cluster | undefined;

beforeAll(async () => {
  cluster = await startRedisCluster();
  const urls = cluster.nodes.map(({ url }) => url);
  [tests, listening] = [new Cluster(urls), new Cluster(urls)];
  for (const each of [tests, listening]) each.setMaxListeners(0);
  await Promise.all([once(tests, 'ready'), once(listening, 'ready')]);
}, timeLimit(60_000));

afterAll(async () => {
  tests?.disconnect();
  listening?.disconnect();
  await cluster?.stop();
});

const started = () => {
  if (cluster === undefined || tests === undefined || listening === undefined)
    throw new Error('The cluster is there only while tests run.');
  return { cluster, tests, listening };
};

describeCallRecords('a Redis Cluster of three nodes', async (terms) => {
  const parts = started();
  return createRedisCallsUnderTest(parts.tests, await subscribeTo(parts.listening), terms);
});

test(
  "the service's own clients share calls over all nodes, and hear of each other",
  async () => {
    const { urls } = started().cluster;
    const replicas = await Promise.all(
      [0, 1].map(async () => {
        const [client, subscription] = [createRedisClient(urls, 1000), createRedisSubscription(urls)];
        client.onError(() => undefined);
        const ready = new Promise<void>((resolve) => client.onReady(resolve));
        client.connect();
        await ready;
        const close = (): void => {
          client.disconnect();
          subscription.close();
        };
        return { records: createRedisRecords(client, { subscription }), close };
      }),
    );
    const [one, other] = replicas;
    if (one === undefined || other === undefined) throw new Error('There are two replicas.');
    const heard: string[] = [];
    one.records.signals.watch((key) => heard.push(key));
    const probe = await accept(other.records);
    const isHeard = async (): Promise<boolean> => {
      await other.records.cancel(probe, 'asked');
      return heard.includes(probe);
    };
    await expect.poll(isHeard, WAIT).toBe(true);
    const keys: string[] = [];
    for (let count = 0; count < 30; count += 1) keys.push(await accept(one.records));
    for (const key of keys) {
      const { lease } = await take(other.records, key);
      await other.records.commit(lease, JSON.stringify({ key }), SURE);
      expect((await look(one.records, key)).result).toBe(JSON.stringify({ key }));
    }
    await expect.poll(() => keys.every((key) => heard.includes(key)), WAIT).toBe(true);
    for (const { close } of replicas) close();
  },
  timeLimit(60_000),
);
