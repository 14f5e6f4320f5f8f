import { openRedisRecords, openSqliteRecords } from '@recourse/test-support/record-stores-under-test.ts';
import { createSealing, ROTATION } from '@recourse/test-support/sealing.ts';
import { useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import type { Sealing } from 'recourse-server/internal/store/seals.ts';
import { expect, test } from 'vitest';
import { RecordDeliveries } from '#src/deliveries/record-deliveries.ts';
import type { Delivery } from '#src/webhooks/delivery-store.ts';
import { ageIndexes, createDelivery, indexesIn, LEASE_MS, toClaimed, toOnly } from './deliveries-lab.ts';

const redis = useRedis();

/** A process of its own. */
const open = (sealing: Sealing) => {
  const { stores, pass } = openRedisRecords([redis()]);
  const [store] = stores;
  if (store === undefined) throw new Error('There is one.');
  return {
    store: new RecordDeliveries({ store, survives: 'process', sealing, openIndex: indexesIn(redis()) }),
    pass: async (ms: number): Promise<void> => {
      pass(ms);
      await ageIndexes(redis(), ms);
    },
  };
};

const keyOf = ({ tenant, endpoint, id }: Delivery): string => `recourse2:{${tenant}:${endpoint}/${id}}:message`;

const write = async (delivery: Delivery, fields: Readonly<Record<string, string>>): Promise<void> => {
  await redis().hset(keyOf(delivery), { ...fields, v: `another writer ${Math.random()}` });
};

test('with a key of the store a message is sealed there, and is sent as it was by any process that has the key', async () => {
  const { store } = open(createSealing(['k1']));
  const delivery = createDelivery();
  await store.add(delivery);
  expect(JSON.stringify(await redis().hgetall(keyOf(delivery)))).not.toContain('completed');
  const claimed = toOnly(await open(createSealing(['k2', 'k1'])).store.claim(delivery.endpoint, 4, LEASE_MS));
  expect(claimed).toEqual(toClaimed(delivery, 1));
});

test.each([
  ['written by something else', async (delivery: Delivery) => write(delivery, { b: '{"type":"forged"}' })],
  [
    'moved from another endpoint',
    async (delivery: Delivery, other: Delivery) => write(delivery, await redis().hgetall(keyOf(other))),
  ],
  [
    'given another time',
    async (delivery: Delivery) => {
      const head = (await redis().hget(keyOf(delivery), 'h')) ?? '';
      await write(delivery, { h: head.replace(/^\d+/, '9') });
    },
  ],
] as const)('a message that was %s is not sent, and is counted', async (_how, change) => {
  const sealing = createSealing(['k1']);
  const { store } = open(sealing);
  const [delivery, other] = [createDelivery(), createDelivery()];
  await Promise.all([store.add(delivery), store.add(other)]);
  await change(delivery, other);
  expect(await store.claim(delivery.endpoint, 4, LEASE_MS)).toMatchObject({ deliveries: [], waiting: 0 });
  expect(sealing.unopened).toHaveLength(1);
  expect(toOnly(await store.claim(other.endpoint, 4, LEASE_MS))).toEqual(toClaimed(other, 1));
});

test('a message has the id and the endpoint that it was sealed with, whatever its head says', async () => {
  const { store } = open(createSealing(['k1']));
  const delivery = createDelivery();
  await store.add(delivery);
  const head = (await redis().hget(keyOf(delivery), 'h')) ?? '';
  await write(delivery, { h: head.replace(delivery.id, 'msg_other').replace(delivery.tenant, 'globex') });
  expect(toOnly(await store.claim(delivery.endpoint, 4, LEASE_MS))).toEqual(toClaimed(delivery, 1));
});

test('a message whose key a process lacks waits for one that has it, and that was no attempt', async () => {
  const delivery = createDelivery();
  await open(createSealing(['k2'])).store.add(delivery);
  const without = createSealing(['k1']);
  const { store } = open(without);
  expect(await store.claim(delivery.endpoint, 4, LEASE_MS)).toMatchObject({ deliveries: [], waiting: 1 });
  expect(without.unopened).toEqual(['key_missing']);
  const { store: other, pass } = open(createSealing(['k1', 'k2']));
  // Not before its lease is over.
  expect((await other.claim(delivery.endpoint, 4, LEASE_MS)).deliveries).toEqual([]);
  await pass(LEASE_MS + 1);
  expect(toOnly(await other.claim(delivery.endpoint, 4, LEASE_MS))).toEqual(toClaimed(delivery, 1));
});

test('in each step of a rotation a process sends what the one beside it has kept', async () => {
  for (const [step, ids] of ROTATION.entries())
    for (const other of ROTATION.slice(Math.max(0, step - 1), step + 2)) {
      const delivery = createDelivery();
      await open(createSealing(ids)).store.add(delivery);
      expect(toOnly(await open(createSealing(other)).store.claim(delivery.endpoint, 4, LEASE_MS))).toEqual(
        toClaimed(delivery, 1),
      );
    }
});

test('in SQLite a message is sealed likewise', async () => {
  const { store } = openSqliteRecords();
  const sealed = new RecordDeliveries({ store, survives: 'process', sealing: createSealing(['k1']) });
  const delivery = createDelivery();
  await sealed.add(delivery);
  const plain = new RecordDeliveries({ store, survives: 'process' });
  await plain.restore([`acme:${delivery.endpoint}/${delivery.id}`]);
  expect((await plain.claim(delivery.endpoint, 4, LEASE_MS)).deliveries).toEqual([]);
});
