import { createRedisRecordStore } from '@recourse/store-redis/redis-record-store';
import {
  createKeyedBatch,
  findWhole,
  hold,
  repeat,
  replay,
  runWhole,
  toFinal,
  toResult,
} from '@recourse/test-support/idempotency-stores-under-test.ts';
import { useProxiedRedis } from '@recourse/test-support/proxied-redis.ts';
import { connectToRedis, createGuarded, createManualClock } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import type { LeasedRecord } from '#src/executor/idempotency-store.ts';
import { createIdempotencyStore } from '#src/sessions/idempotency/idempotency-store.ts';

// Ten times the service's own: a machine that is busy for 50 ms is not what these tests are about.
const ANSWER_WITHIN_MS = 500;
const RECOVERY = { timeout: timeLimit(10_000), interval: 20 };
const UNAVAILABLE = { kind: 'unavailable' };

const opened = useProxiedRedis(ANSWER_WITHIN_MS);

/** The store as the service has it, and how many commands it has sent. */
const createSubject = () => {
  const { client } = opened();
  const clock = createManualClock();
  let asked = 0;
  const counting = {
    ...client,
    send: (command: string, ...parameters: string[]) => {
      // The store is checked by itself.
      if (!parameters.some((word) => word.endsWith(':check'))) asked += 1;
      return client.send(command, ...parameters);
    },
  };
  const timeouts = { short: ANSWER_WITHIN_MS, long: ANSWER_WITHIN_MS };
  const records = createRedisRecordStore({ client: counting, cacheBytes: 1_000_000, timeouts });
  const guarded = createGuarded(records, { connection: client, now: clock.now });
  const store = createIdempotencyStore({ store: guarded.records, durability: 'durable' });
  const { availability, log } = guarded;
  client.connect();
  /** Lets seconds pass until Redis serves: a store that is away is asked again when one has. */
  const becomeReady = async (): Promise<void> => {
    const kindLater = async (): Promise<string> => {
      clock.advance(1000);
      return (await store.open(createKeyedBatch())).kind;
    };
    await expect.poll(kindLater, RECOVERY).toBe('held');
  };
  return { store, availability, log, clock, becomeReady, asked: () => asked };
};

const stepsOf = (record: LeasedRecord): readonly (() => Promise<unknown>)[] => [
  () => record.start(0),
  record.renew,
  () => record.commit([toFinal(0), toFinal(1)]),
];

test('Redis that is not there at start: a key cannot be promised anything, and nothing is thrown', async () => {
  opened().proxy.refuse();
  const { store, becomeReady } = createSubject();
  expect(await store.open(createKeyedBatch())).toEqual(UNAVAILABLE);
  expect(await findWhole(store, 'tenant:request')).toBe('unavailable');
  await opened().proxy.accept();
  await becomeReady();
  expect(await findWhole(store, 'tenant:request')).toBeNull();
});

test('Redis killed while a batch holds its record: every step of it is refused, and keys are honoured once it is back', async () => {
  const { store, becomeReady } = createSubject();
  await becomeReady();
  const batch = createKeyedBatch();
  await runWhole(store, batch);
  const record = await hold(store, createKeyedBatch());
  await opened().server.kill();
  for (const step of stepsOf(record)) await expect(step()).rejects.toThrow();
  expect(await store.open(repeat(batch))).toEqual(UNAVAILABLE);
  expect(await findWhole(store, batch.requestKey)).toBe('unavailable');
  await opened().server.restart();
  await becomeReady();
  // This server keeps nothing on disk: what it knew is gone, and nobody holds what it forgot.
  expect(await findWhole(store, batch.requestKey)).toBeNull();
  expect(await record.start(0)).toBe('lost');
  await runWhole(store, batch);
  expect(await replay(store, batch)).toHaveLength(2);
});

test('a network that swallows everything costs two time-outs, and not one for each call of a batch', async () => {
  const { store, becomeReady, asked, log, availability } = createSubject();
  await becomeReady();
  const record = await hold(store, createKeyedBatch());
  const before = asked();
  log.failed.length = 0;
  opened().proxy.freeze();
  await expect(record.start(0)).rejects.toThrow('timed out');
  expect(availability.isUp()).toBe(true);
  await expect(record.start(0)).rejects.toThrow('timed out');
  expect(availability.isUp()).toBe(false);
  for (let index = 0; index < 64; index += 1) await expect(record.start(index)).rejects.toThrow('unavailable');
  expect(await store.open(createKeyedBatch())).toEqual(UNAVAILABLE);
  // The second waits for the answer to the first.
  expect(asked()).toBe(before + 1);
  // With the second the client may give up the silent connection.
  expect(log.failed).toHaveLength(2);
});

test('a cut network: the batch goes on with its record when it is back', async () => {
  const { store, becomeReady, availability } = createSubject();
  await becomeReady();
  const batch = createKeyedBatch();
  const record = await hold(store, batch);
  opened().proxy.refuse();
  opened().proxy.cut();
  const isUp = async (): Promise<boolean> => {
    await record.renew().catch(() => undefined);
    return availability.isUp();
  };
  await expect.poll(isUp, RECOVERY).toBe(false);
  await opened().proxy.accept();
  await becomeReady();
  expect(await record.start(0)).toBe('held');
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
  expect(await replay(store, batch)).toHaveLength(2);
});

test('Redis that is full: no new key is promised anything, what was kept is replayed and found, and all is well when it has room', async () => {
  const { store, becomeReady, log, availability } = createSubject();
  await becomeReady();
  const batch = createKeyedBatch();
  await runWhole(store, batch);
  const record = await hold(store, createKeyedBatch());
  log.failed.length = 0;
  const redis = await connectToRedis(opened().server.url);
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '1');
  for (const step of stepsOf(record)) {
    await expect(step()).rejects.toThrow();
    expect(await replay(store, batch)).toEqual([toResult(0, 0), toResult(1, 1)]);
  }
  expect(await store.open(createKeyedBatch())).toEqual(UNAVAILABLE);
  expect(await findWhole(store, batch.requestKey)).toEqual([toResult(0, 0), toResult(1, 1)]);
  expect(availability.isUp()).toBe(false);
  expect(log.failed.length).toBeGreaterThan(0);
  expect(log.failed.filter((text) => !/^(?:keyed|connect): OOM /.test(text))).toEqual([]);
  await redis.config('SET', 'maxmemory', '0');
  redis.disconnect();
  await becomeReady();
  expect(await record.commit([toFinal(0), toFinal(1)])).toBe('held');
});

test('the time that steps take is watched under one name', async () => {
  const { store, becomeReady, log } = createSubject();
  await becomeReady();
  log.ended.length = 0;
  const record = await hold(store, createKeyedBatch());
  await record.start(0);
  await record.renew();
  await record.commit([toFinal(0), toFinal(1)]);
  await record.amend(0, toResult(0, 'late'));
  await findWhole(store, 'tenant:request');
  // A commit writes the record and the answer.
  expect(log.ended).toEqual([...Array.from({ length: 6 }, () => 'keyed'), 'read']);
});
