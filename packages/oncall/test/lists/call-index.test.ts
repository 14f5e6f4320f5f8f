import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  aroundUpdates,
  openMemoryRecords,
  openRedisRecords,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import { redisForTests } from '@recourse/test-support/redis-server.ts';
import { connectToRedis } from '@recourse/test-support/session-stores-under-test.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { BatchAnswered, ToolInvoked } from 'recourse-server/executor/call-observer';
import { toFailure } from 'recourse-server/executor/call-outcome';
import { type StoreSpace, UNLIMITED_SPACE } from 'recourse-server/sessions/store-space';
import type { RecordStore } from 'recourse-server/store/record-store';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CallIndex, type DropReason } from '#src/lists/call-index.ts';
import { CallNotes } from '#src/lists/call-notes.ts';
import { indexKind } from '#src/lists/index-kind.ts';
import { hashOfSession } from './lists-lab.ts';

const FAILURE = toFailure('tool_exception', 'It failed.', null);

const cutText = (text: string, limit: number): string => text.slice(0, limit);

/** One replica: what it is told of, and its lists. Whole texts: a redactor is not what is tested. */
const createReplica = (store: RecordStore, { space = UNLIMITED_SPACE, replica = 'r1', cut = cutText } = {}) => {
  const notes = new CallNotes();
  const dropped: (readonly [DropReason, number])[] = [];
  const index = new CallIndex(notes, {
    backend: { records: store, space },
    redactor: { cut },
    time: Date.now,
    replica,
    idOf: () => null,
    onDropped: (...told) => void dropped.push(told),
  });
  let made = 0;
  return {
    index,
    dropped,
    batch: notes.watch.batch,
    succeed: (id: string, tenant = 'acme') => notes.watch.batch(createBatch(tenant, id, 0)),
    fail: (
      id: string,
      { tenant = 'acme', name = 'lookup', ...more }: Partial<ToolInvoked> & { name?: string } = {},
    ) => {
      made += 1;
      const event = createEvent(tenant, id, { requestId: `request-${made}`, ...more });
      notes.watch.failed(event, FAILURE, { name, reference: `${replica}-${made}` }, null);
      notes.watch.batch(createBatch(tenant, id, 1));
    },
  };
};

const createBatch = (tenant: string, id: string, failed: number): BatchAnswered => ({
  ...{ requestId: 'request', idBy: 'service', traceId: null, tenant, key: null, calls: 1, failed },
  ...{ session: `${tenant}:${hashOfSession(id)}`, durationMs: 1, slowestCallMs: 1, isResumed: false },
});

const createEvent = (tenant: string, id: string, more: Partial<ToolInvoked>): ToolInvoked => ({
  ...{ requestId: 'request', traceId: null, tenant, key: null, session: `${tenant}:${hashOfSession(id)}`, index: 0 },
  ...{ callId: null, tool: 'lookup', success: false, outcome: 'retry', executed: 'yes', code: 'tool_exception' },
  ...{ fault: 'tool', fatal: false, replayed: false, durationMs: 1, message: 'It failed.', valueJson: 'null' },
  ...more,
});

const openRedis = async () => {
  const redis = await redisForTests();
  const connections = await Promise.all([1, 2].map(() => connectToRedis(redis.url)));
  onTestFinished(async () => {
    for (const connection of connections) connection.disconnect();
    await redis.stop();
  });
  const [one, other] = openRedisRecords(connections).stores;
  const [connection] = connections;
  if (one === undefined || other === undefined || connection === undefined) throw new Error('There are two.');
  return { one, other, connection };
};

const OPENED = {
  memory: async () => openMemoryRecords().store,
  sqlite: async () => openSqliteRecords().store,
  redis: async () => (await openRedis()).one,
} as const;

