import { LONG_TIMEOUT_MS } from '@recourse/store-redis/command-timeout';
import type { RedisClient } from '@recourse/store-redis/redis-client';
import {
  accept,
  createCallSpec,
  createRedisRecords,
  look,
  SURE,
  take,
} from '@recourse/test-support/call-records-under-test.ts';
import { useProxiedRedis } from '@recourse/test-support/proxied-redis.ts';
import { createGuarded } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import type { CallRecords } from '#src/calls/call-records.ts';

// Ten times the service's own: a machine that is busy for 50 ms is not what these tests are about.
const ANSWER_WITHIN_MS = 500;
const RECOVERY = { timeout: timeLimit(10_000), interval: 20 };
const AWAY = 'The store is unavailable.';
const LATE = 'Command timed out';

const opened = useProxiedRedis(ANSWER_WITHIN_MS);

/** The records as the service has them, and how many commands they have sent. */
const createSubject = () => {
  const { client } = opened();
  let asked = 0;
  const count =
    (call: RedisClient['send']): RedisClient['send'] =>
    (...words) => {
      // The store is checked by itself.
      if (!words.some((word) => word.endsWith(':check'))) asked += 1;
      return call(...words);
    };
  let guarded: ReturnType<typeof createGuarded> | undefined;
  const callWithTimeout: RedisClient['callWithTimeout'] = async (...words) =>
    guarded?.availability.ask('pending', 'long', () => {
      asked += 1;
      return client.callWithTimeout(...words);
    });
  const openScript: RedisClient['openScript'] = (file) => {
    const run = client.openScript(file);
    return async (words) =>
      guarded?.availability.ask('pending', 'long', () => {
        asked += 1;
        return run(words);
      });
  };
  const counting = { ...client, callWithTimeout, openScript, send: count(client.send) };
  const records = createRedisRecords(counting, {
    timeoutMs: LONG_TIMEOUT_MS,
    guard: (store) => {
      guarded = createGuarded(store, { connection: client });
      return guarded.records;
    },
  });
  client.connect();
  if (guarded === undefined) throw new Error('The records are guarded.');
  const { availability, log } = guarded;
  /** Lets seconds pass until Redis serves: a store that is away is asked again when one has. */
  const becomeReady = async (): Promise<string> => {
    const acceptLater = (): Promise<string | null> => {
      return accept(records).catch(() => null);
    };
    await expect.poll(acceptLater, RECOVERY).not.toBeNull();
    return accept(records);
  };
  return { records, availability, log, becomeReady, asked: () => asked };
};

const stepsOf = (records: CallRecords, key: string): readonly (() => Promise<unknown>)[] => {
  const lease = { key, fence: 1 };
  const { spec } = createCallSpec();
  return [
    () => records.confirm(key),
    () => records.find(key),
    () => records.begin(lease),
    () => records.release(lease),
    () => records.cancel(key, 'asked'),
    () => records.sessions.list(spec.sessionKey ?? ''),
    () => records.sessions.findSame(spec.sessionKey ?? '', spec.fingerprint),
  ];
};

test('a network that swallows everything costs two time-outs, and not one for each call', async () => {
  const { records, becomeReady, asked, log, availability } = createSubject();
  const key = await becomeReady();
  const before = asked();
  log.failed.length = 0;
  opened().proxy.freeze();
  const { key: other, spec } = createCallSpec();
  await expect(records.create(other, spec)).rejects.toThrow(LATE);
  expect(availability.isUp()).toBe(true);
  await expect(records.create(other, spec)).rejects.toThrow();
  expect(availability.isUp()).toBe(false);
  // A record, and its entries in the lists of all calls and of its session.
  expect(asked() - before).toBeLessThanOrEqual(6);
  const askedByThen = asked();
  for (let count = 0; count < 20; count += 1)
    for (const step of stepsOf(records, key)) await expect(step()).rejects.toThrow(AWAY);
  await expect(records.create(other, spec)).rejects.toThrow(AWAY);
  await expect(records.claim(key)).rejects.toThrow(AWAY);
  expect(asked()).toBe(askedByThen);
  // A record and its two entries, twice at most: the client may have given up the silent connection.
  expect(log.failed.filter((text) => text.startsWith('pending')).length).toBeLessThanOrEqual(6);
});

test('a process that only runs calls finds out by itself that the store is back', async () => {
  const { records, becomeReady, availability } = createSubject();
  const key = await becomeReady();
  opened().proxy.freeze();
  for (let count = 0; count < 2; count += 1) await expect(records.cancel(key, 'asked')).rejects.toThrow(LATE);
  expect(availability.isUp()).toBe(false);
  // The connection was never lost: nothing but a check tells that Redis answers again.
  opened().proxy.thaw();
  await expect.poll(availability.isUp, RECOVERY).toBe(true);
  expect((await records.claim(key)).kind).toBe('held');
});

test('a call goes on with its record after the network was cut', async () => {
  const { records, becomeReady } = createSubject();
  const key = await becomeReady();
  const { lease } = await take(records, key);
  await records.begin(lease);
  opened().proxy.refuse();
  opened().proxy.cut();
  await expect(records.commit(lease, '{"value":1}', SURE)).rejects.toThrow();
  await opened().proxy.accept();
  await becomeReady();
  expect(await records.commit(lease, '{"value":1}', SURE)).toBe('held');
  expect((await look(records, key)).result).toBe('{"value":1}');
});
