import { setTimeout as wait } from 'node:timers/promises';
import { defineReducer, defineTool, ok, TerminalToolError, z } from 'recourse-server';
import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { readDuration } from 'recourse-server/internal/contract/duration.ts';
import { createTester, RefusedBatchError, type TestResult } from 'recourse-server/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { SERVICE_DEFAULTS } from '#src/create-tester.ts';

const shared = { description: 'A tool of this test.', effects: 'read' } as const;

const hang = defineTool({
  ...shared,
  name: 'hang',
  timeoutMs: 20_000,
  input: z.object({}),
  run: (_input, { signal, log }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        log.warn('aborted', { reason: String(signal.reason) });
        reject(signal.reason);
      }),
    ),
});
const deaf = defineTool({ ...shared, name: 'deaf', input: z.object({}), run: () => new Promise(() => undefined) });
const send = defineTool({
  ...shared,
  name: 'send',
  effects: 'write',
  input: z.object({ text: z.string() }),
  run: async ({ text }, { idempotencyKey }) => {
    await wait(5);
    return ok({ idempotencyKey }, `Sent: ${text}.`);
  },
});
const fail = defineTool({
  ...shared,
  name: 'fail',
  retries: 1,
  input: z.object({ n: z.int() }),
  run: ({ n }) => {
    throw new RangeError(`${n} is out of range`);
  },
});
const close = defineTool({
  ...shared,
  name: 'close',
  input: z.object({}),
  run: () => {
    throw new TerminalToolError('It is closed.');
  },
});

const codeOf = (result: TestResult): string => (result.success ? 'success' : result.error.code);

afterEach(() => {
  vi.useRealTimers();
});

test('the limits of a tester are those of a service with no setting changed', () => {
  const loaded = loadConfig({});
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join());
  const { config } = loaded;
  expect(SERVICE_DEFAULTS).toEqual({
    gracefulErrors: config.GRACEFUL_TOOL_ERRORS ? 'on' : 'off',
    maxResultBytes: config.MAX_RESULT_BYTES,
    maxAnswerBytes: config.MAX_ANSWER_BYTES,
    maxBatchCalls: config.MAX_BATCH_CALLS,
    maxDeadlineMs: config.MAX_DEADLINE_MS,
    batchConcurrency: config.BATCH_CONCURRENCY,
    sessionRetries: config.SESSION_RETRIES,
    cooldownMs: config.SESSION_BUDGET_COOLDOWN_SECONDS * 1000,
    sessionTtlMs: config.SESSION_TTL_SECONDS * 1000,
    sessionMaxCalls: config.SESSION_MAX_CALLS,
    sessionMaxRounds: config.SESSION_MAX_ROUNDS,
    journal: config.SESSION_JOURNAL,
    toolConcurrency: config.TOOL_CONCURRENCY,
    callerConcurrency: config.TENANT_CONCURRENCY,
    maxConcurrentCalls: config.MAX_CONCURRENT_CALLS,
    maxQueuedCalls: config.MAX_QUEUED_CALLS,
    circuitFailures: config.CIRCUIT_FAILURES,
    circuitOpenMs: config.CIRCUIT_OPEN_MS,
    reconcileDelaysMs: config.RECONCILE_DELAYS.map(readDuration),
  });
});

test('a handler that hangs is answered when the clock is moved to its time limit, and not before', async () => {
  const tester = createTester(hang, { now: new Date('2026-01-01T00:00:00Z') });
  const running = tester.call('hang');
  await tester.clock.advance(19_999);
  expect(tester.logs).toEqual([]);
  await tester.clock.advance(1);
  const result = await running;
  expect(codeOf(result)).toBe('timeout');
  expect(result.duration_ms).toBe(20_000);
  expect(tester.logs).toEqual([
    {
      level: 'warn',
      message: 'aborted',
      fields: { reason: 'TimeoutError: The deadline of this call passed.' },
      tool: 'hang',
      callId: null,
    },
  ]);
  expect(tester.clock.now()).toBe(Date.parse('2026-01-01T00:00:20Z'));
});

