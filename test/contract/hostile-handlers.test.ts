import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { createMisbehavingTools, createStuckTools, THROWN } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let service: RunningService;

beforeAll(async () => {
  service = await startService({}, [...createMisbehavingTools(), ...createStuckTools()]);
});

afterAll(async () => {
  // The last-resort net stays unused: a net that catches silently hides every hole inside it.
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

/** What is thrown → the exception's type and text; an empty text where there is none to tell. */
const TOLD: readonly (readonly [thrown: string, type: string, text: string])[] = [
  ['error', 'Error', 'boom'],
  ['own_error', 'FileNotFoundError', "no file 'a.md'"],
  ['string', 'Error', 'boom'],
  ['empty_string', 'Error', ''],
  ['number', 'Error', '42'],
  ['bigint', 'Error', '7'],
  ['boolean', 'Error', 'false'],
  ['symbol', 'Error', 'Symbol(boom)'],
  ['null', 'Error', ''],
  ['undefined', 'Error', ''],
  ['function', 'Error', ''],
  ['frozen_object', 'Error', '{"reason":"frozen"}'],
  ['frozen_error', 'Error', 'frozen'],
  ['bare_object', 'Error', ''],
  ['array', 'Error', '["boom"]'],
  ['empty_message', 'Error', ''],
  ['blank_message', 'Error', ''],
  ['odd_message', 'Error', ''],
  ['odd_name', 'Error', 'boom'],
  ['throwing_message', 'Error', ''],
  ['throwing_name', 'Error', 'boom'],
  ['circular', 'Error', ''],
  ['circular_cause', 'Error', 'boom'],
  ['promise', 'Error', ''],
  ['own_timeout', 'TimeoutError', 'the upstream was slow'],
  ['revoked_proxy', 'Error', ''],
  ['trap', 'Error', ''],
  ['stack_in_message', 'Error', 'Error: boom'],
  ['stack_in_json', 'Error', '{"stack":"Error: boom"}'],
  ['stack_in_hint', 'Error', 'boom. Error: Try x.'],
  ['stack_as_string', 'Error', 'Error: boom'],
];

const TOO_LONG = ['long_message', 'password_at_the_cut'];

test('everything that is thrown has its expectation', () => {
  expect([...TOLD.map(([thrown]) => thrown), ...TOO_LONG].sort()).toEqual(Object.keys(THROWN).sort());
});

test.each(TOLD)('a tool that throws %s fails alone, with a text', async (thrown, type, text) => {
  const name = `throws_${thrown}`;
  const expected = text === '' ? `Tool '${name}' failed without a message.` : `${type}: ${text}`;
  for (const later of [false, true])
    expect(await answerOne(service, { name, arguments: { later } })).toMatchObject({
      name,
      outcome: 'retry',
      executed: 'yes',
      value: null,
      message: expected,
      error: { code: 'tool_exception', type, fatal: false },
      retry: { allowed: true, used: 0, remaining: 3, scope: 'request' },
    });
});

test.each(TOLD)('a write tool that throws %s may have done it', async (thrown, type, text) => {
  const name = `throws_${thrown}_write`;
  const expected = text === '' ? `Tool '${name}' failed without a message.` : `${type}: ${text}`;
  for (const later of [false, true])
    expect(await answerOne(service, { name, arguments: { later } })).toMatchObject({
      outcome: 'unknown',
      executed: 'maybe',
      message: expected,
      error: { code: 'tool_exception', type },
      retry: { allowed: false },
    });
});

test('a text without end is cut, and the budget still has the last word', async () => {
  const [read, write] = await answerAmongGood(service, [
    '{"name":"throws_long_message"}',
    '{"name":"throws_long_message_write"}',
  ]);
  expect(read?.message).toBe(`Error: ${'x'.repeat(1992)}…`);
  // It may have taken effect: one that is left would ask for it twice.
  expect(write?.message).toBe(`Error: ${'x'.repeat(1992)}…`);
  const last =
    " No retries are left for 'throws_long_message_write'. Check in another way whether it took effect, or say that its outcome is unknown.";
  const again = { name: 'throws_long_message_write', arguments: {} };
  const session = { session_id: 'a text without end' };
  await answerOne(service, again, session);
  const { message } = await answerOne(service, again, session);
  expect(message).toBe(`Error: ${'x'.repeat(1992 - last.length)}…${last}`);
});

test('a secret at the place where a text is cut does not show its first half', async () => {
  const { message } = await answerOne(service, { name: 'throws_password_at_the_cut' });
  expect(message).toBe(`Error: ${'x'.repeat(1970)} https://[redacted]…`);
  expect(JSON.stringify(service.logLines())).not.toContain('hunter2');
});

test('a hint shows no stack either', async () => {
  expect((await answerOne(service, { name: 'throws_stack_in_hint' })).error?.hint).toBe('Error: Try x.');
});

test('what never ends is answered at its deadline, among good calls', async () => {
  const names = ['never_settles', 'rejects_when_aborted', 'refine_hangs', 'never_settles_write'];
  const results = await answerAmongGood(
    service,
    names.map((name) => JSON.stringify({ name })),
  );
  expect(results.map(({ outcome, executed, message, error }) => [error?.code, outcome, executed, message])).toEqual([
    ...names
      .slice(0, 3)
      .map((name) => [
        'timeout',
        'retry',
        'maybe',
        `Tool '${name}' timed out after 100 ms. It is safe to call it again; ask for less.`,
      ]),
    [
      'timeout',
      'unknown',
      'maybe',
      "Tool 'never_settles_write' did not answer within 100 ms. It may or may not have taken effect. Check before calling it again.",
    ],
  ]);
});

test('a call may shorten the limit of its tool and not lengthen it', async () => {
  const results = await answerAmongGood(service, [
    '{"name":"never_settles","timeout_ms":20}',
    '{"name":"never_settles","timeout_ms":1e9}',
  ]);
  expect(results.map(({ message }) => message)).toEqual([
    "Tool 'never_settles' timed out after 20 ms. It is safe to call it again; ask for less.",
    "Tool 'never_settles' timed out after 100 ms. It is safe to call it again; ask for less.",
  ]);
});
