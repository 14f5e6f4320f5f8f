import { defineTool, didNotHappen, happened, unclear, z } from 'recourse-server';
import { createTester } from 'recourse-server/testing';
import { expect, test } from 'vitest';

type Bank = {
  readonly payments: Map<string, number>;
  /** Is called before a payment is booked. */
  beforeBooking: () => unknown;
  /** How often a look is unclear before it tells. */
  unclear: number;
  looks: number;
};

const createBank = (): Bank => ({ payments: new Map(), beforeBooking: () => undefined, unclear: 0, looks: 0 });

const createPay = (bank: Bank) =>
  defineTool({
    name: 'pay',
    description: 'Pays.',
    effects: 'write',
    input: z.object({ amount: z.int() }),
    output: z.object({ amount: z.int() }),
    run: async ({ amount }, { effectId }) => {
      await bank.beforeBooking();
      bank.payments.set(effectId, amount);
      return { amount };
    },
    reconcile: ({ effectId }) => {
      bank.looks += 1;
      if (bank.looks <= bank.unclear) return unclear();
      const amount = bank.payments.get(effectId);
      return amount === undefined ? didNotHappen() : happened({ amount }, `The bank has booked ${amount}.`);
    },
  });

test('the answer of a run is lost, and its reconcile finds what it did', async () => {
  const bank = createBank();
  const tester = createTester(createPay(bank));
  expect(await tester.call('pay', { amount: 5 }, { lose: 'answer' })).toMatchObject({
    success: true,
    executed: 'yes',
    value: { amount: 5 },
    message: 'The bank has booked 5.',
    reconciled: { by: 'tool', attempts: 1 },
  });
  expect(bank.payments.size).toBe(1);
});

test('a run that is lost before its handler begins did not happen, and its key runs it again with the same effect id', async () => {
  const bank = createBank();
  const tester = createTester(createPay(bank));
  expect(await tester.call('pay', { amount: 5 }, { lose: 'run', key: 'k' })).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    error: { code: 'tool_crashed' },
    message: expect.stringContaining('It is safe to call it again.'),
  });
  expect(bank.payments.size).toBe(0);
  expect(await tester.call('pay', { amount: 5 }, { key: 'k' })).toMatchObject({ success: true, value: { amount: 5 } });
  expect(await tester.call('pay', { amount: 5 }, { key: 'k' })).toMatchObject({ success: true, replayed: true });
  const [effectId = ''] = bank.payments.keys();
  expect(await tester.reconcile('pay', { amount: 5 }, { effectId })).toMatchObject({ verdict: 'happened' });
});

test.each([{}, { key: 'k' }])(
  'a look is told when the run began, in whole milliseconds and never too late, with %j',
  async (options) => {
    const begun: number[] = [];
    const tool = defineTool({
      name: 'dated',
      description: 'Its reconcile is told when it began.',
      effects: 'write',
      input: z.object({}),
      run: (_input, { effectId }) => void begun.push(Date.now(), effectId.length),
      reconcile: ({ startedAt }) => happened(startedAt),
    });
    const { value } = await createTester(tool).call('dated', {}, { lose: 'answer', ...options });
    const startedAt = z.int().parse(value);
    // The clocks of the two may be a millisecond apart.
    expect(startedAt).toBeLessThanOrEqual((begun[0] ?? 0) + 1);
    expect(startedAt).toBeGreaterThan((begun[0] ?? 0) - 60_000);
  },
);

test('a run that is killed in its middle counts as dead whatever its handler goes on to do', async () => {
  const bank = createBank();
  const kill = new AbortController();
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  bank.beforeBooking = () => {
    kill.abort();
    return goOn;
  };
  const tester = createTester(createPay(bank));
  const lost = await tester.call('pay', { amount: 5 }, { lose: kill.signal });
  expect(lost).toMatchObject({ outcome: 'retry', executed: 'no', error: { code: 'tool_crashed' } });
  resolve();
});

