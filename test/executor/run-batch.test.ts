import { expect, test } from 'vitest';
import type { BatchAnswer, BatchRequest } from '#src/executor/batch-request.ts';
import type { KeyedStore } from '#src/executor/keyed-store.ts';
import type { Executor } from '#src/executor/run-batch.ts';
import type { SessionStore } from '#src/executor/session-store.ts';
import { createMemoryKeyedStore } from '#src/sessions/keyed/memory-keyed-store.ts';
import { createMemorySessionStore } from '#src/sessions/memory-session-store.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { roomyMemory } from '#test/support/roomy-memory.ts';
import { createSubject, now, settings } from './executor-lab.ts';

const waits = defineTool({
  name: 'waits',
  description: 'Waits until nobody waits for it any more.',
  effects: 'read',
  input: { type: 'object' },
  run: (_input, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
});

const fails = defineTool({
  name: 'fails',
  description: 'Throws.',
  effects: 'read',
  input: { type: 'object' },
  run: () => {
    throw new Error('no');
  },
});

const writes = defineTool({
  name: 'writes',
  description: 'Writes.',
  effects: 'write',
  input: { type: 'object' },
  run: () => 'written',
});

const start = (sessions: Partial<SessionStore> = {}, away: Partial<KeyedStore> = {}) => {
  const memory = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const keys = createMemoryKeyedStore({ memory: roomyMemory(), now });
  return { ...createSubject([waits, fails, writes], { ...memory, ...sessions }, { ...keys, ...away }), memory };
};

const TWO = '{"calls":[{"id":"a","name":"waits"},{"id":"b","name":"nothing"}]}';

const post = async (executor: Executor, more: Partial<BatchRequest> = {}, source = TWO): Promise<BatchAnswer> => {
  const { calls }: { readonly calls: readonly unknown[] } = JSON.parse(source);
  return executor.executeBatch({
    ...{ requestId: 'request', batchId: 'batch', tenant: 'test', key: null, caller: 'test', mayUse: () => true },
    ...{ sessionKey: 'test:session', roundId: null, calls, reading: null, source, form: 'calls', order: 'parallel' },
    ...{ onError: 'continue', deadlineMs: 20_000, idempotency: null, memory: null, onProgress: null },
    ...{ traceId: null, trace: null, client: { isGone: () => false, whenGone: () => () => undefined } },
    ...more,
  });
};

const codesOf = (answer: BatchAnswer): readonly unknown[] =>
  answer.kind === 'results' ? answer.results.map((json) => JSON.parse(json).error?.code ?? 'ok') : [answer.kind];

test('to end all cuts off the handlers that run, and tells them', async () => {
  const { executor, violations } = start();
  const answered = post(executor);
  executor.endAll();
  expect(codesOf(await answered)).toEqual(['cancelled', 'unknown_tool']);
  await executor.whenIdle();
  expect(violations).toEqual([]);
});

const lost = async (): Promise<never> => {
  throw new Error('the store has a bug');
};

test('a store that rejects costs a batch its results and not its answer', async () => {
  const { executor, violations } = start({ admit: lost });
  expect(codesOf(await post(executor))).toEqual(['internal_error', 'internal_error']);
  await executor.whenIdle();
  expect(violations).toEqual([new Error('the store has a bug'), new Error('the store has a bug')]);
});

test('the record of a batch that was lost is let go at once: the next try need not wait for its lease', async () => {
  const { executor } = start({ admit: lost });
  const idempotency = { key: 'key', recordKey: 'test:key', requestKey: 'test:request' };
  for (const batchId of ['first', 'second'])
    expect(codesOf(await post(executor, { batchId, idempotency }))).toEqual(['internal_error', 'internal_error']);
});

test('what the session says of a call is said of that call, also where a call before it was not asked for', async () => {
  const { executor } = start();
  const told: unknown[] = [];
  for (const batchId of ['first', 'second', 'third'])
    told.push(codesOf(await post(executor, { batchId }, '{"calls":[{"id":"a"},{"id":"b","name":"fails"}]}')));
  expect(told).toEqual([
    ['invalid_call', 'tool_exception'],
    ['invalid_call', 'tool_exception'],
    ['invalid_call', 'loop_detected'],
  ]);
});

test('where the record of a key cannot be held its writes do not run, and its reads do', async () => {
  const { executor } = start({}, { open: async () => ({ kind: 'unavailable' }) });
  const idempotency = { key: 'key', recordKey: 'test:key', requestKey: 'test:request' };
  const source = '{"calls":[{"id":"a","name":"writes"},{"id":"b","name":"fails"}]}';
  expect(codesOf(await post(executor, { idempotency }, source))).toEqual(['store_unavailable', 'tool_exception']);
});

test('a round may reserve until five seconds after the deadline of its batch', async () => {
  const leases: number[] = [];
  const subject: ReturnType<typeof start> = start({
    admit: (round) => {
      leases.push(round.leaseMs);
      return subject.memory.admit(round);
    },
  });
  await post(subject.executor, { deadlineMs: 3000 }, '{"calls":[{"id":"a","name":"fails"}]}');
  expect(leases).toEqual([8000]);
});
