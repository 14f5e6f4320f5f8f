import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SEED_TOOLS } from './seed-tools.ts';

let service: RunningService;
let strict: RunningService;

beforeAll(async () => {
  service = await startService({}, SEED_TOOLS);
  strict = await startService({ GRACEFUL_TOOL_ERRORS: 'false' }, SEED_TOOLS);
});

afterAll(async () => {
  await service.stop();
  await strict.stop();
});

const callOne = async (name: string, input: unknown = {}, from: RunningService = service) => {
  const [result] = await from.call([{ id: 'call_1', name, arguments: input }]);
  if (result === undefined) throw new Error('no result');
  return result;
};

test("seed 000: an exception becomes 'ExceptionType: message' for the model, and the run goes on", async () => {
  const result = await callOne('read_data', { path: '/tmp/data.txt' });
  expect(result).toMatchObject({
    success: false,
    outcome: 'retry',
    executed: 'yes',
    value: null,
    message: "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/data.txt'",
    error: { code: 'tool_exception', type: 'FileNotFoundError', fatal: false },
  });
});

test('seed 000: RetryableToolError passes through unwrapped', async () => {
  const result = await callOne('guided');
  expect(result.message).toBe("No user found with name 'John', provide their full name");
  expect(result.error?.code).toBe('retry_requested');
});

test('seed 000: a tool that opted out fails loudly, and HTTP still answers 200', async () => {
  const result = await callOne('critical_tool', { data: 'x' });
  expect(result).toMatchObject({
    outcome: 'failed',
    executed: 'maybe',
    message: 'TypeError: Must not be silently converted',
    error: { code: 'tool_exception', fatal: true },
    retry: { allowed: false, used: 0 },
  });
  const line = service.logLines().find(({ reference }) => reference === result.error?.reference);
  expect(line).toMatchObject({ level: 50, fatal: true, tool: 'critical_tool' });
  expect(await service.metric('recourse_fatal_failures_total{tool="critical_tool"}')).toBe(1);
});

test('seed 000: the service can opt out, and a tool can opt in again', async () => {
  expect((await callOne('failing_tool', {}, strict)).error).toMatchObject({ code: 'tool_exception', fatal: true });
  expect(await callOne('lenient_tool', { data: 'x' }, strict)).toMatchObject({
    outcome: 'retry',
    message: 'Error: Can be retried',
    error: { fatal: false },
  });
  expect((await callOne('guided', {}, strict)).error).toMatchObject({ code: 'retry_requested', fatal: false });
});

test('seed 000: the original exception keeps its cause chain in the log', async () => {
  const result = await callOne('read_data', { path: '/tmp/other.txt' });
  const line = service.logLines().find(({ reference }) => reference === result.error?.reference);
  expect(line?.['causes']).toMatchObject([
    { type: 'Error', message: "[Errno 2] No such file or directory: '/tmp/other.txt'" },
    { type: 'Error', message: 'ENOENT: no such file or directory' },
  ]);
});

test('seed 000: synchronous and asynchronous handlers are handled alike', async () => {
  expect((await callOne('failing_tool')).message).toBe('Error: Something went wrong');
  expect((await callOne('lenient_tool', { data: '' })).message).toBe('Error: Can be retried');
});

test('seed 001: failure is data: one tool fails, the others answer', async () => {
  const results = await service.call([
    { id: '1', name: 'failing_tool' },
    { id: '2', name: 'describe_symbol', arguments: { symbol: 'process-request' } },
  ]);
  expect(results.map(({ success }) => success)).toEqual([false, true]);
});

test('seed 002: a tool that is not found', async () => {
  const result = await callOne('nonexistent');
  expect(result.success).toBe(false);
  expect(result.error?.code).toBe('unknown_tool');
  expect(result.message).toMatch(/^Unknown tool: nonexistent\. Available tools: /);
});

test('seed 002: a handler that signals an error', async () => {
  // "Tool error: …" of the seed is superseded by seed 000's "ExceptionType: message".
  const result = await callOne('failing_tool');
  expect(result).toMatchObject({ id: 'call_1', success: false, message: 'Error: Something went wrong' });
});

test('seed 002: a required parameter is missing', async () => {
  const result = await callOne('describe_symbol');
  expect(result.message).toBe("Required parameter 'symbol' missing. Fix this and call 'describe_symbol' again.");
  expect(result.error).toMatchObject({
    code: 'invalid_arguments',
    issues: [{ path: 'symbol', expected: 'a string', received: 'nothing', message: 'required parameter missing' }],
  });
});

test('seed 003: failures carry success false and a null value, unless the tool gave a payload', async () => {
  expect(await callOne('failing_tool')).toMatchObject({ success: false, value: null });
  expect(await callOne('structured_failure')).toMatchObject({
    success: false,
    value: { page: 5 },
    message: 'Page 5 not available. Search from page 1 first.',
  });
});

test('seed 003: a failed call with a null value is counted and logged, never dropped', async () => {
  const series = 'recourse_tool_call_failures_total{tool="failing_tool",code="tool_exception",fault="tool"}';
  const before = (await service.metric(series)) ?? 0;
  const result = await callOne('failing_tool');
  expect(await service.metric(series)).toBe(before + 1);
  expect(service.logLines().some(({ reference }) => reference === result.error?.reference)).toBe(true);
});

test('seed 004: nothing found is an empty success that costs no retry', async () => {
  const session = { session_id: 'seed-004' };
  const calls = ['Chris 1:1 February 5 2026', 'Platform Sync February 5 2026'].map((query, index) => ({
    id: `call_${index}`,
    name: 'search_drive',
    arguments: { query },
  }));
  for (let round = 0; round < 5; round += 1) {
    const results = await service.call(calls, session);
    for (const result of results)
      expect(result).toMatchObject({
        success: true,
        empty: true,
        retry: null,
        message: 'No files found.',
        value: { display: 'No files found.', count: 0, page: 1, has_more: false },
      });
  }
});

test('seed 004: as an error, the same searches would have ended the tool for the session', async () => {
  const session = { session_id: 'seed-004-before' };
  const search = async () => {
    const [result] = await service.call([{ name: 'old_search_drive', arguments: { query: 'x' } }], session);
    return result?.error?.code;
  };
  expect([await search(), await search(), await search()]).toEqual([
    'retry_requested',
    'retry_requested',
    'retry_budget_exhausted',
  ]);
});

test('seed 004: an empty value alone is a success too, without the mark', async () => {
  const result = await callOne('list_items');
  expect(result).toMatchObject({ success: true, message: '', value: { display: 'No items.', count: 0 } });
  expect(result).not.toHaveProperty('empty');
});

test('ok() puts a text for the model beside the value', async () => {
  expect(await callOne('told')).toMatchObject({ success: true, message: '2 files found.', value: { count: 2 } });
});