test('deadlines that one move passes end their calls one after the other', async () => {
  const tester = createTester([hang, deaf], { now: new Date(0) });
  const calls = [{ name: 'deaf' }, { name: 'hang' }, { name: 'deaf', timeout_ms: 1000 }];
  const running = tester.batch(calls, { order: 'sequential' });
  await tester.clock.advance(60_000);
  expect((await running).map((result) => [codeOf(result), result.duration_ms])).toEqual([
    ['timeout', 30_000],
    ['timeout', 20_000],
    ['timeout', 1000],
  ]);
});

test('a clock that runs ends a call at its limit by itself, and what is left of a limit after a move', async () => {
  const tester = createTester(deaf);
  expect(codeOf(await tester.call('deaf', {}, { timeoutMs: 20 }))).toBe('timeout');
  const running = tester.call('deaf');
  await tester.clock.advance(29_950);
  expect(codeOf(await running)).toBe('timeout');
});

test('timers that vitest replaces drive the deadlines of a tester too', async () => {
  vi.useFakeTimers();
  const tester = createTester(deaf);
  const running = tester.call('deaf');
  await vi.advanceTimersByTimeAsync(30_000);
  expect(codeOf(await running)).toBe('timeout');
});

test('a blocked tool is free again when its cooldown has passed on the clock', async () => {
  const tester = createTester(fail);
  const session = tester.session('agent-1');
  const codes: string[] = [];
  for (const n of [1, 2, 3]) codes.push(codeOf(await session.call('fail', { n })));
  expect(codes).toEqual(['tool_exception', 'tool_exception', 'retry_budget_exhausted']);
  await tester.clock.advance(15 * 60_000);
  expect(codeOf(await session.call('fail', { n: 4 }))).toBe('tool_exception');
  const { tools, calls } = await session.view();
  expect(tools.map(({ name, used }) => ({ name, used }))).toEqual([{ name: 'fail', used: 0 }]);
  expect(calls.map(({ code }) => code)).toEqual([...codes, 'tool_exception']);
});

test('a repeat with the same key runs nothing again, and another body under it is refused', async () => {
  const tester = createTester(send);
  const first = tester.call('send', { text: 'hello' }, { key: 'order-7' });
  const [sent, beside] = await Promise.allSettled([first, tester.call('send', { text: 'hello' }, { key: 'order-7' })]);
  expect(sent).toMatchObject({
    value: { success: true, value: { idempotencyKey: 'order-7#0' }, message: 'Sent: hello.' },
  });
  expect(beside).toMatchObject({
    reason: { name: 'RefusedBatchError', status: 409, code: 'idempotency_key_in_flight' },
  });
  expect(await tester.call('send', { text: 'hello' }, { key: 'order-7' })).toMatchObject({ replayed: true });
  const other = tester.call('send', { text: 'bye' }, { key: 'order-7' });
  await expect(other).rejects.toThrow(RefusedBatchError);
  await expect(other).rejects.toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  // The key is another tenant's own.
  expect(await tester.call('send', { text: 'bye' }, { key: 'order-7', tenant: 'other' })).toMatchObject({
    success: true,
  });
});

test('a caller who goes away ends a call that is safe, and the handler hears of it', async () => {
  const tester = createTester(hang);
  const caller = new AbortController();
  const running = tester.call('hang', {}, { signal: caller.signal });
  caller.abort();
  expect(codeOf(await running)).toBe('cancelled');
  expect(tester.logs.map(({ fields }) => fields)).toEqual([
    { reason: 'AbortError: The caller no longer waits for this call.' },
  ]);
});

test('a tester that is closed ends what runs, and starts nothing any more', async () => {
  const tester = createTester([hang, send]);
  const running = tester.call('hang');
  await tester.close();
  expect(codeOf(await running)).toBe('cancelled');
  expect(codeOf(await tester.call('send', { text: 'late' }))).toBe('shutting_down');
});

