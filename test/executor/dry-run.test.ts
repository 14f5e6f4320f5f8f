import { createHash } from 'node:crypto';
import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { ToolChecked } from '#src/contract/tool-result.ts';
import type { BatchRequest } from '#src/executor/batch-request.ts';
import { toFailure } from '#src/executor/call-outcome.ts';
import { type CallForecast, type CallToDecide, NO_POLICIES, type Policies } from '#src/executor/policies.ts';
import { toCanonicalText } from '#src/json/canonical-text.ts';
import { defineTool } from '#src/tools/define-tool.ts';

const toDigest = ({ tool, input, tenant, sessionKey }: CallToDecide): string =>
  `sha256:${createHash('sha256')
    .update(toCanonicalText([tenant, sessionKey, tool.name, input]))
    .digest('hex')}`;

/** Policies that say what a test wants of a tool, and note what they are asked. */
const createScripted = (words: Readonly<Record<string, Partial<CallForecast>>>) => {
  const decided: CallToDecide[] = [];
  const forecast: CallToDecide[] = [];
  const policies: Policies = {
    ...NO_POLICIES,
    concern: () => true,
    mayAsk: () => true,
    decide: (calls) => {
      decided.push(...calls);
      return calls.map(() => ({ kind: 'run', grant: null }));
    },
    forecast: async (calls) => {
      forecast.push(...calls);
      return calls.map((call) => ({
        ...{ would: 'run', failure: null, digest: toDigest(call), rules: [] },
        ...words[call.tool.name],
      }));
    },
  };
  return { policies, decided, forecast };
};

const createPay = (name: string, preview?: () => unknown) =>
  defineTool({
    name,
    description: 'Pays.',
    effects: 'write',
    input: z.object({ amount: z.number(), to: z.object({ currency: z.string().default('EUR') }).optional() }),
    run: () => 'paid',
    ...(preview === undefined ? {} : { preview }),
  });

const start = (
  words: Readonly<Record<string, Partial<CallForecast>>>,
  tools = ['pay', 'asked', 'capped'].map((n) => createPay(n)),
) => {
  const scripted = createScripted(words);
  const memory = roomyMemory();
  const sessions = createMemorySessionStore({ mode: 'memory', settings, memory, now });
  const { executor, violations } = createSubject(
    tools,
    sessions,
    createMemoryKeyedStore({ now }),
    undefined,
    scripted.policies,
  );
  let requests = 0;
  const toRequest = (calls: readonly unknown[], more: Partial<BatchRequest> = {}): BatchRequest => {
    requests += 1;
    return {
      ...{
        requestId: `r${requests}`,
        batchId: `r${requests}`,
        tenant: 't',
        key: 'ci',
        caller: 't',
        mayUse: () => true,
      },
      ...{ sessionKey: 't:s', roundId: null, calls, reading: null, body: { source: '' }, form: 'calls' },
      ...{ order: 'parallel', onError: 'continue', deadlineMs: 10_000, idempotency: null },
      ...{ client: { isGone: () => false, whenGone: () => () => undefined }, memory: null, listener: null },
      ...{ traceId: null, trace: null },
      ...more,
    };
  };
  const dryRun = async (calls: readonly unknown[], more: Partial<BatchRequest> = {}) => {
    const answer = await executor.dryRun(toRequest(calls, more));
    if (answer.kind !== 'results') throw new Error(answer.kind);
    expect(violations).toEqual([]);
    return answer.results.map(({ json }) => ToolChecked.parse(JSON.parse(json)));
  };
  return { ...scripted, executor, toRequest, dryRun };
};

const pay = (name: string, amount: unknown = 5) => ({ id: name, name, arguments: { amount, to: {} } });

test('policies forecast of a dry run what they decide of the call itself: the same arguments, and so the same digest', async () => {
  const { executor, toRequest, dryRun, decided, forecast } = start({});
  const [checked] = await dryRun([pay('pay')]);
  await executor.executeBatch(toRequest([pay('pay')]));
  expect(decided).toHaveLength(1);
  expect(forecast).toHaveLength(1);
  const own = { requestId: '', reservation: '', timeoutMs: 0, mayWait: true, place: null };
  expect({ ...forecast[0], ...own }).toEqual({ ...decided[0], ...own });
  expect(forecast[0]?.input).toEqual({ amount: 5, to: { currency: 'EUR' } });
  expect(checked?.dry_run.digest).toBe(decided.map(toDigest)[0]);
});

