import { openRedisRecords, openSqliteRecords } from '@recourse/test-support/record-stores-under-test.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { RecordStore } from 'recourse-server/store/record-store';
import { expect, onTestFinished, test } from 'vitest';
import { HourFigures } from '#src/contract/contract.ts';
import { CallCounts } from '#src/figures/call-counts.ts';
import { bucketOf, middleOf } from '#src/figures/durations.ts';
import { hourKind, writersKind } from '#src/figures/hour-kind.ts';
import { everything, openReplica } from './figures-lab.ts';

const MINUTE_MS = 60_000;

/** Replicas that share a Redis. Time passes for all of them. */
const openReplicas = async (count: number) => {
  const redis = await redisForTests();
  const connections = Array.from({ length: count + 1 }, () => new Redis(redis.url));
  onTestFinished(async () => {
    for (const connection of connections) connection.disconnect();
    await redis.stop();
  });
  const { stores, pass } = openRedisRecords(connections);
  const [store, ...others] = stores;
  if (store === undefined) throw new Error('There is no connection.');
  /** A process that has not counted anything. */
  const openFresh = () => openReplica(store);
  return { replicas: others.map((records) => openReplica(records)), store, pass, openFresh };
};

const toolsOf = ({ tools }: HourFigures) => tools.map(({ tool, calls, failures }) => `${tool} ${calls} ${failures}`);

test('a duration is shown at most an eighth off, however short or long', () => {
  fc.assert(
    fc.property(fc.double({ min: 0.004, max: 2_147_000, noNaN: true }), (ms) => {
      expect(Math.abs(middleOf(bucketOf(ms)) - ms)).toBeLessThanOrEqual(ms / 8 + 0.001);
    }),
  );
  expect([0.0001, 1e12].map(bucketOf)).toEqual([0, 119]);
});

test('three replicas are summed, also for one that starts when they have gone', async () => {
  const { replicas, pass, openFresh } = await openReplicas(3);
  const [one, two, three] = replicas;
  if (one === undefined || two === undefined || three === undefined) throw new Error('Three were asked for.');
  one.call({ tool: 'pay', ms: 10 });
  two.call({ tool: 'pay', code: 'timeout', ms: 1000, message: 'first' });
  three.call({ tool: 'list', ms: 10 });
  three.call({ tenant: 'other', tool: 'secret', code: 'timeout', message: 'of another tenant' });
  await Promise.all([one.write(), two.write(), three.write()]);
  pass(2 * MINUTE_MS);
  await one.read('acme', everything);
  one.call({ tool: 'pay', code: 'timeout', ms: 1000, message: 'second' });
  await one.write();
  for (const reader of [one, openFresh()]) {
    const figures = HourFigures.parse(await reader.read('acme', everything));
    expect(toolsOf(figures)).toEqual(['pay 3 2', 'list 1 0']);
    expect(figures.total).toMatchObject({ calls: 4, failures: 2 });
    expect(figures.minutes.slice(-3).map(({ calls, failures }) => [calls, failures])).toEqual([
      [3, 1],
      [0, 0],
      [1, 1],
    ]);
    expect(figures.tools[0]?.calls_by_minute.slice(-3)).toEqual([2, 0, 1]);
    expect(figures.faults).toEqual({ tool: 2 });
    expect(figures.failures).toMatchObject([
      { tool: 'pay', code: 'timeout', failures: 2, is_now: true, message: 'second', reference: 'of second' },
    ]);
    const [{ since, last_at } = { since: '', last_at: '' }] = figures.failures;
    expect(Math.round((Date.parse(last_at) - Date.parse(since)) / MINUTE_MS)).toBe(2);
    expect(JSON.stringify(figures)).not.toMatch(/another tenant|secret/);
  }
});

