import { expect, test } from 'vitest';
import { handleOf } from '#src/pending/call-records.ts';
import { createWorker } from '#src/pending/worker.ts';
import { createMemoryKeyedStore } from '#src/sessions/keyed/memory-keyed-store.ts';
import { createMemorySessionStore } from '#src/sessions/memory-session-store.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { createSubject, now, settings } from '#test/executor/executor-lab.ts';
import { accept, createMemoryCallsUnderTest, look } from '#test/support/call-records-under-test.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';

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
  const keys = createMemoryKeyedStore({ memory: roomyMemory(), now });
  const { records } = await createMemoryCallsUnderTest();
  const ended: string[] = [];
  const startProcess = () => {
    const { executor, violations } = createSubject([own], sessions, keys);
    const worker = createWorker({
      records,
      executeBatch: executor.executeBatch,
      sessions,
      time: Date.now,
      onEnded: (_spec, result) => void ended.push(result),
      onFailed: (error) => void violations.push(error),
      count: () => undefined,
    });
    return { executor, worker, violations };
  };
  return { sessions, records, ended, startProcess };
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