describe.each(['memory', 'sqlite', 'redis'] as const)('lists on %s', (name) => {
  test('say the same before and after they are written, and each tenant has its own', async () => {
    const store = await OPENED[name]();
    const { index, fail, succeed } = createReplica(store);
    fail('one');
    succeed('two');
    fail('other', { tenant: 'globex' });
    const before = await index.read('acme');
    expect([...before.sessions.keys()].toSorted()).toEqual([hashOfSession('one'), hashOfSession('two')].toSorted());
    await index.write();
    const after = await index.read('acme');
    expect(new Map(after.sessions)).toEqual(new Map(before.sessions));
    expect(after.calls).toEqual(before.calls);
    expect((await index.read('globex')).calls).toMatchObject([{ call: { message: 'It failed.' } }]);
    // What a process knew that has ended is there for the next one.
    if (name !== 'memory') expect((await createReplica(store).index.read('acme')).calls).toEqual(before.calls);
  });

  test('show a failure whose message has line separators as they are', async () => {
    const { index, fail } = createReplica(await OPENED[name]());
    const message = 'one\u2028two\u2029three\u0085\nfour';
    fail('s', { message });
    await index.write();
    const { calls, sessions } = await index.read('acme');
    expect(calls).toMatchObject([{ call: { message } }]);
    expect(sessions.get(hashOfSession('s'))?.lastFailure?.message).toBe(message);
  });

  test('keep the last thousand failures, and a session that failed before thousands that did not', async () => {
    const store = await OPENED[name]();
    const { index, fail, succeed, dropped } = createReplica(store);
    fail('unlucky');
    for (let second = 0; second < 5; second += 1) {
      for (let n = 0; n < 900; n += 1) succeed(`s-${second}-${n}`);
      for (let n = 0; n < 300; n += 1) fail('loop', { requestId: `request-${second}-${n}` });
      await index.write();
    }
    const { sessions, calls } = await index.read('acme');
    expect(calls).toHaveLength(1000);
    expect(calls[0]?.call.request_id).toBe('request-4-299');
    expect(calls.at(-1)?.call.request_id).toBe('request-1-200');
    expect(sessions.get(hashOfSession('unlucky'))).toMatchObject({ failures: 1, calls: 1 });
    expect(sessions.get(hashOfSession('loop'))).toMatchObject({ failures: 1500, calls: 1500 });
    expect(sessions.has(hashOfSession('s-4-899'))).toBe(true);
    expect(sessions.size).toBe(1002);
    const kept = await Promise.all(
      ['failed', 'active'].map((list) => store.open(indexKind).list(`acme:${list}`, 10_000)),
    );
    for (const elements of kept) expect(elements.length).toBeLessThan(3000);
    expect(dropped).toEqual([]);
  });
});

test('what two replicas note of one session is put together, and an end or a reset of one counts for both', async () => {
  const { one, other } = await openRedis();
  const [first, second] = [createReplica(one, { replica: 'r1' }), createReplica(other, { replica: 'r2' })];
  for (let n = 0; n < 20; n += 1) {
    first.fail('shared', { code: 'retry_budget_exhausted', tool: 'lookup' });
    second.fail('shared');
    second.succeed('ended');
    await Promise.all([first.index.write(), second.index.write()]);
  }
  const key = `acme:${hashOfSession('shared')}`;
  const read = async () => (await first.index.read('acme')).sessions.get(hashOfSession('shared'));
  expect(await read()).toMatchObject({ calls: 40, failures: 40, blocked: [['lookup', expect.any(Number)]] });
  second.index.reset(key, 'lookup');
  second.index.ended(`acme:${hashOfSession('ended')}`);
  await second.index.write();
  const later = await createReplica(one).index.read('acme');
  expect(later.sessions.get(hashOfSession('shared'))?.resets).toMatchObject([['lookup', expect.any(Number)]]);
  expect(later.sessions.get(hashOfSession('ended'))).toMatchObject({ calls: 0, endedAt: expect.any(Number) });
});