test('a signal that aborts after the end of a run, or never, changes nothing', async () => {
  const tester = createTester(createPay(createBank()));
  const kill = new AbortController();
  const paid = await tester.call('pay', { amount: 5 }, { lose: kill.signal });
  kill.abort();
  expect(paid).toMatchObject({ success: true, value: { amount: 5 } });
  expect(paid.reconciled).toBeUndefined();
});

test('wrong arguments lose nothing, and reach neither handler nor reconcile', async () => {
  const bank = createBank();
  const tester = createTester(createPay(bank));
  for (const lose of ['run', 'answer', AbortSignal.abort()] as const)
    expect((await tester.call('pay', { amount: 'five' }, { lose })).error?.code).toBe('invalid_arguments');
  expect(bank.looks).toBe(0);
});

test('a clock that runs moves on to the next look, so that a test waits for no delay', async () => {
  const bank = createBank();
  bank.unclear = 3;
  const tester = createTester(createPay(bank));
  const before = tester.clock.now();
  const lost = await tester.call('pay', { amount: 5 }, { lose: 'answer' });
  expect(lost).toMatchObject({ success: true, reconciled: { attempts: 4 } });
  // 1 s, 5 s and 30 s.
  expect(lost.reconciled?.after_ms).toBeGreaterThanOrEqual(36_000);
  expect(tester.clock.now() - before).toBeGreaterThanOrEqual(36_000);
});

test('a clock that stands waits to be moved to the next look', async () => {
  const bank = createBank();
  bank.unclear = 1;
  const tester = createTester(createPay(bank), { now: new Date(1000) });
  const running = tester.call('pay', { amount: 5 }, { lose: 'answer' });
  await tester.clock.advance(999);
  expect(bank.looks).toBe(1);
  await tester.clock.advance(1);
  expect(await running).toMatchObject({ success: true, reconciled: { by: 'tool', attempts: 2, after_ms: 1000 } });
});

test('what stays unclear is unknown at the end of the batch, and a repeat of its key looks again and runs nothing', async () => {
  const bank = createBank();
  bank.unclear = Number.POSITIVE_INFINITY;
  const tester = createTester(createPay(bank));
  const session = tester.session('agent');
  const options = { lose: 'answer', key: 'k', deadlineMs: 2000 } as const;
  expect(await session.call('pay', { amount: 5 }, options)).toMatchObject({
    outcome: 'unknown',
    executed: 'maybe',
    message: expect.stringContaining('A check goes on; ask again under the same key.'),
  });
  bank.unclear = 0;
  bank.beforeBooking = () => {
    throw new Error('It runs again.');
  };
  const again = await session.call('pay', { amount: 5 }, { key: 'k', deadlineMs: 2000 });
  expect(again).toMatchObject({ success: true, value: { amount: 5 }, reconciled: { by: 'tool' } });
  const { calls, tools } = await session.view();
  expect(calls[0]).toMatchObject({ outcome: 'unknown', late: { outcome: 'success', executed: 'yes' } });
  // A crash is not charged to its caller.
  expect(tools).toEqual([]);
});

test('a handler that goes on after its time limit is not believed to have done nothing before it has ended', async () => {
  const bank = createBank();
  const { promise: goOn, resolve } = Promise.withResolvers<void>();
  bank.beforeBooking = () => goOn;
  const tester = createTester(createPay(bank));
  const late = await tester.call('pay', { amount: 5 }, { key: 'k', timeoutMs: 10, deadlineMs: 60_000 });
  expect(late).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'timeout' } });
  expect(bank.looks).toBeGreaterThan(2);
  resolve();
  // By the handler itself, or by a look, whichever is first.
  await expect.poll(() => tester.call('pay', { amount: 5 }, { key: 'k' })).toMatchObject({ success: true });
});

