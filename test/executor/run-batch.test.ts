import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import type { RenderedResult } from '#src/contract/tool-result.ts';
import type { AcceptedCall, BatchAnswer, BatchRequest } from '#src/executor/batch-request.ts';
import type { IdempotencyStore } from '#src/executor/idempotency-store.ts';
import type { Executor } from '#src/executor/run-batch.ts';
import type { Budget, SessionStore } from '#src/executor/session-store.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';

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

/** Goes on after its time limit until it is let go. */
const createEndless = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const state = { begun: 0 };
  const tool = defineTool({
    name: 'endless',
    description: 'Ends when it is let go.',
    effects: 'read',
    input: { type: 'object', additionalProperties: true },
    timeoutMs: 20,
    // More than the batch may run at once: it is the batch that is full.
    concurrency: 6,
    run: () => {
      state.begun += 1;
      return promise;
    },
  });
  return { tool, state, letGo: resolve };
};

/** Says how many of its calls run beside each other. */
const createCounting = (sequential: boolean) => {
  const state = { running: 0, most: 0 };
  const run = async (): Promise<void> => {
    state.running += 1;
    state.most = Math.max(state.most, state.running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    state.running -= 1;
  };
  const input = { type: 'object', additionalProperties: true } as const;
  const declared = { description: 'Counts.', effects: 'read', input, run } as const;
  return { tool: defineTool({ ...declared, name: sequential ? 'one_by_one' : 'together', sequential }), state };
};

const limits = defineTool({
  name: 'limits',
  description: 'Says how much time it has.',
  effects: 'read',
  input: { type: 'object' },
  run: async (_input, { timeoutMs }) => ({ timeoutMs }),
});

const start = (
  sessions: Partial<SessionStore> = {},
  away: Partial<IdempotencyStore> = {},
  more: readonly Tool[] = [],
) => {
  const memory = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const keys = createMemoryKeyedStore({ now });
  return {
    ...createSubject([waits, fails, writes, limits, ...more], { ...memory, ...sessions }, { ...keys, ...away }),
    memory,
  };
};

const TWO = '{"calls":[{"id":"a","name":"waits"},{"id":"b","name":"nothing"}]}';

const post = async (executor: Executor, more: Partial<BatchRequest> = {}, source = TWO): Promise<BatchAnswer> => {
  const { calls }: { readonly calls: readonly unknown[] } = JSON.parse(source);
  return executor.executeBatch({
    ...{ requestId: 'request', batchId: 'batch', tenant: 'test', key: null, caller: 'test', mayUse: () => true },
    ...{
      sessionKey: 'test:session',
      roundId: null,
      calls,
      reading: null,
      body: { source },
      form: 'calls',
      order: 'parallel',
    },
    ...{ onError: 'continue', deadlineMs: 20_000, idempotency: null, memory: null, listener: null },
    ...{ traceId: null, trace: null, client: { isGone: () => false, whenGone: () => () => undefined } },
    ...more,
  });
};

const codesOf = (answer: BatchAnswer): readonly unknown[] =>
  answer.kind === 'results' ? answer.results.map(({ json }) => JSON.parse(json).error?.code ?? 'ok') : [answer.kind];

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

test.each<readonly [string, Partial<BatchRequest>]>([
  ['a key', { idempotency: { key: 'key', recordKey: 'test:key', requestKey: 'test:request' } }],
  ['ids of calls', { callKeyOf: (id) => `test:${id}` }],
])(
  'an answer waits a second beyond its deadline for a record that does not answer, and says so: %s',
  async (_by, kept) => {
    const { open } = createMemoryKeyedStore({ now });
    const never = (): Promise<never> => new Promise(() => undefined);
    const { executor } = start(
      {},
      {
        open: async (batch) => {
          const opening = await open(batch);
          if (opening.kind === 'held') Object.assign(opening.record, { commit: never });
          return opening;
        },
      },
    );
    const source = '{"calls":[{"id":"a","name":"writes"},{"id":"b","name":"waits"}]}';
    const answer = await post(executor, { ...kept, deadlineMs: 100 }, source);
    expect(codesOf(answer)).toEqual(['ok', 'timeout']);
    const [first] = answer.kind === 'results' ? answer.results : [];
    expect(JSON.parse(first?.json ?? '').warnings).toContainEqual(
      expect.objectContaining({ code: 'idempotency_not_recorded' }),
    );
  },
);

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

test('a handler that goes on after its answer keeps its place among those of its batch', async () => {
  const { tool, state, letGo } = createEndless();
  const { executor } = start({}, {}, [tool]);
  const calls = [0, 1, 2, 3, 4].map((id) => ({ id, name: 'endless', arguments: { id } }));
  const answer = await post(executor, { deadlineMs: 200, sessionKey: null }, JSON.stringify({ calls }));
  expect(codesOf(answer)).toEqual(['timeout', 'timeout', 'timeout', 'timeout', 'overloaded']);
  expect(state.begun).toBe(4);
  letGo();
});

test('a call of a sequential tool runs beside no other of its batch', async () => {
  const [alone, together] = [createCounting(true), createCounting(false)];
  const { executor } = start({}, {}, [alone.tool, together.tool]);
  for (const name of ['one_by_one', 'together']) {
    const calls = [0, 1, 2].map((id) => ({ id, name, arguments: { id } }));
    expect(codesOf(await post(executor, { batchId: name }, JSON.stringify({ calls })))).toEqual(['ok', 'ok', 'ok']);
  }
  expect([alone.state.most, together.state.most]).toEqual([1, 3]);
});

test('a handler is told of the time that its batch has left, where that is less than its own', async () => {
  const { executor } = start();
  const answer = await post(executor, { deadlineMs: 4000 }, '{"calls":[{"id":"a","name":"limits"}]}');
  const told: number = answer.kind === 'results' ? JSON.parse(answer.results[0]?.json ?? '').value.timeoutMs : 0;
  expect(told).toBeGreaterThan(2000);
  expect(told).toBeLessThanOrEqual(4000);
});

const listen = () => {
  const accepted: unknown[] = [];
  const told: [number, RenderedResult][] = [];
  return {
    accepted,
    told,
    listener: {
      accepted: (calls: readonly AcceptedCall[]) => void accepted.push(calls.map(({ id }) => id)),
      result: (index: number, result: RenderedResult) => void told.push([index, result]),
    },
  };
};

const WRITE_AND_FAIL = '{"calls":[{"id":"a","name":"fails"},{"id":"b","name":"writes"}]}';

test('who watches a batch is told each result once, and what it was told stands where the batch is lost', async () => {
  const broken: ReadonlyMap<string, Budget> = Object.assign(new Map<string, Budget>(), {
    get: () => {
      throw new Error('a bug behind the calls');
    },
  });
  const memory = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const { executor } = start({
    admit: async (round) => ({ ...(await memory.admit(round)), settle: async () => broken }),
  });
  const { told, accepted, listener } = listen();
  const answer = await post(executor, { listener }, WRITE_AND_FAIL);
  expect(codesOf(answer)).toEqual(['internal_error', 'ok']);
  expect(accepted).toEqual([['a', 'b']]);
  expect(told.map(([index]) => index)).toEqual([1, 0]);
  expect(answer.kind === 'results' ? answer.results : []).toEqual(told.toSorted().map(([, result]) => result));
});

test('who watches a batch that is lost before it runs is told each result as well', async () => {
  const { executor } = start({ admit: lost });
  const { told, listener } = listen();
  expect(codesOf(await post(executor, { listener }))).toEqual(['internal_error', 'internal_error']);
  expect(told.map(([index]) => index)).toEqual([0, 1]);
});

test('results that are kept are told when they are, and a replay tells nothing', async () => {
  const { executor } = start();
  const idempotency = { key: 'key', recordKey: 'test:key', requestKey: 'test:request' };
  const [first, second] = [listen(), listen()];
  const answer = await post(executor, { idempotency, listener: first.listener }, WRITE_AND_FAIL);
  expect(first.told.map(([, result]) => result)).toEqual(answer.kind === 'results' ? answer.results : []);
  const again = await post(executor, { idempotency, listener: second.listener }, WRITE_AND_FAIL);
  expect(again).toMatchObject({ kind: 'results', origin: 'replayed' });
  expect([second.accepted, second.told]).toEqual([[], []]);
});
