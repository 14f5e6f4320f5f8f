import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CallRecords } from '#src/sessions/calls/call-records.ts';
import { createRedisClient, type RedisClient } from '#src/sessions/redis-client.ts';
import { LONG_TIMEOUT_MS } from '#src/store/command-timeout.ts';
import {
  accept,
  createCallFallback,
  createCallSpec,
  createRedisRecords,
  look,
  SURE,
  take,
} from '#test/support/call-records-under-test.ts';
import { type RedisServer, startRedisServer } from '#test/support/redis-server.ts';
import { createManualClock } from '#test/support/session-stores-under-test.ts';
import { startTcpProxy, type TcpProxy } from '#test/support/tcp-proxy.ts';
import { timeLimit } from '#test/support/time-limit.ts';

// Ten times the service's own: a machine that is busy for 50 ms is not what these tests are about.
const PATIENCE_MS = 500;
const RECOVERY = { timeout: timeLimit(10_000), interval: 20 };
const AWAY = 'The store of pending calls is unavailable.';

let server: RedisServer;
let proxy: TcpProxy;
let client: RedisClient;

beforeEach(async () => {
  server = await startRedisServer();
  proxy = await startTcpProxy({ to: server.port });
  client = createRedisClient(`redis://127.0.0.1:${proxy.port}`, PATIENCE_MS);
  client.onError(() => undefined);
});

afterEach(async () => {
  client.disconnect();
  proxy.close();
  await server.stop();
});

/** The records as the service has them, and how many commands they have sent. */
const createSubject = () => {
  const clock = createManualClock();
  let asked = 0;
  const count =
    (call: RedisClient['send']): RedisClient['send'] =>
    (...words) => {
      asked += 1;
      return call(...words);
    };
  const counting = { ...client, send: count(client.send), callPatiently: count(client.callPatiently) };
  const subject = createCallFallback(createRedisRecords(counting, { timeoutMs: LONG_TIMEOUT_MS }), clock.now);
  client.connect();
  const { records } = subject;
  /** Lets seconds pass until Redis serves: a store that is away is asked again when one has. */
  const becomeReady = async (): Promise<string> => {
    const acceptLater = (): Promise<string | null> => {
      clock.advance(1000);
      return accept(records).catch(() => null);
    };
    await expect.poll(acceptLater, RECOVERY).not.toBeNull();
    return accept(records);
  };
  return { ...subject, clock, becomeReady, asked: () => asked };
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
    () => records.ofSession(spec.sessionKey ?? ''),
    () => records.findSame(spec.sessionKey ?? '', spec.fingerprint),
  ];
};

test('a network that swallows everything costs two time-outs, and not one for each call', async () => {
  const { records, becomeReady, asked, log, clock, availability } = createSubject();
  const key = await becomeReady();
  const before = asked();
  log.failed.length = 0;
  proxy.freeze();
  const { key: other, spec } = createCallSpec();
  await expect(records.create(other, spec)).rejects.toThrow(AWAY);
  expect(availability.isUp()).toBe(true);
  await expect(records.create(other, spec)).rejects.toThrow(AWAY);
  expect(availability.isUp()).toBe(false);
  // A record with its entry in the list of its session, and its entry in the list of all.
  expect(asked() - before).toBeLessThanOrEqual(4);
  const askedByThen = asked();
  for (let count = 0; count < 20; count += 1)
    for (const step of stepsOf(records, key)) await expect(step()).rejects.toThrow(AWAY);
  await expect(records.create(other, spec)).rejects.toThrow(AWAY);
  await expect(records.claim(key)).rejects.toThrow(AWAY);
  await expect(records.due(10)).rejects.toThrow(AWAY);
  expect(asked()).toBe(askedByThen);
  // With the second the client may give up the silent connection.
  expect(log.failed).toHaveLength(2);
  // A second later one asker looks whether it is back, and no other.
  clock.advance(1000);
  await expect(records.claim(key)).rejects.toThrow(AWAY);
  expect(asked()).toBeGreaterThan(askedByThen);
  const askedByTheOne = asked();
  await expect(records.claim(key)).rejects.toThrow(AWAY);
  expect(asked()).toBe(askedByTheOne);
});

test('what runs beside requests fails by itself, and never takes the store away', async () => {
  const { records, becomeReady, log, availability } = createSubject();
  const key = await becomeReady();
  const { lease } = await take(records, key);
  await records.begin(lease);
  log.failed.length = 0;
  proxy.freeze();
  const beside = [
    records.find(key),
    records.claim(key),
    records.renew(lease, null),
    records.commit(lease, '{}', SURE),
    records.due(10),
  ];
  for (const { status } of await Promise.allSettled(beside)) expect(status).toBe('rejected');
  expect(availability.isUp()).toBe(true);
  expect(log.failed).toEqual([]);
});

test('a process that only runs calls finds out by itself that the store is back', async () => {
  const { records, becomeReady, clock, availability } = createSubject();
  const key = await becomeReady();
  proxy.freeze();
  for (let count = 0; count < 2; count += 1) await expect(records.cancel(key, 'asked')).rejects.toThrow(AWAY);
  expect(availability.isUp()).toBe(false);
  // The connection was never lost: nothing but a question tells that Redis answers again.
  proxy.thaw();
  const claimLater = async (): Promise<string> => {
    clock.advance(1000);
    return records.claim(key).then(
      ({ kind }) => kind,
      () => 'away',
    );
  };
  await expect.poll(claimLater, RECOVERY).toBe('held');
  expect(availability.isUp()).toBe(true);
});

test('a call goes on with its record after the network was cut', async () => {
  const { records, becomeReady } = createSubject();
  const key = await becomeReady();
  const { lease } = await take(records, key);
  await records.begin(lease);
  proxy.refuse();
  proxy.cut();
  await expect(records.commit(lease, '{"value":1}', SURE)).rejects.toThrow();
  await proxy.accept();
  await becomeReady();
  expect(await records.commit(lease, '{"value":1}', SURE)).toBe('held');
  expect((await look(records, key)).result).toBe('{"value":1}');
});
