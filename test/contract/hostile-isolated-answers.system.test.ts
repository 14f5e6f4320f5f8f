import { expectResults, post } from '@recourse/test-support/check-answer.ts';
import {
  answerAlone,
  answerBoth,
  type IsolatedLab,
  startIsolated,
  toVerdict,
} from '@recourse/test-support/hostile-tools/isolated-lab.ts';
import { createMisbehavingTools } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ToolResult } from '#src/contract/tool-result.ts';

let isolated: IsolatedLab;
let inline: RunningService;

beforeAll(async () => {
  // All of a batch's large values fit, so that each is judged by itself.
  const wide = { MAX_EVENT_LOOP_LAG_MS: '60000', MAX_ANSWER_BYTES: '67108864', REQUEST_MEMORY_MB: '2048' };
  isolated = await startIsolated(['misbehaving', 'answers'], wide);
  inline = await startService(wide, createMisbehavingTools());
});

afterAll(async () => {
  await inline.stop();
  await isolated.stopClean();
});

const callAll = async (url: string, calls: readonly unknown[]): Promise<readonly unknown[]> =>
  expectResults(await post(url, JSON.stringify({ calls })), calls.length).map(toComparable);

// Everything but what differs from one run of a call to the next.
const toComparable = ({ duration_ms: _duration, error, ...rest }: ToolResult) => ({
  ...rest,
  error: error === null ? null : { ...error, reference: '', effect_id: error.effect_id?.slice(0, 2) },
});

const NAMES = createMisbehavingTools().map(({ name }) => name);
const BATCHES = Array.from({ length: Math.ceil(NAMES.length / 32) }, (_, part) => part);

test.each(BATCHES)('whatever is thrown or returned means the same in a process of its own (part %i)', async (part) => {
  const calls = NAMES.slice(part * 32, part * 32 + 32).flatMap((name) => [
    { name, arguments: { later: false } },
    { name, arguments: { later: true } },
  ]);
  expect(calls.length).toBeGreaterThan(0);
  expect(await callAll(isolated.url, calls)).toEqual(await callAll(inline.url, calls));
});

test.each([
  ['throws_error', 'tool_exception', 'retry', 'Error: boom'],
  ['throws_null', 'tool_exception', 'retry', "Tool 'throws_null' failed without a message."],
  ['throws_revoked_proxy', 'tool_exception', 'retry', "Tool 'throws_revoked_proxy' failed without a message."],
  [
    'returns_bigint',
    'invalid_output',
    'failed',
    "Tool 'returns_bigint' ran but returned a value that cannot be used: a BigInt is not JSON; return it as a string. Use another tool, or say what could not be done.",
  ],
  [
    'returns_six_hundred_megabytes',
    'output_too_large',
    'retry',
    "Tool 'returns_six_hundred_megabytes' ran but its result is larger than 1048576 bytes. Ask for less.",
  ],
])('%s among 63 good calls', async (name, code, outcome, message) => {
  for (const result of await answerBoth(isolated, { name, arguments: {} }))
    expect(toVerdict(result)).toEqual({ code, outcome, executed: 'yes', value: null, message });
});

test('a write tool whose value cannot be used has done its work', async () => {
  for (const result of await answerBoth(isolated, { name: 'returns_circular_write', arguments: {} })) {
    expect(toVerdict(result)).toEqual({ code: null, outcome: 'success', executed: 'yes', value: null, message: '' });
    expect(result.warnings).toMatchObject([{ code: 'invalid_output' }]);
  }
});

test('as many bytes as a result may have cross the boundary, and not one more', async () => {
  for (const { value } of await answerBoth(isolated, { name: 'sized', arguments: { bytes: 1_048_576 } }))
    expect(value === 'x'.repeat(1_048_574)).toBe(true);
  for (const result of await answerBoth(isolated, { name: 'sized', arguments: { bytes: 1_048_577 } }))
    expect(toVerdict(result)).toEqual({
      code: 'output_too_large',
      outcome: 'retry',
      executed: 'yes',
      value: null,
      message: "Tool 'sized' ran but its result is larger than 1048576 bytes. Ask for less.",
    });
  for (const result of await answerBoth(isolated, { name: 'sized_write', arguments: { bytes: 1_048_577 } }))
    expect(result).toMatchObject({ outcome: 'success', executed: 'yes', truncated: true });
});

test('arguments of 900 kB cross the boundary, of letters, of signs of several bytes, and of escapes', async () => {
  for (const text of ['x'.repeat(900_000), '€'.repeat(300_000), '"'.repeat(450_000)])
    for (const result of await answerBoth(isolated, { name: 'measures', arguments: { text } }))
      expect(result).toMatchObject({ outcome: 'success', value: text.length });
});

test.each([
  ['strict_about_rows', { row: 0.5 }, 'invalid_arguments', 'retry', 'no'],
  ['refine_throws_there', {}, 'invalid_arguments', 'retry', 'no'],
  ['breaks_its_word', {}, 'invalid_output', 'failed', 'yes'],
  ['asks_again', {}, 'retry_requested', 'retry', 'yes'],
  ['asks_again_write', {}, 'retry_requested', 'retry', 'no'],
  ['gives_up', {}, 'tool_failed', 'failed', 'yes'],
  ['upstream_is_slow', {}, 'upstream_rate_limited', 'retry', 'no'],
])('%s with %j ends as %s', async (name, given, code, outcome, executed) => {
  for (const result of await answerBoth(isolated, { name, arguments: given }))
    expect(result).toMatchObject({ outcome, executed, error: { code } });
});

test('what a tool says to the model crosses the boundary whole', async () => {
  const { message, value, error } = await answerAlone(isolated, { name: 'asks_again' });
  expect({ message, value }).toEqual({
    message: 'There is no such row. Ask for rows 1 to 9.',
    value: { rows: 9 },
  });
  expect(error).toMatchObject({ type: 'RetryableToolError', hint: 'Ask for rows 1 to 9.', retry_after_ms: 50 });
  const issues = (await answerAlone(isolated, { name: 'strict_about_rows', arguments: { row: 0, side: 'up' } })).error;
  expect(issues?.issues.map(({ path }) => path)).toEqual(['row', 'side']);
  expect(await answerAlone(isolated, { name: 'tells_and_returns' })).toMatchObject({
    success: true,
    value: { row: 7 },
    message: 'Row 7.',
  });
  const nothing = await answerAlone(isolated, { name: 'finds_nothing' });
  expect(nothing).toMatchObject({ success: true, empty: true, value: [], message: 'No rows.' });
});
