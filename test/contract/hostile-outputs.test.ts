import { answerOne } from '@recourse/test-support/check-answer.ts';
import { askTurn } from '@recourse/test-support/dialect-client.ts';
import { createMisbehavingTools, RETURNED } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService({}, createMisbehavingTools());
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const NO_JSON = 'it cannot be written as JSON';

/** What is returned → why it cannot be used. */
const UNUSABLE: readonly (readonly [returned: string, problem: string])[] = [
  ['bigint', 'a BigInt is not JSON; return it as a string'],
  ['nested_bigint', 'a BigInt is not JSON; return it as a string'],
  ['told_bigint', 'a BigInt is not JSON; return it as a string'],
  ['not_a_number', 'it contains NaN, which JSON writes as null; return a number, null or a text'],
  ['circular', 'it refers to itself'],
  ['function', 'a function is not JSON'],
  ['symbol', 'a symbol is not JSON'],
  ['json_of_nothing', 'an object is not JSON'],
  ['throwing_json', NO_JSON],
  ['json_throwing_a_revoked_proxy', NO_JSON],
  ['json_throwing_a_trap', NO_JSON],
  ['json_throwing_an_odd_error', NO_JSON],
  ['json_throwing_an_unreadable_error', NO_JSON],
  ['throwing_getter', NO_JSON],
  ['nested_revoked_proxy', NO_JSON],
  ['nested_trap', NO_JSON],
];

test.each(UNUSABLE)('a tool that returns %s ran for nothing', async (returned, problem) => {
  const name = `returns_${returned}`;
  for (const later of [false, true])
    expect(await answerOne(service, { name, arguments: { later } })).toMatchObject({
      outcome: 'failed',
      executed: 'yes',
      value: null,
      message: `Tool '${name}' ran but returned a value that cannot be used: ${problem}. Use another tool, or say what could not be done.`,
      error: { code: 'invalid_output', fatal: false },
    });
});

test.each(UNUSABLE)(
  'a write tool that returns %s did its work: a success with a warning',
  async (returned, problem) => {
    const name = `returns_${returned}_write`;
    const message = `Tool '${name}' ran but returned a value that cannot be used: ${problem}. Use another tool, or say what could not be done.`;
    for (const later of [false, true])
      expect(await answerOne(service, { name, arguments: { later } })).toMatchObject({
        outcome: 'success',
        executed: 'yes',
        value: null,
        error: null,
        warnings: [{ code: 'invalid_output', message }],
      });
  },
);

// Returned from an async function, these end as its exception: the language asks every returned object for `then`.
test.each(['revoked_proxy', 'trap'])('a tool that returns %s fails alone', async (returned) => {
  const codeOf = async (later: boolean) =>
    (await answerOne(service, { name: `returns_${returned}`, arguments: { later } })).error?.code;
  expect(await codeOf(false)).toBe('invalid_output');
  expect(await codeOf(true)).toBe('tool_exception');
});

test.each([
  ['undefined', null],
  ['error_text', 'Error: no such row'],
  ['error_object', { error: 'no such row' }],
  ['date', '1970-01-01T00:00:00.000Z'],
])('a tool that returns %s succeeds, whatever its text looks like', async (returned, value) => {
  for (const name of [`returns_${returned}`, `returns_${returned}_write`])
    for (const later of [false, true]) {
      const result = await answerOne(service, { name, arguments: { later } });
      expect(result).toMatchObject({ outcome: 'success', executed: 'yes', value, message: '', retry: null });
    }
});

const WITHOUT_TEXT: readonly (readonly [returned: string, value: unknown, read: string])[] = [
  ['ok_of_nothing', null, 'SUCCESS: The tool succeeded and returned nothing.'],
  ['ok_without_text', { count: 2 }, 'SUCCESS: {"count":2}'],
  ['ok_with_a_number', { count: 2 }, 'SUCCESS: {"count":2}'],
  ['empty_without_text', null, 'SUCCESS: Nothing was found.'],
  ['empty_with_null', [], 'SUCCESS: Nothing was found.'],
];

test.each(WITHOUT_TEXT)(
  'a tool that returns %s is a success without a text, and the model reads none',
  async (returned, value, read) => {
    const name = `returns_${returned}`;
    expect(await answerOne(service, { name, arguments: {} })).toMatchObject({ outcome: 'success', value, message: '' });
    const { messages } = await askTurn(service, { calls: [{ name }], format: 'text' });
    expect(messages).toEqual([read]);
  },
);

const TOO_LARGE = ['two_megabytes', 'two_megabytes_of_rows', 'euros_over_the_cap', 'six_hundred_megabytes'];

test.each(TOO_LARGE)('a tool that returns %s is asked for less', async (returned) => {
  const name = `returns_${returned}`;
  for (const later of [false, true])
    expect(await answerOne(service, { name, arguments: { later } })).toMatchObject({
      outcome: 'retry',
      executed: 'yes',
      value: null,
      message: `Tool '${name}' ran but its result is larger than 1048576 bytes. Ask for less.`,
      error: { code: 'output_too_large' },
    });
});

test.each([
  ['two_megabytes', `"${'x'.repeat(8190)}…`],
  ['euros_over_the_cap', `"${'€'.repeat(8190)}…`],
  // Cutting it would first make all of it.
  ['six_hundred_megabytes', null],
])('a write tool that returns %s did its work: a success with a cut value', async (returned, value) => {
  expect(await answerOne(service, { name: `returns_${returned}_write` })).toMatchObject({
    outcome: 'success',
    executed: 'yes',
    value,
    truncated: true,
    warnings: [{ code: 'output_too_large', message: 'The result was larger than 1048576 bytes and is truncated.' }],
  });
});

test('exactly as many bytes as a result may have are taken', async () => {
  expect((await answerOne(service, { name: 'returns_euros_at_the_cap' })).value).toBe('€'.repeat(349_524));
});

test('a value of a hundred thousand levels costs its neighbours nothing', async () => {
  const { error } = await answerOne(service, { name: 'returns_deep' });
  expect(error?.code).toBe('invalid_output');
});

test('everything that is returned has its expectation', () => {
  const others = ['revoked_proxy', 'trap', 'undefined', 'error_text', 'error_object', 'date', 'deep'];
  const expected = [
    ...[...UNUSABLE, ...WITHOUT_TEXT].map(([returned]) => returned),
    ...TOO_LARGE,
    ...others,
    'euros_at_the_cap',
  ];
  expect(expected.sort()).toEqual(Object.keys(RETURNED).sort());
});
