import { accept, createMemoryCallsUnderTest, look, take } from '@recourse/test-support/call-records-under-test.ts';
import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { createByteBudget } from 'recourse-server/internal/memory/byte-budget.ts';
import { defineTool } from 'recourse-server/internal/tools/define-tool.ts';
import type { Tool } from 'recourse-server/internal/tools/tool.ts';
import { expect, test } from 'vitest';
import { handleOf } from '#src/calls/call-kind.ts';
import { createWorker } from '#src/worker.ts';

const tool = defineTool({
  name: 'x',
  description: 'Says that it ran.',
  effects: 'read',
  background: 'optional',
  input: { type: 'object', additionalProperties: true },
  run: () => 'ran',
});

/** A tool whose first run does not listen to its signal. */
const createDeafTool = () => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let runs = 0;
  const deaf = defineTool({
    name: 'x',
    description: 'Says which run it was.',
    effects: 'read',
    background: 'optional',
    input: { type: 'object', additionalProperties: true },
    run: async () => {
      runs += 1;
      const run = runs;
      begun.resolve();
      if (run === 1) await gate.promise;
      return run;
    },
  });
  return { deaf, whenBegun: begun.promise, letGo: gate.resolve };
};

/** Executors and workers of two processes that share their stores. */
const startLab = async (own: Tool = tool) => {
  const sessions = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const keys = createMemoryKeyedStore({ now });
  const { records, lapse } = await createMemoryCallsUnderTest();
  const ended: string[] = [];
  const startProcess = (tools: readonly Tool[] = [own]) => {
    const { executor, violations } = createSubject(tools, sessions, keys);
    const worker = createWorker({
      records,
      executeBatch: executor.executeBatch,
      sessions,
      budget: createByteBudget({ limitBytes: 64_000_000 }),
      hasTool: (name) => tools.some((one) => one.name === name),
      mayStart: () => 'yes',
      time: Date.now,
      onEnded: (_spec, result) => void ended.push(result),
      onFailed: (error) => void violations.push(error),
      count: () => undefined,
      onTakenOver: () => undefined,
    });
    return { executor, worker, violations };
  };
  return { sessions, records, lapse, ended, startProcess };
};

test('the journal tells the end of a call once, however often it was given back before', async () => {
  const { sessions, records, ended, startProcess } = await startLab();
  const [sessionKey, batchId] = ['tenant:session', 'batch'];
  const asked = { name: 'x', retries: 2, maxCalls: null, effects: 'read', polling: false } as const;
  const round = { sessionKey, batchId, roundId: null, leaseMs: 1000, tools: [asked], calls: [] };
  const ticket = (await sessions.admit(round)).ticketOf('x');
  const [acceptedAt, expiresAt] = [Date.now(), Date.now() + 60_000];
  const key = await accept(records, { sessionKey, ticket, effects: 'read', acceptedAt, expiresAt });
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  const leaving = startProcess();
  leaving.executor.drain();
  for (let times = 0; times < 3; times += 1) expect((await leaving.worker.run(job)).kind).toBe('later');
  await leaving.executor.whenIdle();
  expect(await look(records, key)).toMatchObject({ state: 'queued', begins: 0 });
  expect((await sessions.read(sessionKey)).journal).toEqual([]);
  const staying = startProcess();
  expect(await staying.worker.run(job)).toEqual({ kind: 'done' });
  await staying.executor.whenIdle();
  const lines = (await sessions.read(sessionKey)).journal.map((line): unknown => JSON.parse(line));
  expect(lines).toMatchObject([{ late: { outcome: 'success' } }]);
  expect(ended).toHaveLength(1);
  expect([...leaving.violations, ...staying.violations]).toEqual([]);
});

test('a call that was given back while it ran is ended by the worker that has it next, which tells of its end', async () => {
  const { deaf, whenBegun, letGo } = createDeafTool();
  const { records, ended, startProcess } = await startLab(deaf);
  const [acceptedAt, expiresAt] = [Date.now(), Date.now() + 60_000];
  const key = await accept(records, { effects: 'read', acceptedAt, expiresAt });
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  const [leaving, staying] = [startProcess(), startProcess()];
  const left = leaving.worker.run(job);
  await whenBegun;
  leaving.worker.giveBack();
  expect((await left).kind).toBe('later');
  letGo();
  await leaving.executor.whenIdle();
  await new Promise((resolve) => setImmediate(resolve));
  expect(await look(records, key)).toMatchObject({ state: 'queued', begins: 0, result: null });
  expect(await staying.worker.run(job)).toEqual({ kind: 'done' });
  expect(ended.map((result): unknown => JSON.parse(result))).toMatchObject([{ outcome: 'success', value: 2 }]);
});

