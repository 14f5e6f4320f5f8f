import { failed, retriesLeft, succeeded } from '@recourse/test-support/formats/results.ts';
import type { ToolResult } from 'recourse-server/internal/contract/tool-result.ts';
import { expect, test } from 'vitest';
import { explainResult } from '#src/observation.ts';

const NOT_FOUND = "FileNotFoundError: there is no file 'note.md' in the workspace.";
const warning = (message: string) => ({ code: 'identical_call', message });

const SUCCESSES: readonly (readonly [string, ToolResult, string])[] = [
  ['a text goes as it is', succeeded('Two lines\nof a file'), 'Two lines\nof a file'],
  ['anything else goes as JSON', succeeded({ path: 'notes.md', lines: [1, 2] }), '{"path":"notes.md","lines":[1,2]}'],
  ['a number goes as JSON', succeeded(0), '0'],
  ['false goes as JSON', succeeded(false), 'false'],
  [
    'the text of the tool stands before its value',
    succeeded({ temperature: -3 }, { message: 'It is -3 °C.' }),
    'It is -3 °C.\n{"temperature":-3}',
  ],
  ['a value that says the same is said once', succeeded('It is -3 °C.', { message: 'It is -3 °C.' }), 'It is -3 °C.'],
  [
    'a search without matches says so before its value',
    succeeded({ matches: [], count: 0 }, { message: 'No matches found.', empty: true }),
    'No matches found.\n{"matches":[],"count":0}',
  ],
  [
    'an empty answer whose value holds the text',
    succeeded({ display: 'No files found.', count: 0 }, { message: 'No files found.', empty: true }),
    '{"display":"No files found.","count":0}',
  ],
  ['an empty answer without a text', succeeded([], { empty: true }), 'Nothing was found.'],
  [
    'an empty answer with a value but no text',
    succeeded({ matches: [] }, { empty: true }),
    'Nothing was found.\n{"matches":[]}',
  ],
  ['no value at all', succeeded(null), 'The tool succeeded and returned nothing.'],
  ['a blank text', succeeded(' \n'), 'The tool succeeded and returned nothing.'],
  ['an empty list', succeeded([]), 'The tool succeeded and returned nothing.'],
  ['an empty object', succeeded({}), 'The tool succeeded and returned nothing.'],
  ['a blank text of the tool counts as none', succeeded(3, { message: '  ' }), '3'],
  [
    'warnings are told after the value',
    succeeded('done', { warnings: [warning('One.'), warning('Two.')] }),
    'done\nWarning: One.\nWarning: Two.',
  ],
  [
    'warnings are told where there is no value',
    succeeded(null, { warnings: [warning('The result was larger than 10 bytes and is truncated.')] }),
    'The tool succeeded and returned nothing.\nWarning: The result was larger than 10 bytes and is truncated.',
  ],
  ['a cut result says so', succeeded('The beg', { truncated: true }), 'The beg\nWarning: the result is truncated.'],
  ['a success that looks like a failure stays as it is', succeeded('Error: 404'), 'Error: 404'],
];

test.for(SUCCESSES)('of a success, %s', ([, result, text]) => {
  expect(explainResult(result)).toBe(text);
});