test('a failure carries what was thrown, and a result what was reported', async () => {
  const report = defineTool({
    ...shared,
    name: 'report',
    input: z.object({}),
    run: (_input, { progress, part }) => {
      part({ first: true });
      progress({ progress: 1, total: 2 });
      progress({ progress: 2, total: 2, message: 'done' });
      return 'ok';
    },
  });
  const tester = createTester([fail, close, report]);
  const failed = await tester.call('fail', { n: 9 });
  expect(failed.success ? null : failed.thrown).toEqual(new RangeError('9 is out of range'));
  const wrong = await tester.call('fail', { n: 'nine' });
  expect(wrong.success ? null : wrong.thrown).toBeUndefined();
  expect((await tester.call('report')).parts).toEqual([{ first: true }]);
  expect((await tester.call('report')).progress).toEqual([
    { progress: 1, total: 2 },
    { progress: 2, total: 2, message: 'done' },
  ]);
});

test('the view of a session has the slices of the reducers', async () => {
  const count = defineReducer<number>({ name: 'count', initial: 0, reduce: (calls) => calls + 1 });
  const tester = createTester([send, close, count], { now: new Date('2026-01-01T00:00:00Z') });
  const session = tester.session('agent-1', { tenant: 'acme' });
  await session.round([{ name: 'send', arguments: { text: 'a' } }, { name: 'close' }]);
  const { slices, calls } = await session.view();
  expect(slices).toEqual({ count: 2 });
  expect(calls.map(({ tool, code, time }) => `${tool} ${code} ${time}`)).toEqual([
    'send null 2026-01-01T00:00:00.000Z',
    'close tool_failed 2026-01-01T00:00:00.000Z',
  ]);
  expect((await tester.session('agent-1').view()).calls).toEqual([]);
});

test('what no service takes is refused with a word about it', async () => {
  const tester = createTester(send);
  await expect(tester.call('send', { text: 1n })).rejects.toThrow(TypeError);
  await expect(tester.batch([], { session: '' })).rejects.toMatchObject({ status: 400, code: 'invalid_envelope' });
  await expect(tester.clock.advance(-1)).rejects.toThrow(
    new RangeError('clock.advance takes milliseconds of at least 0, not -1.'),
  );
  expect(() => createTester(JSON.parse('[{"name": "send"}]'))).toThrow(
    new TypeError(
      'createTester takes the result of defineTool or defineReducer, or a list of them. Item 0 is a value of type object: pass the result of defineTool.',
    ),
  );
  expect(() => createTester([send, send])).toThrow("Two tools are called 'send'");
});

test('a dry run says what a call would do, and runs nothing', async () => {
  const sent: string[] = [];
  const write = defineTool({
    ...shared,
    name: 'write',
    effects: 'write',
    input: z.object({ text: z.string() }),
    run: ({ text }) => sent.push(text),
    preview: ({ text }) => ({ letters: text.length, sent: sent.length }),
  });
  const tester = createTester(write);
  const options = { key: 'k', session: 's' };
  expect(await tester.dryRun('write', { text: 'abc' }, options)).toMatchObject({
    ...{ outcome: 'checked', executed: 'no', value: { letters: 3, sent: 0 }, error: null },
    dry_run: { depth: 'previewed', would: 'run' },
  });
  expect(await tester.dryRun('write', {})).toMatchObject({
    error: { code: 'invalid_arguments' },
    dry_run: { depth: 'checked', would: 'retry' },
  });
  expect(sent).toEqual([]);
  expect(await tester.call('write', { text: 'abc' }, options)).toMatchObject({ success: true });
  expect((await tester.dryRun('write', { text: 'abc' }, options)).dry_run.would).toBe('replay');
  expect(sent).toEqual(['abc']);
});