test('what a replica writes late is shown by one that has read of it before', async () => {
  const { replicas, pass } = await openReplicas(2);
  const [reader, late] = replicas;
  if (reader === undefined || late === undefined) throw new Error('Two were asked for.');
  const read = async () => toolsOf(await reader.read('acme', everything));
  late.call({ tool: 'pay' });
  await late.write();
  await expect.poll(read).toEqual(['pay 1 0']);
  for (let minutes = 0; minutes < 3; minutes += 1) {
    late.call({ tool: 'pay', code: 'timeout' });
    pass(5 * MINUTE_MS);
    await late.read('acme', everything);
    await expect.poll(read).toEqual(['pay 1 0']);
  }
  await late.write();
  await expect.poll(read, { timeout: timeLimit(5000) }).toEqual(['pay 4 3']);
});

test('in a file, a process finds what the one before it has counted', async () => {
  const { store, pass } = openSqliteRecords();
  const before = openReplica(store);
  before.call({ tool: 'pay', code: 'timeout' });
  await before.write();
  pass(MINUTE_MS);
  const after = openReplica(store);
  after.call({ tool: 'pay' });
  expect(toolsOf(await after.read('acme', everything))).toEqual(['pay 2 1']);
  pass(59 * MINUTE_MS);
  expect(toolsOf(await after.read('acme', everything))).toEqual(['pay 1 0']);
});

test('what a key may not use is left out of everything, totals included', async () => {
  const { store } = openSqliteRecords();
  const replica = openReplica(store);
  replica.call({ tool: 'pay', code: 'timeout', ms: 1000 });
  replica.call({ tool: 'list', ms: 10 });
  replica.call({ tool: 'list', ms: 10 });
  const mayUse = (tool: string) => tool === 'list';
  const figures = await replica.read('acme', mayUse);
  expect(figures).toMatchObject({ total: { calls: 2, failures: 0 }, more_tools: 0, failures: [], faults: {} });
  expect(figures.total.p95_ms).toBeLessThan(12);
  expect(toolsOf(figures)).toEqual(['list 2 0']);
  expect(JSON.stringify(figures)).not.toContain('pay');
  expect(toolsOf(await replica.read('acme', everything))).toEqual(['pay 1 1', 'list 2 0']);
  expect(toolsOf(await replica.read('other', everything))).toEqual([]);
});

/** What is counted, minute by minute, by the simplest means. */
const createModel = () => {
  const calls: { minute: number; tool: string; failed: boolean }[] = [];
  return {
    add: (minute: number, tool: string, failed: boolean) => calls.push({ minute, tool, failed }),
    describe: (minute: number, mayUse: (tool: string) => boolean) => {
      const seen = calls.filter((call) => call.minute > minute - 60 && mayUse(call.tool));
      const tools = [...new Set(seen.map(({ tool }) => tool))].toSorted();
      return {
        minutes: Array.from(
          { length: 60 },
          (_, place) => seen.filter((call) => call.minute === minute - 59 + place).length,
        ),
        tools: tools.map((tool) => {
          const own = seen.filter((call) => call.tool === tool);
          return `${tool} ${own.length} ${own.filter(({ failed }) => failed).length}`;
        }),
      };
    },
  };
};

const Step = fc.record({
  replica: fc.nat({ max: 2 }),
  tool: fc.constantFrom('a', 'b', 'c'),
  failed: fc.boolean(),
  minutes: fc.constantFrom(0, 0, 0, 1, 2, 30, 59),
});
type Step = typeof Step extends fc.Arbitrary<infer Value> ? Value : never;
const notA = (tool: string) => tool !== 'a';