test('a session that fails is listed however many are ended, and one that another replica has ended stays so', async () => {
  const { one, other } = await openRedis();
  const [first, second] = [createReplica(one, { replica: 'r1' }), createReplica(other, { replica: 'r2' })];
  const end = ({ index }: typeof first, id: string) => index.ended(`acme:${hashOfSession(id)}`);
  const shown = async (id: string) => {
    const part = (await createReplica(one).index.read('acme')).sessions.get(hashOfSession(id));
    return part === undefined || part.lastAt <= part.endedAt ? null : part;
  };
  first.fail('blocked', { code: 'retry_budget_exhausted' });
  first.fail('ended');
  first.succeed('used, failed and ended');
  await first.index.write();
  first.fail('used, failed and ended');
  await first.index.write();
  // In both lists are elements of it that its end must outlive.
  for (const id of ['ended', 'used, failed and ended']) end(second, id);
  await second.index.write();
  for (let n = 0; n < 6000; n += 1) {
    const id = `s-${n}`;
    first.succeed(id);
    if (n % 500 === 499) await first.index.write();
    end(second, id);
    if (n % 500 === 499) await second.index.write();
  }
  for (let n = 0; n < 3000; n += 1) {
    first.succeed(`alive-${n}`);
    if (n % 500 === 499) await first.index.write();
  }
  expect(await shown('blocked')).toMatchObject({ failures: 1, blocked: [['lookup', expect.any(Number)]] });
  for (const id of ['ended', 'used, failed and ended', 's-0', 's-4000', 's-5999']) expect(await shown(id)).toBeNull();
  const { sessions } = await createReplica(one).index.read('acme');
  const alive = [...sessions.values()].filter(({ lastAt, endedAt }) => lastAt > endedAt);
  expect(alive).toHaveLength(1001);
  // One that is used again after its end is among those that have not failed.
  first.succeed('ended');
  await first.index.write();
  expect(await shown('ended')).toMatchObject({ calls: 1, failures: 0 });
});

test.each(['succeed', 'fail'] as const)(
  'what a session does after its end is of those that have not failed: %s',
  async (before) => {
    const { store } = openSqliteRecords();
    const replica = createReplica(store);
    replica[before]('s');
    await replica.index.write();
    replica.index.ended(`acme:${hashOfSession('s')}`);
    await replica.index.write();
    replica.succeed('s');
    await replica.index.write();
    const last = async (list: string) => (await store.open(indexKind).list(`acme:${list}`, 10)).at(-1);
    expect(await last('failed')).toMatch(/"calls":0,"replica":"","endedAt":\d+\}$/);
    expect(await last('active')).toContain('"calls":1');
  },
);

test('of the resets of a session the latest hundred are kept, that of all tools among them, and merging them is quick', async () => {
  const { index, fail } = createReplica(openMemoryRecords().store);
  const key = `acme:${hashOfSession('s')}`;
  fail('s', { code: 'retry_budget_exhausted' });
  index.reset(key, null);
  const started = performance.now();
  for (let second = 0; second < 3; second += 1) {
    for (let n = 0; n < 10_000; n += 1) index.reset(key, `name-${second}-${n}`);
    await index.write();
  }
  const resets = new Map((await index.read('acme')).sessions.get(hashOfSession('s'))?.resets);
  expect(performance.now() - started).toBeLessThan(timeLimit(5000));
  expect(resets.size).toBe(100);
  expect(resets.has('*')).toBe(true);
  expect(resets.has('name-0-0')).toBe(false);
});

test('lists that replicas make short at the same time lose nothing that was added meanwhile', async () => {
  const { one, other } = await openRedis();
  const replicas = [createReplica(one), createReplica(other, { replica: 'r2' })];
  for (let second = 0; second < 12; second += 1) {
    for (const [place, { fail }] of replicas.entries())
      for (let n = 0; n < 300; n += 1) fail(`s-${place}-${n}`, { session: null });
    await Promise.all(replicas.map(({ index }) => index.write()));
  }
  const { sessions } = await createReplica(one).index.read('acme');
  expect(sessions.size).toBe(600);
  expect([...sessions.values()].map(({ calls }) => calls)).toEqual(Array.from({ length: 600 }, () => 12));
});