const FAILURES: readonly (readonly [string, ToolResult, string])[] = [
  [
    'the code, the message and what is left of the budget',
    failed(NOT_FOUND, {}, { retry: retriesLeft(3) }),
    "ERROR: tool_exception: FileNotFoundError: there is no file 'note.md' in the workspace.\nRetries left: 3 of 3.",
  ],
  [
    'the hint is in the message, and said once',
    failed('No such city. Call list_cities first.', { code: 'retry_requested', hint: 'Call list_cities first.' }),
    'ERROR: retry_requested: No such city. Call list_cities first.',
  ],
  [
    'one retry left is said once',
    failed(`${NOT_FOUND} This was attempt 3 of 4; one retry is left.`, {}, { retry: retriesLeft(1) }),
    `ERROR: tool_exception: ${NOT_FOUND} This was attempt 3 of 4; one retry is left.`,
  ],
  [
    'no retry left is said once',
    failed(
      `${NOT_FOUND} No retries are left for 'read_file'. Use another tool, or say what could not be done.`,
      { retry_after_ms: 3000 },
      { retry: retriesLeft(0) },
    ),
    `ERROR: tool_exception: ${NOT_FOUND} No retries are left for 'read_file'. Use another tool, or say what could not be done.`,
  ],
  [
    'a failure that costs nothing says what is left all the same',
    failed(
      "Tool 'x' was cancelled while running. It is safe to call it again.",
      { code: 'cancelled' },
      { executed: 'maybe', retry: retriesLeft(1) },
    ),
    "ERROR: cancelled: Tool 'x' was cancelled while running. It is safe to call it again.\nRetries left: 1 of 3.",
  ],
  [
    'and that nothing is',
    failed('It was cancelled.', { code: 'cancelled' }, { retry: retriesLeft(0) }),
    'ERROR: cancelled: It was cancelled.\nNo retries are left.',
  ],
  [
    "the session's budget is named where it is what limits",
    failed(NOT_FOUND, {}, { retry: retriesLeft(2, { limited_by: 'session' }) }),
    `ERROR: tool_exception: ${NOT_FOUND}\nRetries left in this session: 2.`,
  ],
  [
    'what a refusal says is enough',
    failed(
      "Tool 'read_file' failed 4 times in a row and is blocked for this session. Do not call it again: use another tool, or say what could not be done.",
      { code: 'retry_budget_exhausted' },
      { outcome: 'refused', executed: 'no', retry: retriesLeft(0) },
    ),
    "ERROR: retry_budget_exhausted: Tool 'read_file' failed 4 times in a row and is blocked for this session. Do not call it again: use another tool, or say what could not be done.",
  ],
  [
    'what is final is called final, and no retries are offered',
    failed(
      'PaymentError: the card has expired.',
      { code: 'tool_failed' },
      { outcome: 'failed', retry: retriesLeft(3) },
    ),
    'ERROR: tool_failed: PaymentError: the card has expired.\nRepeating this call will not help.',
  ],
  [
    'what may have happened is to be checked first',
    failed('SocketError: reset.', {}, { outcome: 'unknown', executed: 'maybe', retry: retriesLeft(2) }),
    'ERROR: tool_exception: SocketError: reset.\nIt may or may not have taken effect. Check before calling it again.',
  ],
  [
    'no retries left are told also of what may have happened',
    failed('SocketError: reset.', {}, { outcome: 'unknown', executed: 'maybe', retry: retriesLeft(0) }),
    'ERROR: tool_exception: SocketError: reset.\nIt may or may not have taken effect.\nNo retries are left.',
  ],
  [
    'what may have been posted is to be checked in words of its own',
    failed(
      'Slack failed (HTTP 500). It may have been posted. Check before posting again.',
      { code: 'upstream_unavailable' },
      { outcome: 'unknown', executed: 'maybe', retry: retriesLeft(1) },
    ),
    'ERROR: upstream_unavailable: Slack failed (HTTP 500). It may have been posted. Check before posting again.',
  ],
  [
    'and that is said once',
    failed(
      "Tool 'x' did not answer within 10 ms. It may or may not have taken effect. Check before calling it again.",
      { code: 'timeout' },
      { outcome: 'unknown', executed: 'maybe' },
    ),
    "ERROR: timeout: Tool 'x' did not answer within 10 ms. It may or may not have taken effect. Check before calling it again.",
  ],
  [
    'how long to wait',
    failed('The API is busy.', { code: 'upstream_rate_limited', retry_after_ms: 59_001 }),
    'ERROR: upstream_rate_limited: The API is busy.\nWait 60 seconds before calling it again.',
  ],
  [
    'a second is one second',
    failed('The API is busy.', { code: 'upstream_rate_limited', retry_after_ms: 3 }),
    'ERROR: upstream_rate_limited: The API is busy.\nWait one second before calling it again.',
  ],
  [
    'a wait that the message names is said once',
    failed('Rate limit exceeded (429). Try again in 60 seconds or use another source.', {
      code: 'upstream_rate_limited',
      retry_after_ms: 60_000,
    }),
    'ERROR: upstream_rate_limited: Rate limit exceeded (429). Try again in 60 seconds or use another source.',
  ],
  [
    'a resting tool says for how long, once',
    failed(
      "Not executed: 'x' is temporarily disabled after repeated failures; available again in one second. Use another tool, or say what could not be done.",
      { code: 'circuit_open', retry_after_ms: 800 },
      { outcome: 'refused', executed: 'no' },
    ),
    "ERROR: circuit_open: Not executed: 'x' is temporarily disabled after repeated failures; available again in one second. Use another tool, or say what could not be done.",
  ],
  [
    'another number of seconds in the message is not that wait',
    failed('The last 160 seconds were busy.', { code: 'upstream_rate_limited', retry_after_ms: 60_000 }),
    'ERROR: upstream_rate_limited: The last 160 seconds were busy.\nWait 60 seconds before calling it again.',
  ],
  [
    'what the tool put into its failure',
    failed('The order was refused.', { code: 'tool_failed' }, { outcome: 'failed', value: { rule: 'max_amount' } }),
    'ERROR: tool_failed: The order was refused.\nDetails: {"rule":"max_amount"}\nRepeating this call will not help.',
  ],
  [
    'warnings',
    failed(NOT_FOUND, {}, { warnings: [warning('Two calls have this id.')] }),
    `ERROR: tool_exception: ${NOT_FOUND}\nWarning: Two calls have this id.`,
  ],
];

test.for(FAILURES)('of a failure: %s', ([, result, text]) => {
  expect(explainResult(result)).toBe(text);
});

test('what a failure brings along is cut to what a model reads, never inside a character', () => {
  const text = explainResult(failed('It failed.', {}, { value: `${'v'.repeat(1999)}😀`, outcome: 'refused' }));
  expect(text).toBe(`ERROR: tool_exception: It failed.\nDetails: ${'v'.repeat(1999)}…`);
});

test('a value nested 5 000 deep has a text', () => {
  const value: unknown = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`);
  expect(explainResult(succeeded(value))).toHaveLength(10_000);
});

test('a model hears no warning about keys and ids, which it neither sends nor sees', () => {
  const warnings = [
    { code: 'idempotency_not_durable', message: 'The key is remembered only while this process lives.' },
    { code: 'duplicate_id', message: 'Two calls have this id.' },
  ];
  expect(explainResult(succeeded({ a: 1 }, { warnings }))).toBe('{"a":1}');
  const slow = { code: 'identical_call', message: 'The same again.' };
  expect(explainResult(succeeded('x', { warnings: [...warnings, slow] }))).toBe('x\nWarning: The same again.');
});