test('whatever replicas count and write, and whenever, their sums are those of all calls of the last hour', async () => {
  const { replicas, store, pass, openFresh } = await openReplicas(3);
  const minute = () => Math.floor(store.now() / MINUTE_MS);
  let runs = 0;
  const runAll = async (steps: readonly Step[]) => {
    runs += 1;
    const tenant = `tenant_${runs}`;
    const model = createModel();
    // One that counts all, and is asked from the first step on: what has changed is taken out of its sums, and what is over.
    const alone = openReplica(store, 'process');
    for (const { replica, tool, failed, minutes } of steps) {
      pass(minutes * MINUTE_MS);
      const call = { tenant, tool, ...(failed ? { code: 'timeout' as const } : {}) };
      const one = replicas[replica];
      await one?.read(tenant, everything);
      one?.call(call);
      await one?.write();
      for (const mayUse of [everything, notA]) await alone.read(tenant, mayUse);
      alone.call(call);
      model.add(minute(), tool, failed);
    }
    return { tenant, model, readers: [openFresh(), alone] };
  };
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { maxLength: 25 }), async (steps) => {
      const { tenant, model, readers } = await runAll(steps);
      for (const mayUse of [everything, notA]) {
        const expected = model.describe(minute(), mayUse);
        for (const reader of readers) {
          const figures = await reader.read(tenant, mayUse);
          expect(figures.minutes.map(({ calls }) => calls)).toEqual(expected.minutes);
          expect(toolsOf(figures).toSorted()).toEqual(expected.tools);
          expect(figures.total.p50_ms === null).toBe(figures.total.calls === 0);
        }
      }
    }),
    { numRuns: 60 },
  );
});

test('a run of failures goes on where another replica has seen the ones before, and ends after ten quiet minutes', async () => {
  const { replicas, store, pass, openFresh } = await openReplicas(2);
  const [one, other] = replicas;
  if (one === undefined || other === undefined) throw new Error('Two were asked for.');
  const sinceOf = async () => {
    const [failure] = (await openFresh().read('acme', everything)).failures;
    return {
      minutes: Math.floor((store.now() - Date.parse(failure?.since ?? '')) / MINUTE_MS),
      isNow: failure?.is_now,
    };
  };
  one.call({ tool: 'pay', code: 'timeout' });
  await one.write();
  pass(9 * MINUTE_MS);
  expect(await sinceOf()).toEqual({ minutes: 9, isNow: false });
  other.call({ tool: 'pay', code: 'timeout' });
  await other.write();
  expect(await sinceOf()).toEqual({ minutes: 9, isNow: true });
  pass(10 * MINUTE_MS);
  one.call({ tool: 'pay', code: 'timeout' });
  await one.write();
  expect(await sinceOf()).toEqual({ minutes: 0, isNow: true });
});

test('a damaged record costs its own figures alone', async () => {
  const { store } = openSqliteRecords();
  const replica = openReplica(store);
  replica.call({ tool: 'pay', code: 'timeout' });
  await replica.write();
  const minute = Math.floor(store.now() / MINUTE_MS);
  const id = '0123456789abcdef';
  await store.open(writersKind).update('acme:figures', (writers) => {
    for (const name of [id, 'not an id', '__proto__']) writers.set(name, store.now());
  });
  const damaged = fc.record({
    n: fc.constantFrom('', 'pay', 'pay timeout', '__proto__ timeout', 'a/b\u0000 <b> pay', 'x'.repeat(100_000)),
    f: fc.constantFrom(
      '',
      '{',
      '[]',
      '{"runs":[null,{"tool":"pay"}]}',
      '{"runs":{}}',
      `{"runs":[{"tool":"pay","code":"constructor","since":1e99,"last":1e99,"message":"","reference":""}]}`,
    ),
    m: fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
    ),
  });
  await fc.assert(
    fc.asyncProperty(damaged, async ({ n, f, m }) => {
      await store.open(hourKind).update(`acme:${id}`, (record) => {
        for (const [name, text] of Object.entries({ h: m, n, f, [`m:${minute}`]: m })) record.set(name, text);
      });
      const figures = HourFigures.parse(await openReplica(store).read('acme', everything));
      expect(figures.tools.find(({ tool }) => tool === 'pay')?.calls ?? 0).toBeGreaterThanOrEqual(1);
      expect(figures.failures).toHaveLength(1);
    }),
    { numRuns: 300 },
  );
});

