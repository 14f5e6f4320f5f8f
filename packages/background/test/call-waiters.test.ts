import {
  accept,
  createCallSpec,
  createMemoryCallsUnderTest,
  createRedisRecords,
  SURE,
  take,
  toCallRedisKey,
} from '@recourse/test-support/call-records-under-test.ts';
import { toRedisClient, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { CallWaiters } from '#src/call-waiters.ts';
import type { CallRecords } from '#src/calls/call-records.ts';

const redis = useRedis();

// Without a subscription: every message gets lost.
const createDeafRecords = (): CallRecords => createRedisRecords(toRedisClient(redis()));

const ALL_STORES = [
  ['memory', async () => (await createMemoryCallsUnderTest()).records],
  ['Redis', async () => createDeafRecords()],
] as const;

test.each(ALL_STORES)('the version of a call changes with its progress and its end, in %s', async (_store, create) => {
  const records = await create();
  const [queued, running, ended] = [await accept(records), await accept(records), await accept(records)];
  await records.begin((await take(records, running)).lease);
  await records.commit((await take(records, ended)).lease, '{}', SURE);
  const unknown = createCallSpec().key;
  expect(await records.versions([queued, running, ended, unknown])).toEqual(['', '', 'ended', 'ended']);
  const { lease } = await take(records, queued);
  const seen = new Set<string>();
  for (const done of [1, 2]) {
    await records.renew(lease, { done, total: null, message: null });
    for (const version of await records.versions([queued])) seen.add(version);
  }
  expect(seen.size).toBe(2);
  expect(seen).not.toContain('');
  expect(seen).not.toContain('ended');
  expect(await records.versions([])).toEqual([]);
});

test('a key that is no record counts as ended, and changes nothing for the others', async () => {
  const records = createDeafRecords();
  const [key, spoilt] = [await accept(records), createCallSpec().key];
  await redis().set(toCallRedisKey(spoilt), 'text');
  expect(await records.versions([key, spoilt, key])).toEqual(['', 'ended', '']);
});

/** The records, and how often they were asked. */
const watchQuestions = (records: CallRecords) => {
  const asked = { versions: 0, found: [] as string[] };
  const watched: CallRecords = {
    durability: 'durable',
    holdsArguments: false,
    withdraw: (key) => records.withdraw(key),
    heads: (keys) => records.heads(keys),
    describe: (key) => records.describe(key),
    publishPart: (lease, valueJson) => records.publishPart(lease, valueJson),
    create: (key, spec) => records.create(key, spec),
    confirm: (key) => records.confirm(key),
    unblock: (key) => records.unblock(key),
    find: (key) => {
      asked.found.push(key);
      return records.find(key);
    },
    versions: (keys) => {
      asked.versions += 1;
      return records.versions(keys);
    },
    claim: (key) => records.claim(key),
    begin: (lease) => records.begin(lease),
    renew: (lease, progress) => records.renew(lease, progress),
    release: (lease, lackedAt) => records.release(lease, lackedAt),
    commit: (lease, result, how) => records.commit(lease, result, how),
    settle: (key, result) => records.settle(key, result),
    cancel: (key, how) => records.cancel(key, how),
    due: (most) => records.due(most),
    enterAgain: (key, spec, afterMs) => records.enterAgain(key, spec, afterMs),
    onReturn: (listener) => records.onReturn(listener),
    signals: records.signals,
    sessions: records.sessions,
    live: records.live,
  };
  return { watched, asked };
};

test('calls to which nothing happens are not read again; an end whose message got lost is', async () => {
  const { watched, asked } = watchQuestions(createDeafRecords());
  const waiters = new CallWaiters({ records: watched, time: Date.now, endOverdue: async () => false });
  onTestFinished(waiters.close);
  const keys = await Promise.all(Array.from({ length: 150 }, () => accept(watched)));
  const ends = keys.map((key) => waiters.untilEnded(key, 60_000));
  await expect.poll(() => asked.versions, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(6);
  expect(asked.found.length).toBe(keys.length);
  for (const key of keys) await watched.commit((await take(watched, key)).lease, '{"a":1}', SURE);
  const records = await Promise.all(ends);
  expect(records.map((record) => record?.state)).toEqual(keys.map(() => 'ended'));
  expect(waiters.count()).toBe(0);
});

test('an end is told again until it could be read', async () => {
  const { watched, asked } = watchQuestions(createDeafRecords());
  const waiters = new CallWaiters({ records: watched, time: Date.now, endOverdue: async () => false });
  onTestFinished(waiters.close);
  const key = await accept(watched);
  let told = 0;
  const stop = waiters.onChange(key, () => {
    told += 1;
  });
  await watched.commit((await take(watched, key)).lease, '{}', SURE);
  await expect.poll(() => told, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(2);
  stop();
  expect(asked.versions).toBeGreaterThanOrEqual(2);
});
