import {
  accept,
  createCallSpec,
  createMemoryCallsUnderTest,
  createRedisCallsUnderTest,
  createSqliteCallsUnderTest,
  DEAF,
  LATE,
  look,
  SURE,
  take,
  toSessionCallsKey,
} from '@recourse/test-support/call-records-under-test.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { describe, expect, test } from 'vitest';

const redis = useRedis();

const STORES = {
  memory: createMemoryCallsUnderTest,
  SQLite: createSqliteCallsUnderTest,
  redis: () => createRedisCallsUnderTest(redis(), DEAF),
};

describe.each(['memory', 'SQLite', 'redis'] as const)('calls that are taken back, in %s', (store) => {
  const createRecords = async () => (await STORES[store]()).records;

  test('nothing is left of one, and another try of its batch creates it anew', async () => {
    const records = await createRecords();
    const { key, spec } = createCallSpec();
    await records.create(key, spec);
    expect(await records.confirm(key)).toBe('confirmed');
    await records.withdraw(key);
    expect(await records.find(key)).toBeNull();
    expect(await records.claim(key)).toEqual({ kind: 'gone' });
    expect(await records.confirm(key)).toBe('gone');
    expect(await records.create(key, spec)).toEqual({ kind: 'created' });
    expect((await look(records, key)).cancel).toBe('no');
  });

  test('one that another try of its batch has created as well stays as it is', async () => {
    const records = await createRecords();
    const { key, spec } = createCallSpec();
    await records.create(key, spec);
    expect(await records.create(key, spec)).toEqual({ kind: 'exists' });
    await records.confirm(key);
    await records.withdraw(key);
    expect(await look(records, key)).toMatchObject({ state: 'queued', cancel: 'no' });
    expect((await records.claim(key)).kind).toBe('held');
  });

  test('one that a worker has taken is cancelled, and one that has ended keeps its result', async () => {
    const records = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    await records.withdraw(key);
    expect(await records.renew(lease, null)).toEqual({ state: 'held', cancel: 'asked' });
    await records.commit(lease, '{"value":1}', SURE);
    await records.withdraw(key);
    expect(await look(records, key)).toMatchObject({ state: 'ended', result: '{"value":1}' });
  });

  test('a worker that commits again what it has committed, for its answer was lost, has ended the call', async () => {
    const records = await createRecords();
    const key = await accept(records);
    const { lease } = await take(records, key);
    expect(await records.commit(lease, '{"value":1}', SURE)).toBe('held');
    expect(await records.commit(lease, '{"value":1}', SURE)).toBe('held');
    expect(await records.commit({ ...lease, fence: lease.fence + 1 }, '{"value":1}', SURE)).toBe('lost');
    expect(await records.commit(lease, '{"value":2}', LATE)).toBe('lost');
    expect((await look(records, key)).result).toBe('{"value":1}');
  });
});

test('a try that another one joins is no end of a record that has ended: its lists stay empty', async () => {
  const { records } = await createRedisCallsUnderTest(redis(), DEAF);
  const { key, spec } = createCallSpec();
  await records.create(key, spec);
  await records.commit((await take(records, key)).lease, '{}', SURE);
  const list = toSessionCallsKey(spec.sessionKey);
  await expect.poll(() => redis().exists(list)).toBe(0);
  expect(await records.create(key, spec)).toEqual({ kind: 'exists' });
  await expect.poll(() => redis().exists(list)).toBe(0);
});