test('a replica under load writes one command a second, whatever its tenants are', async () => {
  const { one, connection } = await openRedis();
  const { index, fail, succeed } = createReplica(one);
  const countCommands = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await connection.info('commandstats'))?.[1] ?? 0);
  await index.write();
  const before = await countCommands();
  for (let second = 0; second < 10; second += 1) {
    for (let n = 0; n < 200; n += 1) (n % 5 === 0 ? fail : succeed)(`s-${n}`);
    for (let n = 0; n < 9; n += 1) fail('s', { tenant: `tenant-${n}` });
    await index.write();
  }
  // The script is sent once by its text, which is another command.
  expect((await countCommands()) - before).toBeLessThanOrEqual(10);
  expect((await index.read('acme')).calls).toHaveLength(400);
});

test('damaged and foreign elements are left out, and a record that is none is taken for nothing', async () => {
  const { one, connection } = await openRedis();
  const { index, fail } = createReplica(one);
  fail('good');
  await index.write();
  const [calls, failed] = ['calls', 'failed'].map((list) => `recourse2:{acme:${list}}:oncall-list`);
  if (calls === undefined || failed === undefined) throw new Error('There are two.');
  const now = Date.now();
  await connection.rpush(`${calls}:list`, 'text', `${now} id {"reference":1}`, `${now} id {`, 'NaN id {}');
  await connection.rpush(
    `${failed}:list`,
    `${now} ${hashOfSession('x')} {"calls":-1}`,
    `${now} y {"blocked":[["__proto__"]]}`,
  );
  const reader = createReplica(one).index;
  expect((await reader.read('acme')).calls).toHaveLength(1);
  expect([...(await reader.read('acme')).sessions.keys()]).toEqual([hashOfSession('good')]);
  await connection.del(calls);
  await connection.set(calls, 'no record');
  fail('good');
  await index.write();
  expect((await createReplica(one).index.read('acme')).calls.length).toBeGreaterThanOrEqual(1);
});

/** A store that rejects what is asked of it while it is away. */
const createAwayStore = () => {
  const { store } = openMemoryRecords();
  const state = { isAway: false };
  const away = (): Promise<never> => Promise.reject(new Error('away'));
  const open: RecordStore['open'] = (kind) => {
    const records = store.open(kind);
    return {
      ...records,
      update: (key, decide, timeout) => (state.isAway ? away() : records.update(key, decide, timeout)),
      list: (key, count) => (state.isAway ? away() : records.list(key, count)),
      read: (key, look, only) => (state.isAway ? away() : records.read(key, look, only)),
      delete: (key) => records.delete(key),
    };
  };
  return { state, store: { ...store, open } };
};

test('without room, or without a store, lines are dropped and counted, and the next second is written again', async () => {
  const { store, state } = createAwayStore();
  let hasRoom = true;
  const taken: number[] = [];
  const space: StoreSpace = {
    ...UNLIMITED_SPACE,
    take: (_tenant, what, { bytes }) => {
      if (what === 'index') taken.push(bytes);
      return hasRoom ? null : { of: 'tenant', limit: 1 };
    },
  };
  const { index, fail, dropped } = createReplica(store, { space });
  const second = async (): Promise<void> => {
    fail('s');
    await index.write();
  };
  await second();
  await second();
  // Of a list of sessions and one of calls, and of neither again before it has grown.
  expect(taken).toEqual([65_536, 65_536]);
  await second();
  expect(taken).toHaveLength(2);
  hasRoom = false;
  for (let n = 0; n < 999; n += 1) fail('s', { message: 'x'.repeat(300) });
  await index.write();
  await second();
  expect(dropped).toEqual([['room', 1]]);
  hasRoom = true;
  state.isAway = true;
  await second();
  expect(dropped.slice(1)).toEqual([
    ['store', 1],
    ['store', 1],
  ]);
  await expect(index.read('acme')).rejects.toThrow('away');
  state.isAway = false;
  await second();
  expect((await index.read('acme')).calls).toHaveLength(1000);
  expect(dropped).toHaveLength(3);
});

test('of what is too much for a second some is dropped and counted, and a tenant costs no other its turn', async () => {
  const { index, fail, dropped } = createReplica(openMemoryRecords().store);
  for (let n = 0; n < 1200; n += 1) fail('s', { tenant: `t-${n % 40}` });
  for (let n = 0; n < 4; n += 1) await index.write();
  expect(dropped).toEqual([['flood', 200]]);
  const listed = await Promise.all(Array.from({ length: 40 }, (_, n) => countCalls(index, `t-${n}`)));
  expect(listed.reduce((sum, calls) => sum + calls, 0)).toBe(1000);
});