test('further tools of a minute displace and break nothing', async () => {
  const { store } = openSqliteRecords();
  const replica = openReplica(store);
  for (let tenant = 0; tenant < 900; tenant += 1) replica.call({ tenant: `tenant_${tenant}`, tool: 'pay' });
  replica.call({ tenant: 'last', tool: 'pay' });
  for (let tool = 0; tool < 12_000; tool += 1) replica.call({ tenant: 'last', tool: `tool_${tool}` });
  const last = await replica.read('last', everything);
  // 10,000 in all: some are of other tenants.
  expect(last.total.calls).toBeGreaterThan(8000);
  expect(last.total.calls).toBeLessThanOrEqual(10_000);
  expect(last.tools).toHaveLength(50);
  expect(last.more_tools).toBe(last.total.calls - 50);
  expect((await replica.read('tenant_899', everything)).total.calls).toBe(1);
});

/** Names of the records of hours that were written. */
const watchHours = (store: RecordStore) => {
  const written = new Set<string>();
  const open: RecordStore['open'] = (kind) => {
    const records = store.open(kind);
    return {
      ...{ list: records.list.bind(records), delete: records.delete.bind(records), read: records.read.bind(records) },
      update: (key, decide, timeout) => {
        if (kind.name === hourKind.name) written.add(key);
        return records.update(key, decide, timeout);
      },
    };
  };
  return { store: { ...store, now: store.now, open }, written };
};

test('of more tenants than have a place some are counted whole, each with one record, and one that is quiet makes room', async () => {
  const { store: records, pass } = openSqliteRecords();
  const { store, written } = watchHours(records);
  const replica = openReplica(store);
  const callAll = (from: number, to: number): void => {
    for (let tenant = from; tenant < to; tenant += 1)
      replica.call({ tenant: `tenant_${tenant}`, tool: 'pay', code: 'timeout' });
  };
  const read = async (tenant: number) => replica.read(`tenant_${tenant}`, everything);
  for (let minutes = 0; minutes < 4; minutes += 1) {
    for (let times = 0; times < 2; times += 1) {
      callAll(0, 1500);
      await replica.write();
    }
    pass(MINUTE_MS);
  }
  expect(written.size).toBe(1000);
  expect((await read(0)).total).toMatchObject({ calls: 8, failures: 8 });
  expect((await read(999)).total).toMatchObject({ calls: 8, failures: 8 });
  expect(await read(1000)).toMatchObject({ total: { calls: 0 }, failures: [] });
  // Tenants of which these are the last are quiet for ten minutes.
  for (let minutes = 0; minutes < 12; minutes += 1) {
    callAll(0, 995);
    callAll(1000, 1003);
    pass(MINUTE_MS);
    await replica.read('tenant_0', everything);
  }
  callAll(1000, 1003);
  await replica.write();
  expect((await read(0)).total.calls).toBe(20);
  for (const tenant of [1000, 1001, 1002]) expect((await read(tenant)).total.calls).toBeGreaterThan(0);
  // Three of five made room for three; what they had written is there.
  expect(written.size).toBe(1003);
  for (const tenant of [995, 999]) expect((await read(tenant)).total.calls).toBe(8);
});

test('whatever tenants are displaced, each call that was counted is told once to who counts further', () => {
  const counts = new CallCounts();
  const told = new Map<string, number>();
  let uncounted = 0;
  counts.turn(1);
  for (let tenant = 0; tenant < 1000; tenant += 1) counts.answered(`tenant_${tenant}`, 'pay', null, 1);
  for (let minute = 2; minute < 15; minute += 1) {
    counts.answered('late', 'pay', null, 1);
    counts.answered('tenant_0', 'pay', null, 1);
    uncounted += counts.turn(minute);
  }
  expect([counts.hours.has('late'), counts.hours.has('tenant_0'), counts.hours.size]).toEqual([true, true, 1000]);
  counts.takeCalls((tenant, _tool, calls) => void told.set(tenant, (told.get(tenant) ?? 0) + calls));
  expect(told.get('tenant_0')).toBe(14);
  expect(told.get('tenant_1')).toBe(1);
  expect(uncounted).toBeGreaterThan(8);
  expect(told.get('late')).toBe(13 - uncounted);
  expect(told.size).toBe(1001);
});