test('a reconcile is asked alone, and its verdict is data', async () => {
  const bank = createBank();
  bank.payments.set('e_paid', 7);
  const asked: number[] = [];
  const wrong = defineTool({
    name: 'wrong',
    description: 'Its reconcile has mistakes.',
    effects: 'write',
    input: z.object({ how: z.string() }),
    output: z.number(),
    run: (_input, { effectId }) => effectId.length,
    reconcileTimeoutMs: 20_000,
    // @ts-expect-error: what it returns is checked when it is asked
    reconcile: ({ input, startedAt }) => {
      asked.push(startedAt);
      if (input.how === 'throws') throw new RangeError('The bank is closed.');
      if (input.how === 'later') return unclear({ retryAfterMs: 60_000 });
      if (input.how === 'hangs') return new Promise(() => undefined);
      return input.how === 'value' ? happened('seven') : 'happened';
    },
  });
  const tester = createTester([createPay(bank), wrong], { now: new Date(1000) });
  const none = { value: null, message: '', retryAfterMs: null, problem: null };
  const ask = (args: object | string, effectId = 'e_none') => tester.reconcile('pay', args, { effectId });
  expect(await ask({ amount: 7 })).toEqual({ ...none, verdict: 'did_not_happen' });
  expect(await ask('{"amount":7}', 'e_paid')).toEqual({
    ...none,
    verdict: 'happened',
    value: { amount: 7 },
    message: 'The bank has booked 7.',
  });
  const askWrong = async (how: string) => tester.reconcile('wrong', { how }, { effectId: 'e_none', startedAt: 5 });
  expect(await askWrong('later')).toEqual({ ...none, verdict: 'unclear', retryAfterMs: 60_000 });
  expect(await askWrong('throws')).toEqual({
    ...none,
    verdict: 'unclear',
    problem: 'RangeError: The bank is closed.',
  });
  expect((await askWrong('text')).problem).toContain('reconcile must return happened(…)');
  expect(await askWrong('value')).toMatchObject({ verdict: 'happened', value: null, problem: expect.any(String) });
  expect(asked).toEqual([5, 5, 5, 5]);
  const hanging = askWrong('hangs');
  await tester.clock.advance(20_000);
  expect(await hanging).toMatchObject({ verdict: 'unclear', problem: expect.stringContaining('20000 ms') });
  expect((await ask({ amount: 'seven' })).problem).toContain('amount: expected a number');
  await expect(tester.reconcile('nothing', {}, { effectId: 'e_none' })).rejects.toThrow(
    "There is no write tool 'nothing' with a reconcile: this tester has pay, wrong.",
  );
});

test('a reconcile that fails beside a call is in the log of the tester', async () => {
  const tool = defineTool({
    name: 'broken',
    description: 'Its reconcile throws.',
    effects: 'write',
    input: z.object({}),
    run: (_input, { effectId }) => effectId.length,
    reconcile: () => {
      throw new Error('no bank');
    },
  });
  const tester = createTester(tool);
  const lost = await tester.call('broken', {}, { lose: 'answer', deadlineMs: 900 });
  expect(lost).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'tool_crashed' } });
  expect(tester.logs).toMatchObject([
    {
      level: 'warn',
      message: 'reconcile failed: it counts as unclear',
      tool: 'broken',
      fields: { problem: 'Error: no bank' },
    },
  ]);
});

test('a tool without reconcile, and one that reads, are lost as in a service', async () => {
  const shared = { description: 'A tool of this test.', input: z.object({}), run: () => 1 };
  const read = defineTool({ ...shared, name: 'read', effects: 'read' });
  const write = defineTool({ ...shared, name: 'write', effects: 'write' });
  const tester = createTester([read, write]);
  const [first, second] = await tester.batch([{ name: 'read' }, { name: 'write' }], { lose: 'answer' });
  expect(first).toMatchObject({ outcome: 'retry', error: { code: 'tool_crashed' } });
  expect(second).toMatchObject({ outcome: 'unknown', executed: 'maybe', error: { code: 'tool_crashed' } });
  await tester.close();
  const late = await tester.call('read', {}, { lose: 'answer' });
  expect(late.error?.code).toBe('shutting_down');
});
