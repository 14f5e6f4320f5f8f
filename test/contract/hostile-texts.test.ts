import { answerAmongGood, answerOne } from '@recourse/test-support/check-answer.ts';
import { toolThat, toolThatThrows } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';
import type { Tool } from '#src/tools/tool.ts';
import { RetryableToolError, TerminalToolError, UpstreamToolError } from '#src/tools/tool-errors.ts';

const wide = Object.fromEntries(Array.from({ length: 12 }, (_, key) => [`p${key}`, z.number()]));
const forever = new Promise<never>(() => undefined);

const TOOLS: readonly Tool[] = [
  ...Array.from({ length: 20 }, (_, place) => toolThat(`filler_${place}`, () => null)),
  toolThat('add', () => 3, { input: z.object({ x: z.number(), y: z.number() }) }),
  toolThat('wide', () => 1, { input: z.object(wide) }),
  toolThat('login', () => 1, { input: z.object({ pin: z.number().meta({ sensitive: true }) }) }),
  defineTool({
    name: 'plain',
    description: 'Has a JSON Schema.',
    effects: 'read',
    input: { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] },
    run: () => 1,
  }),
  toolThatThrows('breaks', () => new RangeError('out of range')),
  toolThatThrows('silent', () => new Error('')),
  toolThatThrows('guides', () => new RetryableToolError('No user John.', { hint: 'Give the full name.' })),
  toolThatThrows('refuses', () => new TerminalToolError('The shop is closed.', { hint: 'Tell the customer.' })),
  toolThatThrows(
    'limited',
    () =>
      new UpstreamToolError(
        'upstream_rate_limited',
        'Rate limit exceeded (429). Try again in 60 seconds or use another source.',
        { executed: 'no', retryAfterMs: 60_000 },
      ),
  ),
  toolThat('hangs', () => forever, { timeoutMs: 50 }),
  toolThat('hangs_write', () => forever, { timeoutMs: 50, effects: 'write' }),
  toolThatThrows('told_no_more', () => new RangeError('never shown'), { gracefulErrors: false }),
];

let service: RunningService;

beforeAll(async () => {
  service = await startService({}, TOOLS);
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

const say = async (name: string, args: unknown = {}): Promise<string> =>
  (await answerOne(service, { name, arguments: args })).message;

test.each([
  [
    'add',
    '{"x":',
    `Arguments for 'add' are not valid JSON: unexpected end at position 5. Send one JSON object, for example {"x": 1, "y": 2}.`,
  ],
  ['add', '[1]', "Arguments for 'add' must be a JSON object, got an array."],
  ['add', { x: 1 }, "Required parameter 'y' missing. Fix this and call 'add' again."],
  [
    'add',
    { x: 'abc', y: 1, z: 2 },
    `Invalid arguments for 'add' (2 problems):\n- x: expected a number, got the string "abc"\n- z: unknown parameter; accepted: x, y\nFix these and call 'add' again.`,
  ],
  [
    'add',
    {},
    "Invalid arguments for 'add' (2 problems):\n- x: required parameter missing\n- y: required parameter missing\nFix these and call 'add' again.",
  ],
  [
    'add',
    { x: 1, y: 'z'.repeat(500) },
    `Invalid arguments for 'add' (1 problem):\n- y: expected a number, got the string "${'z'.repeat(78)}…\nFix these and call 'add' again.`,
  ],
  [
    'login',
    { pin: '1234' },
    "Invalid arguments for 'login' (1 problem):\n- pin: expected a number, got a string (hidden)\nFix these and call 'login' again.",
  ],
  [
    'plain',
    { n: 1, m: 2 },
    "Invalid arguments for 'plain' (2 problems):\n- m: unknown parameter; accepted: n\n- n: expected a number of at least 3, got the number 1\nFix these and call 'plain' again.",
  ],
  ['breaks', {}, 'RangeError: out of range'],
  ['silent', {}, "Tool 'silent' failed without a message."],
  ['guides', {}, 'No user John. Give the full name.'],
  ['refuses', {}, 'The shop is closed. Tell the customer.'],
  ['limited', {}, 'Rate limit exceeded (429). Try again in 60 seconds or use another source.'],
  ['hangs', {}, "Tool 'hangs' timed out after 50 ms. It is safe to call it again; ask for less."],
  [
    'hangs_write',
    {},
    "Tool 'hangs_write' did not answer within 50 ms. It may or may not have taken effect. Check before calling it again.",
  ],
  ['told_no_more', {}, 'RangeError: never shown'],
])('%s %j is told in the words of the contract', async (name, args, message) => {
  expect(await say(name, args)).toBe(message);
});

test('of many problems ten are listed and the others counted', async () => {
  const lines = Array.from({ length: 10 }, (_, key) => `- p${key}: expected a number, got the string "x"`).join('\n');
  const args = Object.fromEntries(Object.keys(wide).map((key) => [key, 'x']));
  expect(await say('wide', args)).toBe(
    `Invalid arguments for 'wide' (12 problems):\n${lines}\n… and 2 more\nFix these and call 'wide' again.`,
  );
});

test('a name that is unknown is answered with the names there are, at most twenty', async () => {
  expect(await say('ad')).toMatch(/^Unknown tool: ad\. Did you mean 'add'\? Available tools: add, /);
  const names = (await say('ad')).split('Available tools: ')[1]?.replace(/\.$/, '').split(', ');
  expect(names).toHaveLength(20);
});

test('"again" is offered only where the outcome is retry', async () => {
  const entries = ['breaks', 'silent', 'guides', 'refuses', 'limited', 'told_no_more'].map((name) =>
    JSON.stringify({ name }),
  );
  for (const { outcome, message } of await answerAmongGood(service, entries))
    if (/try again/i.test(message)) expect(outcome).toBe('retry');
});