test('a worker without the tool gives a call back until a worker has it, and never runs out of tries', async () => {
  const { records, ended, startProcess } = await startLab();
  const [acceptedAt, expiresAt] = [Date.now(), Date.now() + 60_000];
  const key = await accept(records, { effects: 'read', acceptedAt, expiresAt });
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  const [without, having] = [startProcess([]), startProcess()];
  for (let times = 0; times < 5; times += 1) expect((await without.worker.run(job)).kind).toBe('later');
  expect(await look(records, key)).toMatchObject({ state: 'queued', begins: 0, result: null });
  expect(await having.worker.run(job)).toEqual({ kind: 'done' });
  expect(ended.map((result): unknown => JSON.parse(result))).toMatchObject([{ outcome: 'success', value: 'ran' }]);
});

test.each([
  ['its time is over', null, 0],
  ['ten minutes have passed since a worker first gave it back', 600_000, 3_000_000],
])('a call whose tool no worker has is refused when %s', async (_when, age, left) => {
  const { records, ended, startProcess } = await startLab();
  const key = await accept(records, { effects: 'write', acceptedAt: Date.now(), expiresAt: Date.now() + left });
  if (age !== null) await records.release((await take(records, key)).lease, Date.now() - age);
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  expect(await startProcess([]).worker.run(job)).toEqual({ kind: 'done' });
  expect(ended.map((result): unknown => JSON.parse(result))).toMatchObject([
    { name: 'x', outcome: 'refused', executed: 'no', error: { code: 'tool_unavailable' } },
  ]);
});

test('a call that has queued for longer than ten minutes is given back by the first worker that lacks its tool', async () => {
  const { records, ended, startProcess } = await startLab();
  const [acceptedAt, expiresAt] = [Date.now() - 660_000, Date.now() + 3_000_000];
  const key = await accept(records, { effects: 'write', acceptedAt, expiresAt });
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  expect((await startProcess([]).worker.run(job)).kind).toBe('later');
  expect(await startProcess().worker.run(job)).toEqual({ kind: 'done' });
  expect(ended.map((result): unknown => JSON.parse(result))).toMatchObject([{ outcome: 'success', value: 'ran' }]);
});

test('a write that began before its worker died is of unknown outcome, also where no worker has its tool any more', async () => {
  const { records, lapse, ended, startProcess } = await startLab();
  const [acceptedAt, expiresAt] = [Date.now(), Date.now() + 60_000];
  const key = await accept(records, { effects: 'write', acceptedAt, expiresAt });
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  await records.begin((await take(records, key)).lease);
  await lapse(key);
  expect(await startProcess([]).worker.run(job)).toEqual({ kind: 'done' });
  expect(ended.map((result): unknown => JSON.parse(result))).toMatchObject([{ error: { code: 'outcome_unknown' } }]);
});

test('a read is renewed from when a worker has it, also while the store is slow to note that it begins', async () => {
  const { records, startProcess } = await startLab();
  const [acceptedAt, expiresAt] = [Date.now(), Date.now() + 60_000];
  const key = await accept(records, { effects: 'read', acceptedAt, expiresAt });
  const renewed = Promise.withResolvers<void>();
  const [begin, renew] = [records.begin.bind(records), records.renew.bind(records)];
  records.renew = async (lease, progress) => {
    const answer = await renew(lease, progress);
    renewed.resolve();
    return answer;
  };
  records.begin = async (lease) => {
    await renewed.promise;
    return begin(lease);
  };
  const job = { call: handleOf(key), tenant: 'tenant', lane: 'default' };
  expect(await startProcess().worker.run(job)).toEqual({ kind: 'done' });
  expect(await look(records, key)).toMatchObject({ state: 'ended', begins: 1 });
});