test('policies are asked once, of the calls that could begin, in their order', async () => {
  const { dryRun, forecast, decided } = start({});
  await dryRun([pay('asked'), pay('pay', 'five'), { name: 'none' }, pay('capped'), pay('pay')]);
  expect(forecast.map(({ name }) => name)).toEqual(['asked', 'capped', 'pay']);
  expect(decided).toEqual([]);
});

const REFUSAL = toFailure('rule_refused', "Refused by the rule 'cap'.", null, { decision: { rule: 'cap' } });

test('what policies forecast is the result of the call', async () => {
  const rules = [{ name: 'cap', remaining_after: '1500' }];
  const { dryRun } = start({
    asked: { would: 'ask', rules },
    capped: { would: 'refuse', failure: REFUSAL },
  });
  const [asked, capped] = await dryRun([pay('asked'), pay('capped')]);
  expect(asked).toMatchObject({
    message: 'Dry run: this call would wait for an approval. Nothing has run.',
    error: null,
    dry_run: { depth: 'checked', would: 'ask', rules, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
  });
  expect(capped).toMatchObject({
    message: "Dry run: this call would not run. Nothing has run. Refused by the rule 'cap'.",
    error: { code: 'rule_refused', rule: 'cap', reference: '' },
    dry_run: { would: 'refuse' },
  });
});

test('in a sequential batch nothing would run behind a call that waits for a person', async () => {
  const { dryRun } = start({ asked: { would: 'ask' } });
  const results = await dryRun([pay('pay'), pay('asked'), pay('capped')], { order: 'sequential' });
  expect(results.map(({ dry_run, error }) => [dry_run.would, error?.code])).toEqual([
    ['run', undefined],
    ['ask', undefined],
    ['refuse', 'not_executed'],
  ]);
});

test('a preview has its own time, gives what a model may read, and is asked of calls that would run or ask alone', async () => {
  const previewed: string[] = [];
  const show = (name: string, value: unknown) =>
    createPay(name, () => {
      previewed.push(name);
      return value;
    });
  const large = 'x'.repeat(5000);
  const tools = [show('pay', { ok: true }), show('asked', 10n), show('capped', 1), show('large', large)];
  const { dryRun } = start({ asked: { would: 'ask' }, capped: { would: 'refuse', failure: REFUSAL } }, tools);
  const results = await dryRun([pay('pay'), pay('asked'), pay('capped'), pay('large')]);
  expect(results.map(({ value, dry_run }) => [value, dry_run.would, dry_run.depth])).toEqual([
    [{ ok: true }, 'run', 'previewed'],
    [null, 'ask', 'checked'],
    [null, 'refuse', 'checked'],
    [null, 'run', 'checked'],
  ]);
  expect(results.map(({ warnings }) => warnings?.map(({ code }) => code))).toEqual([
    undefined,
    ['preview_failed'],
    undefined,
    ['preview_failed'],
  ]);
  expect(previewed.toSorted()).toEqual(['asked', 'large', 'pay']);
});

test('a preview that does not end is given up with the deadline of its batch', async () => {
  const { dryRun } = start({}, [createPay('pay', () => new Promise(() => undefined))]);
  const [result] = await dryRun([pay('pay')], { deadlineMs: 50 });
  expect(result).toMatchObject({ dry_run: { depth: 'checked', would: 'run' }, warnings: [{ code: 'preview_failed' }] });
});

test('a service that stops says so, and waits for no dry run', async () => {
  const { dryRun, executor } = start({}, [createPay('pay', () => new Promise(() => undefined))]);
  const waiting = dryRun([pay('pay')]);
  executor.drain();
  executor.endAll();
  expect((await waiting)[0]?.dry_run.depth).toBe('checked');
  await executor.whenIdle();
  const [late] = await dryRun([pay('pay')]);
  expect(late).toMatchObject({ error: { code: 'shutting_down' }, dry_run: { would: 'refuse' } });
});