const countCalls = async (index: CallIndex, tenant: string): Promise<number> => (await index.read(tenant)).calls.length;

const failMany = ({ fail }: ReturnType<typeof createReplica>, from: number, to: number): void => {
  for (let n = from; n < to; n += 1) fail('s', { tenant: `t-${n}` });
};

test('of many tenants a hundred are written each second, ten with one command', async () => {
  const { one, connection } = await openRedis();
  const replica = createReplica(one);
  const countCommands = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await connection.info('commandstats'))?.[1] ?? 0);
  failMany(replica, 0, 1);
  await replica.index.write();
  const before = await countCommands();
  failMany(replica, 0, 250);
  const countWritten = async (): Promise<number> => {
    await replica.index.write();
    const { index } = createReplica(one);
    const listed = await Promise.all(Array.from({ length: 250 }, (_, n) => countCalls(index, `t-${n}`)));
    return listed.filter((calls) => calls > 0).length;
  };
  expect([await countWritten(), await countWritten(), await countWritten()]).toEqual([100, 200, 250]);
  expect((await countCommands()) - before).toBe(25);
  expect(replica.dropped).toEqual([]);
});

test('a batch without a session is noted of none', async () => {
  const { index, batch, succeed } = createReplica(openMemoryRecords().store);
  batch({ ...createBatch('acme', 's', 1), session: null });
  succeed('s');
  expect([...(await index.read('acme')).sessions.values()]).toMatchObject([{ calls: 1, isFailing: false }]);
});

test('a replica shows what it is about to write', async () => {
  const { index, fail } = createReplica(slowDown(openSqliteRecords().store, 50));
  fail('s');
  const writing = index.write();
  expect(await countCalls(index, 'acme')).toBe(1);
  await writing;
});

test('at its end a replica writes all that waits, and counts what half a second was too short for', async () => {
  const { store } = openSqliteRecords();
  const replica = createReplica(store);
  failMany(replica, 0, 450);
  await replica.index.close();
  expect(replica.dropped).toEqual([]);
  expect(await countCalls(createReplica(store).index, 't-449')).toBe(1);
  const slow = createReplica(slowDown(store, 100));
  failMany(slow, 1000, 1450);
  const started = performance.now();
  await slow.index.close();
  expect(performance.now() - started).toBeLessThan(timeLimit(1500));
  const { index } = createReplica(store);
  const listed = await Promise.all(Array.from({ length: 450 }, (_, n) => countCalls(index, `t-${1000 + n}`)));
  const written = listed.filter((calls) => calls > 0).length;
  expect(written).toBeGreaterThanOrEqual(10);
  expect(written).toBeLessThan(100);
  // Of each tenant a call and a session.
  expect(new Set(slow.dropped.map(([reason]) => reason))).toEqual(new Set(['store']));
  expect(slow.dropped.reduce((sum, [, lines]) => sum + lines, 0)).toBe(2 * (450 - written));
});

const slowDown = (store: RecordStore, until: number | Promise<void>): RecordStore =>
  aroundUpdates(store, async (update) => {
    await (typeof until === 'number' ? setTimeout(until) : until);
    return update();
  });

test('of all tenants 20,000 lines wait: those that come then are dropped and counted', async () => {
  const replica = createReplica(openMemoryRecords().store);
  for (let n = 0; n < 15_000; n += 1000) {
    failMany(replica, n, n + 1000);
    await replica.index.read('acme');
  }
  expect(replica.dropped.every(([reason]) => reason === 'flood')).toBe(true);
  expect(replica.dropped.reduce((sum, [, lines]) => sum + lines, 0)).toBe(10_000);
  const listed = await Promise.all([0, 9_999, 10_000].map((n) => countCalls(replica.index, `t-${n}`)));
  expect(listed).toEqual([1, 1, 0]);
});

