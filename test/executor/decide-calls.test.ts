import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import type { BatchRequest } from '#src/executor/batch-request.ts';
import { toFailure } from '#src/executor/call-outcome.ts';
import { type CallDecision, type CallToDecide, NO_POLICIES, type Policies } from '#src/executor/policies.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { TerminalToolError } from '#src/tools/tool-errors.ts';

const input = {
  type: 'object',
  properties: { how: { type: 'string' }, amount: { type: 'number', default: 7 } },
} as const;
const declared = { description: 'Pays.', effects: 'write', input, timeoutMs: 50 } as const;

const openLab = (decideOne: (call: CallToDecide) => Partial<CallDecision> | null = () => null) => {
  const ran: unknown[] = [];
  const late = Promise.withResolvers<string>();
  const pay = defineTool({
    ...declared,
    name: 'pay',
    // More than a batch runs at once.
    concurrency: 6,
    run: ({ how, ...rest }) => {
      ran.push(rest);
      if (how === 'fails') throw new TerminalToolError('no');
      return how === 'hangs' ? late.promise : 'paid';
    },
  });
  const free = defineTool({ ...declared, name: 'free', run: () => 'done' });
  const ledger: string[] = [];
  const asked: string[][] = [];
  const policies: Policies = {
    ...NO_POLICIES,
    concern: ({ name }) => name === 'pay',
    decide: (calls) => {
      asked.push(calls.map(({ id }) => String(id)));
      return calls.map((call): CallDecision => {
        const settle = async (executed: string, isSuccess: boolean): Promise<void> => {
          ledger.push(`${call.id} ${executed} ${isSuccess}`);
        };
        const run = { kind: 'run', grant: { ticket: String(call.id), settle } } as const;
        return Object.assign(run, decideOne(call));
      });
    },
  };
  const sessions = createMemorySessionStore({ mode: 'memory', settings, memory: roomyMemory(), now });
  const keys = createMemoryKeyedStore({ now });
  const { executor } = createSubject([pay, free], sessions, keys, undefined, policies);
  const post = async (calls: readonly unknown[], more: Partial<BatchRequest> = {}) => {
    const source = JSON.stringify({ calls });
    const answer = await executor.executeBatch({
      ...{ requestId: 'request', batchId: 'batch', tenant: 'test', key: null, caller: 'test', mayUse: () => true },
      ...{ sessionKey: 'test:session', roundId: null, calls, reading: null, body: { source }, form: 'calls' },
      ...{ order: 'parallel', onError: 'continue', deadlineMs: 20_000, idempotency: null, memory: null },
      ...{ listener: null, traceId: null, trace: null },
      client: { isGone: () => false, whenGone: () => () => undefined },
      ...more,
    });
    if (answer.kind !== 'results') throw new Error(answer.kind);
    return answer.results.map(({ json }) => JSON.parse(json));
  };
  return { post, ran, ledger, asked, late, whenIdle: () => executor.whenIdle() };
};

const pay = (id: string, how = 'works', more = {}) => ({ id, name: 'pay', arguments: { how, ...more } });

test('what was reserved for a call is settled by how it ended, and nothing is reserved for what cannot run', async () => {
  const { post, ledger, asked, late } = openLab();
  const calls = [
    ...[pay('a'), pay('b', 'fails'), pay('c', 'hangs'), pay('d', 'works', { amount: 'x' })],
    ...[{ id: 'e', name: 'nothing' }, { id: 'f', name: 'free' }, pay('a')],
  ];
  const results = await post(calls);
  expect(asked).toEqual([['a', 'b', 'c']]);
  expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual([
    ...['ok', 'tool_failed', 'timeout', 'invalid_arguments', 'unknown_tool', 'ok', 'ok'],
  ]);
  expect(ledger.toSorted()).toEqual(['a yes true', 'b yes false', 'c maybe false']);
  late.resolve('paid after all');
  await expect.poll(() => ledger.at(-1)).toBe('c yes true');
});

test('what never got its turn gives back what was reserved for it', async () => {
  const { post, ledger, late } = openLab();
  const results = await post(
    [...'abcdef'].map((id) => pay(id, 'hangs')),
    { deadlineMs: 20 },
  );
  const never = results.filter(({ executed }) => executed === 'no').map(({ id }) => `${id} no false`);
  expect(never.length).toBeGreaterThan(0);
  expect(ledger.toSorted()).toEqual(results.map(({ id, executed }) => `${id} ${executed} false`).toSorted());
  late.resolve('late');
});

test('calls that run one after the other are decided one after the other, and what is skipped is not', async () => {
  const { post, ledger, asked } = openLab();
  const calls = [pay('a'), pay('b', 'fails'), pay('c')];
  const results = await post(calls, { order: 'sequential', onError: 'stop' });
  expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual(['ok', 'tool_failed', 'not_executed']);
  expect(asked).toEqual([['a'], ['b']]);
  expect(ledger).toEqual(['a yes true', 'b yes false']);
});

test('a refused call did not run, costs no retry, and says which rule refused it', async () => {
  const failure = toFailure('rule_refused', 'Not more than 5.', null, { decision: { rule: 'cap' } });
  const { post, ran, ledger } = openLab(({ id }) => (id === 'b' ? { kind: 'refused', failure } : null));
  const [, refused] = await post([pay('a'), pay('b')]);
  expect(refused).toMatchObject({ outcome: 'refused', executed: 'no', message: 'Not more than 5.' });
  expect(refused.error).toMatchObject({ code: 'rule_refused', rule: 'cap' });
  expect(refused.retry.used).toBe(0);
  expect(ran).toHaveLength(1);
  expect(ledger).toEqual(['a yes true']);
});

test('a handler gets what was decided on: the defaults that were left out, or what a person has put in their place', async () => {
  const { post, ran } = openLab(({ id }) => (id === 'b' ? { input: { how: 'works', amount: 2 } } : null));
  await post([pay('a'), pay('b', 'works', { amount: 9 })]);
  expect(ran).toEqual([{ amount: 7 }, { amount: 2 }]);
});
