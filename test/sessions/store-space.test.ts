import { openRedisRecords, openSqliteRecords } from '@recourse/test-support/record-stores-under-test.ts';
import { connectToRedis, useRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { MB, openSpace } from '@recourse/test-support/space-lab.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { shareKind } from '#src/sessions/share-kind.ts';
import type { RecordStore } from '#src/store/record-store.ts';
import { StoreAwayError } from '#src/store/store-availability.ts';

// A store of 10 MB, of which calls and messages may fill 8.5 MB and results 7.5 MB. Half a megabyte is in use from the start.

const HOUR_MS = 3_600_000;
const KB = 1000;
// What a process takes ahead, or gives back, before its tenant's record knows.
const AHEAD = 64 * 1024;

const redis = useRedis();

/** A store of records, and its time. */
const openRecords = (backend: 'SQLite' | 'Redis') => {
  const startsAt = backend === 'Redis' ? Date.now() : 1_000_000;
  const { stores, pass } = backend === 'Redis' ? openRedisRecords([redis()]) : toOne(openSqliteRecords());
  const [store] = stores;
  if (store === undefined) throw new Error('There is one.');
  let passed = 0;
  return {
    store,
    now: () => startsAt + passed,
    pass: (ms: number) => {
      passed += ms;
      pass(ms);
    },
  };
};

const toOne = ({ store, pass }: ReturnType<typeof openSqliteRecords>) => ({ stores: [store], pass });

let tenants = 0;
/** Two that no other test has. */
const newTenants = (): readonly [string, string] => {
  tenants += 1;
  return [`acme-${tenants}`, `globex-${tenants}`];
};

/** The same records, of which `before` is called before each update. */
const watched = (store: RecordStore, before: () => Promise<void> | void): RecordStore => ({
  now: store.now,
  open: (kind) => {
    const records = store.open(kind);
    return {
      update: async (...words) => {
        await before();
        return records.update(...words);
      },
      read: (...words) => records.read(...words),
      list: (...words) => records.list(...words),
      delete: (key) => records.delete(key),
    };
  },
});

test.each([['SQLite'], ['Redis']] as const)(
  'a tenant keeps at most as much as it leaves free, the next one as much as both leave free, and what is given back is there again: %s',
  async (backend) => {
    const { store, now } = openRecords(backend);
    const { space, look, fillUp, refused, toWeight } = openSpace(store, now);
    const [acme, globex] = newTenants();
    await look(0.5 * MB);
    const full = { taken: 4 * MB, shortage: { of: 'tenant', limit: 4 * MB } };
    expect(await fillUp(acme, 100 * KB)).toEqual(full);
    await look(4.5 * MB);
    expect(await fillUp(acme, 100 * KB)).toEqual({ ...full, taken: 0 });
    expect(await fillUp(globex, 100 * KB)).toEqual({ taken: 2 * MB, shortage: { of: 'tenant', limit: 2 * MB } });
    await look(6.5 * MB);
    expect(await fillUp(globex, 10 * KB, 'results')).toMatchObject({ taken: 0, shortage: { of: 'tenant' } });
    expect(await fillUp(acme, 100 * KB, 'deliveries')).toMatchObject({ taken: 0, shortage: { of: 'tenant' } });
    space.give(acme, toWeight(3 * MB));
    await look(3.5 * MB);
    expect((await fillUp(acme, 100 * KB, 'pending_results')).taken).toBe(2 * MB);
    expect(new Set(refused)).toEqual(
      new Set([
        ...['arguments', 'deliveries', 'pending_results'].map((what) => `${what} tenant ${acme}`),
        ...['arguments', 'results'].map((what) => `${what} tenant ${globex}`),
      ]),
    );
  },
);

test.each([['SQLite'], ['Redis']] as const)(
  'what a process that was killed has taken is counted until it ends, and no longer: %s',
  async (backend) => {
    const { store, now, pass } = openRecords(backend);
    const [acme] = newTenants();
    const killed = openSpace(store, now);
    await killed.look(0.5 * MB);
    expect((await killed.fillUp(acme, 100 * KB)).taken).toBe(4 * MB);
    const next = openSpace(store, now);
    await next.look(4.5 * MB);
    expect((await next.fillUp(acme, 100 * KB)).taken).toBe(0);
    pass(23 * HOUR_MS);
    await next.look(4.5 * MB);
    expect((await next.fillUp(acme, 100 * KB)).taken).toBe(0);
    pass(2 * HOUR_MS);
    await next.look(0.5 * MB);
    expect((await next.fillUp(acme, 100 * KB)).taken).toBe(4 * MB);
  },
);

/** What two replicas know of a Redis that starts with half a megabyte, and of which only they take. */
const openTwoReplicas = async () => {
  const usage = { bytes: 0.5 * MB };
  const [one, other] = openRedisRecords([redis(), await connectToRedis(toUrl())]).stores.map((store) =>
    openSpace(store, Date.now, usage),
  );
  if (one === undefined || other === undefined) throw new Error('There are two.');
  await Promise.all([one.space.look(), other.space.look()]);
  return [one, other] as const;
};

test('two replicas together keep what one may, and at most 64 KiB more each', async () => {
  const [one, other] = await openTwoReplicas();
  const [acme] = newTenants();
  const taken = (await Promise.all([one.fillUp(acme, 1 * KB), other.fillUp(acme, 1 * KB)])).map(
    ({ taken: bytes }) => bytes,
  );
  expect(Math.min(...taken)).toBeGreaterThan(0);
  const sum = taken.reduce((all, bytes) => all + bytes, 0);
  expect(sum).toBeGreaterThan(4 * MB - 2 * KB);
  expect(sum).toBeLessThan(4 * MB + 2 * AHEAD);
  // What one gives back the other finds.
  one.space.give(acme, one.toWeight(1 * MB));
  let again = 0;
  const takeMore = async () => {
    await other.look(3.5 * MB + again);
    again += (await other.fillUp(acme, 100 * KB)).taken;
    return again;
  };
  await expect.poll(takeMore, { timeout: timeLimit(10_000) }).toBeGreaterThan(0.8 * MB);
});

test('what a tenant took by one replica since the last look of the other is not counted twice in its favour', async () => {
  const [one, other] = await openTwoReplicas();
  const [acme, globex] = newTenants();
  expect((await one.fillUp(globex, 100 * KB)).taken).toBe(4 * MB);
  expect((await one.fillUp(acme, 100 * KB)).taken).toBe(2 * MB);
  const taken = (await other.fillUp(globex, 1 * KB)).taken + (await other.fillUp(acme, 1 * KB)).taken;
  expect(taken).toBeLessThan(2 * AHEAD);
});

test('many pieces that come at once are taken one after the other, and no more than there is room for', async () => {
  const { space, look, toWeight } = openSpace(openRecords('Redis').store);
  const [acme] = newTenants();
  await look(0.5 * MB);
  const pieces = Array.from({ length: 100 }, () => space.take(acme, 'arguments', toWeight(0.5 * MB)));
  const shortages = await Promise.all(pieces);
  expect(shortages.filter((shortage) => shortage === null)).toHaveLength(8);
});

test('the record of a tenant is asked once for 64 KiB, and once a second while the tenant finds no room', async () => {
  const asked = { updates: 0 };
  const store = watched(openRecords('SQLite').store, () => {
    asked.updates += 1;
  });
  const { space, look, fillUp, toWeight } = openSpace(store, () => 1_000_000);
  const [acme] = newTenants();
  await look(0.5 * MB);
  await space.take(acme, 'results', toWeight(500));
  asked.updates = 0;
  for (let count = 0; count < 1000; count += 1) {
    const room = space.take(acme, 'results', toWeight(500));
    if (room instanceof Promise) await room;
  }
  expect(asked.updates).toBeLessThan(10);
  await fillUp(acme, 100 * KB);
  await look(4.5 * MB);
  asked.updates = 0;
  for (let count = 0; count < 100; count += 1) await fillUp(acme, 100 * KB);
  expect(asked.updates).toBe(1);
});

test('what a process has not told is told when it stops', async () => {
  const { store } = openRecords('SQLite');
  const [acme] = newTenants();
  const first = openSpace(store, () => 1_000_000);
  await first.look(0.5 * MB);
  await first.space.take(acme, 'results', first.toWeight(1 * KB));
  await first.space.take(acme, 'results', first.toWeight(40 * KB));
  await first.space.stop();
  const share = await store.open(shareKind).read(`${acme}:kept`, (bytes) => [...bytes.values()]);
  expect(share).toEqual([41 * KB]);
});

test('a store that is too full takes nothing of any tenant, and one that was never asked takes everything', async () => {
  const { space, look, fillUp, refused, toWeight } = openSpace(openRecords('SQLite').store, () => 1_000_000);
  const [acme] = newTenants();
  expect(await space.take(acme, 'results', toWeight(50 * MB))).toBeNull();
  space.give(acme, toWeight(50 * MB));
  await look(8.5 * MB);
  expect(await fillUp(acme, 1)).toEqual({ taken: 0, shortage: { of: 'store', limit: 85 } });
  expect(await fillUp(acme, 1, 'results')).toEqual({ taken: 0, shortage: { of: 'store', limit: 75 } });
  expect(space.mayKeepJournals()).toBe(false);
  expect(refused).toEqual([`arguments store ${acme}`, `results store ${acme}`, 'journals store ']);
  await look(7.4 * MB);
  expect(space.mayKeepJournals()).toBe(true);
});

test('while its store is away everything is taken, and told once when it is back', async () => {
  let isAway = true;
  const guarded = watched(openRecords('SQLite').store, () => {
    if (isAway) throw new StoreAwayError('away');
  });
  const [acme] = newTenants();
  const { space, look, fillUp, toWeight } = openSpace(guarded, () => 1_000_000);
  await look(0.5 * MB);
  for (let count = 0; count < 30; count += 1)
    expect(await space.take(acme, 'arguments', toWeight(100 * KB))).toBeNull();
  isAway = false;
  await look(3.5 * MB);
  expect((await fillUp(acme, 100 * KB)).taken).toBe(1 * MB);
});

test('a damaged record of a tenant counts nothing that cannot be read', async () => {
  const [acme] = newTenants();
  const { look, fillUp } = openSpace(openRecords('Redis').store);
  await redis().hset(`recourse2:{${acme}:kept}:share`, {
    v: 'x',
    'e:1e999': '5',
    'e:600000': 'NaN',
    'e:x': '99999999999',
  });
  await look(0.5 * MB);
  expect((await fillUp(acme, 100 * KB)).taken).toBe(4 * MB);
});

const toUrl = (): string => `redis://${redis().options.host}:${redis().options.port}`;