test('what was written for so many tenants that some are forgotten is written as before', async () => {
  let charged = 0;
  const take: StoreSpace['take'] = () => {
    charged += 1;
    return null;
  };
  const replica = createReplica(openMemoryRecords().store, { space: { ...UNLIMITED_SPACE, take } });
  const writeAll = async (from: number, to: number): Promise<number> => {
    charged = 0;
    for (let n = from; n < to; n += 100) {
      failMany(replica, n, n + 100);
      await replica.index.write();
    }
    return charged;
  };
  const writeUsed = async (calls: number): Promise<number> => {
    charged = 0;
    for (let n = 0; n < calls; n += 1) replica.fail('s', { message: 'x'.repeat(300) });
    await replica.index.write();
    return charged;
  };
  await writeUsed(1);
  await writeAll(0, 8000);
  // More than it is charged with until then.
  await writeUsed(300);
  await writeAll(8000, 15_100);
  expect(await writeUsed(1)).toBe(1);
  // A call and a session of each. What is known of the list is of its write before.
  expect(await writeAll(15_000, 15_100)).toBe(200);
  expect(await writeAll(0, 100)).toBe(0);
  expect(await writeAll(0, 100)).toBe(200);
  expect(replica.dropped).toEqual([]);
});

test('of a failed call no more is kept until it is written than is listed of it', async () => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('There is no gc.');
  const weigh = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const { index, fail } = createReplica(openMemoryRecords().store);
  const before = weigh();
  for (let n = 0; n < 300; n += 1) {
    // Begins another way each time, or they were one.
    const long = (text: string): string => Buffer.from(`${n} ${text}`.padEnd(200_000, '.')).toString();
    fail('s', { message: long('message'), callId: long('id'), name: long('name'), valueJson: long('"value') });
  }
  expect(weigh() - before).toBeLessThan(10_000_000);
  const { calls } = await index.read('acme');
  expect(calls).toHaveLength(300);
  const [{ call } = { call: null }] = calls;
  expect([call?.message, String(call?.id), call?.name].map((text) => text?.length)).toEqual([300, 256, 64]);
});

test('a secret that a message is cut at is in view whole when it is redacted', async () => {
  const seen: string[] = [];
  const cut = (text: string, limit: number): string => {
    seen.push(text);
    return text.slice(0, limit);
  };
  const { index, fail } = createReplica(openMemoryRecords().store, { cut });
  fail('s', { message: `${'x'.repeat(290)}${'s'.repeat(4096)}${'y'.repeat(10_000)}` });
  await index.read('acme');
  expect(seen.some((text) => text.includes('s'.repeat(4096)))).toBe(true);
});

test('of sessions of a second that have not failed the latest thousand are kept: one that has failed is seen to succeed before them', async () => {
  const { index, fail, succeed, dropped } = createReplica(openMemoryRecords().store);
  fail('mended');
  await index.write();
  succeed('mended');
  fail('broken');
  for (let n = 0; n < 1200; n += 1) for (const tenant of ['acme', 'globex']) succeed(`s-${n}`, tenant);
  await index.write();
  const { sessions } = await index.read('acme');
  expect(sessions.get(hashOfSession('mended'))).toMatchObject({ calls: 2, isFailing: false });
  expect(sessions.get(hashOfSession('broken'))).toMatchObject({ calls: 1, isFailing: true });
  const seen = [199, 200, 1199].map((n) => sessions.has(hashOfSession(`s-${n}`)));
  expect([sessions.size, ...seen]).toEqual([1002, false, true, true]);
  expect((await index.read('globex')).sessions.size).toBe(1000);
  expect(dropped).toEqual([]);
});

test('while a write waits for the store notes are taken each second: a thousand failures of each are listed', async () => {
  const held = Promise.withResolvers<void>();
  const { index, fail, dropped } = createReplica(slowDown(openMemoryRecords().store, held.promise));
  fail('s');
  const waiting = index.write();
  for (let second = 0; second < 3; second += 1) {
    for (let n = 0; n < 600; n += 1) fail('s');
    void index.write();
  }
  held.resolve();
  await waiting;
  await index.write();
  expect((await index.read('acme')).calls).toHaveLength(1000);
  expect(dropped).toEqual([]);
});
