import {
  type AgingRecords,
  aroundUpdates,
  openSqliteRecords,
} from '@recourse/test-support/record-stores-under-test.ts';
import type { ToolInvoked } from 'recourse-server/executor/call-observer';
import { toFailure } from 'recourse-server/executor/call-outcome';
import { expect, test } from 'vitest';
import { CallCounts } from '#src/figures/call-counts.ts';
import { ReportBook } from '#src/reports/report-book.ts';
import { addCounts, createCounts, toolCountsOf, toStoredBytes } from '#src/reports/report-counts.ts';

const EVENT: ToolInvoked = {
  ...{ requestId: 'r', traceId: null, tenant: 'acme', key: null, session: null, index: 0, callId: null },
  ...{ tool: '_unknown', success: false, outcome: 'retry', executed: 'no', code: 'unknown_tool', fault: 'caller' },
  ...{ fatal: false, replayed: false, durationMs: 0, message: '', valueJson: 'null' },
};
const UNKNOWN = toFailure('unknown_tool', 'Unknown tool', null);

const open = ({ store }: Pick<AgingRecords, 'store'>, room: 'free' | 'full' = 'free') => {
  const counts = new CallCounts();
  counts.turn(1);
  const book = new ReportBook(counts.takeCalls);
  const added: number[] = [];
  const space = {
    mayKeepJournals: () => room === 'free',
    add: (_: string, { bytes }: { bytes: number }) => void added.push(bytes),
  };
  book.open({
    ...{ records: store, space, schemaOf: () => undefined },
    redactor: { cut: (text: string, length: number) => text.slice(0, length) },
  });
  const call = (tenant = 'acme'): void => counts.answered(tenant, 'pay', null, 1);
  const ask = (name: string): void => book.watch.failed(EVENT, UNKNOWN, { name, reference: '' }, null);
  const calls = async (tenant = 'acme') => (await book.read(tenant, 0)).tools.get('pay')?.calls ?? 0;
  return { book, counts, added, call, ask, calls };
};

/** A store whose answers can be lost: what was asked of it is done, or is not. */
const createLossy = ({ store }: AgingRecords) => {
  const state = { loses: null as 'answer' | 'request' | null, updates: 0 };
  const lossy = aroundUpdates(store, async (update) => {
    state.updates += 1;
    if (state.loses === 'request') throw new Error('the store is away');
    const result = await update();
    if (state.loses === 'answer') throw new Error('the answer is lost');
    return result;
  });
  return { store: lossy, state };
};

test.each(['answer', 'request'] as const)('a write whose %s is lost is sent again and counts once', async (loses) => {
  const { store, state } = createLossy(openSqliteRecords());
  const [one, other] = [open({ store }), open({ store })];
  state.loses = loses;
  one.call();
  await one.book.write();
  expect(await one.calls()).toBe(1);
  one.call();
  await one.book.write();
  expect(await one.calls()).toBe(2);
  state.loses = null;
  await one.book.write();
  await one.book.write();
  other.call();
  await other.book.write();
  expect(await open({ store }).calls()).toBe(3);
});

test('a store that is away is asked once a turn, however many tenants wait', async () => {
  const { store, state } = createLossy(openSqliteRecords());
  const { book, call, calls } = open({ store });
  state.loses = 'request';
  for (const tenant of ['a', 'b', 'c']) call(tenant);
  await book.write();
  expect(state.updates).toBe(1);
  state.loses = null;
  await book.write();
  expect([await calls('a'), await calls('b'), await calls('c')]).toEqual([1, 1, 1]);
});

test('nothing is written while the store is nearly full, and what is written is weighed', async () => {
  const records = openSqliteRecords();
  const full = open(records, 'full');
  full.call();
  await full.book.write();
  expect(full.added).toEqual([]);
  expect(await open(records).calls()).toBe(0);
  const free = open(records);
  free.call();
  await free.book.write();
  free.call();
  await free.book.write();
  const [first = 0, second = 0] = free.added;
  expect(first).toBeGreaterThan(100);
  expect(second).toBeLessThan(10);
});

test('a report since an hour has nothing of the hours before it', async () => {
  const records = openSqliteRecords();
  const { book, call } = open(records);
  const hour = 3_600_000;
  for (const wait of [0, hour, hour]) {
    records.pass(wait);
    call();
    await book.write();
  }
  const thisHour = Math.floor(records.store.now() / hour) * hour;
  const since = async (hours: number) => (await book.read('acme', thisHour - hours * hour)).tools.get('pay')?.calls;
  expect([await since(0), await since(1), await since(2), await since(24)]).toEqual([1, 2, 3, 3]);
});

test('an hour is added to a day, and is gone after it', async () => {
  const records = openSqliteRecords();
  const { book, call, calls } = open(records);
  call();
  await book.write();
  records.pass(3_600_000);
  call();
  await book.write();
  expect(await calls()).toBe(2);
  records.pass(23.5 * 3_600_000);
  expect(await calls()).toBeLessThanOrEqual(2);
  records.pass(2 * 3_600_000);
  expect(await calls()).toBe(0);
});

test('a flood of invented names leaves those that come again and again, and stays small', async () => {
  const records = openSqliteRecords();
  const { book, ask } = open(records);
  for (let at = 0; at < 20_000; at += 1) {
    ask(`invented_${at}`);
    if (at % 100 === 0) ask('serach');
  }
  await book.write();
  const { names } = await open(records).book.read('acme', 0);
  expect(names.size).toBe(200);
  expect(names.get('serach')).toBe(200);
});

test('an hour of many tools that all fail in many ways stays below 200 kB', () => {
  const sum = createCounts();
  const some = createCounts();
  for (let at = 0; at < 400; at += 1) {
    const { rules, codes } = toolCountsOf(some, `some_tool_${at}`);
    codes.set('invalid_arguments', 1);
    for (let rule = 0; rule < 60; rule += 1) rules.set(`member_${rule}.[].name\na string of at most ${rule}`, rule);
  }
  addCounts(sum, some);
  const [[, { rules }] = ['', { rules: new Map() }]] = sum.tools;
  expect([...rules.values()].toSorted()).toEqual([55, 56, 57, 58, 59]);
  expect(toStoredBytes({ counts: sum, writers: new Map() })).toBeLessThan(200_000);
});

test('an hour keeps 200 tools of a tenant, those that are called most', async () => {
  const records = openSqliteRecords();
  const { book, counts } = open(records);
  for (let at = 0; at < 500; at += 1)
    for (let calls = 0; calls <= at % 7; calls += 1) counts.answered('acme', `tool_${at}`, null, 1);
  await book.write();
  const { tools } = await open(records).book.read('acme', 0);
  expect(tools.size).toBe(200);
  expect(Math.min(...[...tools.values()].map(({ calls }) => calls))).toBe(5);
});

test('calls of a minute are taken once, also over its end', async () => {
  const records = openSqliteRecords();
  const { book, counts, call, calls } = open(records);
  call();
  call();
  expect(await calls()).toBe(2);
  call();
  counts.turn(2);
  call();
  expect(await calls()).toBe(4);
  await book.write();
  counts.turn(3);
  counts.turn(4);
  await book.write();
  const { tools } = await open(records).book.read('acme', 0);
  expect(tools.get('pay')?.calls).toBe(4);
});
