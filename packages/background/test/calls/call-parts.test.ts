import { createRedisSubscription } from '@recourse/store-redis/redis-client';
import { accept, createRedisRecords, take } from '@recourse/test-support/call-records-under-test.ts';
import { startRedisServer } from '@recourse/test-support/redis-server.ts';
import { connectToRedis, toRedisClient } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';

const WAIT = { timeout: timeLimit(10_000), interval: 10 };

/** Records over a server of their own, with a subscription as the service has it. */
const start = async () => {
  const server = await startRedisServer();
  onTestFinished(server.stop);
  const redis = await connectToRedis(server.url);
  onTestFinished(() => redis.disconnect());
  const subscription = createRedisSubscription(server.url);
  onTestFinished(subscription.close);
  const channels = async (): Promise<unknown> => redis.call('PUBSUB', 'CHANNELS', 'recourse2:parts:*');
  return { server, redis, records: createRedisRecords(toRedisClient(redis), { subscription }), channels };
};

test('only calls that somebody watches have a channel, however many watch one', async () => {
  const { records, channels } = await start();
  const keys = [await accept(records), await accept(records)];
  const [first, again] = [1, 2].map(() => records.signals.watchParts(keys[0] ?? '', () => undefined));
  if (first === undefined || again === undefined) throw new Error('There are two watches.');
  await Promise.all([first.ready, again.ready]);
  expect(await channels()).toEqual([`recourse2:parts:${keys[0]}`]);
  first.stop();
  again.stop();
  await expect.poll(channels, WAIT).toEqual([]);
  const other = records.signals.watchParts(keys[1] ?? '', () => undefined);
  await other.ready;
  expect(await channels()).toEqual([`recourse2:parts:${keys[1]}`]);
  other.stop();
  await expect.poll(channels, WAIT).toEqual([]);
});

test('a worker drops parts that Redis has not taken past a mebibyte, and shows later ones', async () => {
  const { records } = await start();
  const key = await accept(records);
  const heard: string[] = [];
  const { ready } = records.signals.watchParts(key, (valueJson) => void heard.push(valueJson.slice(0, 4)));
  await ready;
  const { lease } = await take(records, key);
  for (let part = 0; part < 20; part += 1)
    records.publishPart(lease, JSON.stringify(`${String(part).padStart(3, '0')}${'x'.repeat(262_000)}`));
  await expect.poll(() => heard, WAIT).toEqual(['"000', '"001', '"002', '"003']);
  records.publishPart(lease, '"end');
  await expect.poll(() => heard, WAIT).toEqual(['"000', '"001', '"002', '"003', '"end']);
});

test('after Redis was away parts are heard again', async () => {
  const { server, records } = await start();
  const key = await accept(records);
  const heard: string[] = [];
  const { ready } = records.signals.watchParts(key, (valueJson) => void heard.push(valueJson));
  await ready;
  await server.restart();
  const later = await accept(records).catch(() => accept(records));
  const { ready: readyAgain, stop } = records.signals.watchParts(later, (valueJson) => void heard.push(valueJson));
  await readyAgain;
  records.publishPart((await take(records, later)).lease, '1');
  await expect.poll(() => heard, WAIT).toEqual(['1']);
  stop();
});
