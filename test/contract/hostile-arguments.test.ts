import { answerAmongGood } from '@recourse/test-support/check-answer.ts';
import { createStuckTools } from '@recourse/test-support/misbehaving-tools.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { defineTool } from '#src/tools/define-tool.ts';

const ran: unknown[] = [];

const remember = (name: string, input: z.ZodType) =>
  defineTool({ name, description: 'Remembers.', effects: 'read', input, run: (given) => void ran.push(given) });

const Row = z.object({ x: z.number(), y: z.boolean().optional() });

let service: RunningService;

beforeAll(async () => {
  const tools = [remember('loose', z.looseObject({})), remember('bare', z.object({})), remember('row', Row)];
  service = await startService({ MAX_BODY_BYTES: '16777216' }, [...tools, ...createStuckTools()]);
});

beforeEach(() => {
  ran.length = 0;
});

afterAll(async () => {
  expect(await service.metric('recourse_contract_violations_total')).toBe(0);
  await service.stop();
});

/** One call whose `arguments` are this JSON text. */
const answer = async (name: string, args: string) => {
  const [result] = await answerAmongGood(service, [`{"name":"${name}","arguments":${args}}`]);
  return result;
};

const expectRefused = async (name: string, args: string, message: string): Promise<void> => {
  expect(await answer(name, args)).toMatchObject({
    outcome: 'retry',
    executed: 'no',
    value: null,
    message,
    error: { code: 'invalid_arguments' },
    retry: { allowed: true, used: 0, remaining: 3 },
  });
  expect(ran).toEqual([]);
};

test.each(['{"x":5}', '"{\\"x\\":5}"', '" \\n{\\"x\\": 5.0}\\n"'])('the arguments %s are read', async (args) => {
  expect((await answer('row', args))?.success).toBe(true);
  expect(ran).toEqual([{ x: 5 }]);
});

test.each(['""', '" \\n\\t"', 'null', '"null"', '" null\\n"', '[]', '"[]"', '"\\"\\""', '{}', '"{}"'])(
  'the arguments %s are none',
  async (args) => {
    expect((await answer('bare', args))?.success).toBe(true);
    expect(ran).toEqual([{}]);
  },
);

test('absent arguments are none', async () => {
  const [result] = await answerAmongGood(service, ['{"name":"bare"}']);
  expect(result?.success).toBe(true);
  expect(ran).toEqual([{}]);
});

test.each([
  ['{"x":5', "Expected ',' or '}' after property value at position 6"],
  ['{"x":', 'unexpected end at position 5'],
  ['{"x":"5', 'Unterminated string at position 7'],
  ['{"x":5}}', 'Unexpected non-whitespace character after JSON at position 7'],
  ['{"x":5}{"x":6}', 'Unexpected non-whitespace character after JSON at position 7'],
  ['{"x":5,}', 'Expected double-quoted property name at position 7'],
  ["{'x':5}", "Expected property name or '}' at position 1"],
  ['{x:5}', "Expected property name or '}' at position 1"],
  ['{"x":True}', 'unexpected token "T" at position 5'],
  ['{"x":5} // five', 'Unexpected non-whitespace character after JSON at position 8'],
  ['```json\n{"x":5}\n```', 'unexpected token "`" at position 0'],
  ['[object Object]', 'unexpected token "o" at position 1'],
  ['undefined', 'unexpected token "u" at position 0'],
  ['NaN', 'unexpected token "N" at position 0'],
  ['{"x":NaN}', 'unexpected token "N" at position 5'],
  ['{"x":"a\nb"}', 'Bad control character in string literal at position 7'],
  ['{"x":"\\x"}', 'Bad escaped character at position 7'],
  ['x=5', 'unexpected token "x" at position 0'],
  ['\ufeff\u0000', 'unexpected token "\ufeff" at position 0'],
])('the text %j is no JSON, which is said with the place; nothing is run instead', async (text, problem) => {
  for (const name of ['bare', 'loose'])
    await expectRefused(
      name,
      JSON.stringify(text),
      `Arguments for '${name}' are not valid JSON: ${problem}. Send one JSON object, for example {}.`,
    );
});

test.each([
  ['[{}]', 'an array'],
  ['[null]', 'an array'],
  ['5', 'the number 5'],
  ['true', 'the boolean true'],
  ['"[1]"', 'an array'],
  ['"5"', 'the number 5'],
  ['false', 'the boolean false'],
  ['"\\"text\\""', 'the string "text"'],
])('the arguments %s are no object', async (args, received) => {
  await expectRefused('bare', args, `Arguments for 'bare' must be a JSON object, got ${received}.`);
});

const unusable = (problem: string): string => `Arguments for 'loose' ${problem} Fix this and call 'loose' again.`;

const nest = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

test.each([65, 5000, 100_000])('%i levels are too deep, as object and as string', async (levels) => {
  const problem = unusable('are nested deeper than 64 levels. Send a flatter object.');
  await expectRefused('loose', nest(levels), problem);
  await expectRefused('loose', JSON.stringify(nest(levels)), problem);
  await expectRefused('loose', `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`, problem);
});

test('64 levels are not', async () => {
  expect((await answer('loose', nest(64)))?.success).toBe(true);
});

test.each(['object', 'string'])('a million items are too many, as %s', async (form) => {
  const args = `{"rows":[${Array(1_000_000).fill(1).join()}]}`;
  const problem = unusable('contain more than 100000 values. Send fewer.');
  await expectRefused('loose', form === 'object' ? args : JSON.stringify(args), problem);
});

test.each([
  ['{"__proto__":{"x":1}}', '__proto__'],
  ['{"a":[{"__proto__":null}]}', '__proto__'],
  ['{"\\u005f_proto__":1}', '__proto__'],
  ['{"constructor":{"prototype":{"x":1}}}', 'constructor.prototype'],
  ['{"a":{"constructor":{"prototype":1}}}', 'constructor.prototype'],
])('%s reaches for a prototype, as object and as string', async (args, key) => {
  const problem = unusable(`use the key '${key}', which is not accepted.`);
  await expectRefused('loose', args, problem);
  await expectRefused('loose', JSON.stringify(args), problem);
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
});

test.each(['{"constructor":"ACME"}', '{"prototype":1,"toString":2}', '{"constructor":{"name":"x"}}'])(
  '%s are harmless keys',
  async (args) => {
    expect((await answer('loose', args))?.success).toBe(true);
    expect(ran).toEqual([JSON.parse(args)]);
  },
);

test.each([
  ['12345678901234567890123', '12345678901234567890123'],
  ['9007199254740992', '9007199254740992'],
  ['-9007199254740993', '-9007199254740993'],
  ['[[9007199254740993]]', '9007199254740993'],
  [`1${'0'.repeat(60)}`, `1${'0'.repeat(39)}`],
  ['1e400', 'beyond 1.8e308'],
  ['-1e400', 'beyond 1.8e308'],
  ['["9007199254740993",9007199254740993]', '9007199254740993'],
])('the number %s cannot be carried exactly, as object and as string', async (literal, shown) => {
  const problem = unusable(
    `contain the number ${shown}, which a JSON number cannot represent exactly: send it as a string.`,
  );
  await expectRefused('loose', `{"n":${literal}}`, problem);
  await expectRefused('loose', JSON.stringify(`{"n":${literal}}`), problem);
});

test.each([
  ['9007199254740993', '9007199254740993'],
  ['1e400', 'beyond 1.8e308'],
])('where no text can pass, the answer for %s does not advise one', async (literal, shown) => {
  const told = `Arguments for 'row' contain the number ${shown}, which a JSON number cannot represent exactly, and no string is accepted there: send a number that it can, such as one up to 9007199254740991. Fix this and call 'row' again.`;
  await expectRefused('row', `{"x":${literal}}`, told);
});

test.each([
  '6e23',
  '6.02214076E+23',
  '1e22',
  '9007199254740991',
  '-9007199254740991',
  '123456789012345678.5',
  '1e-400',
  '0.1234567890123456789012345',
  '"12345678901234567890123"',
  // Digits in a string, after escaped quotes and backslashes too, say nothing about a float of the same value.
  '["9007199254740992",9007199254740992.0]',
  '["\\"9007199254740992",9007199254740992e0]',
  '["\\\\",9007199254740992e0,"9007199254740992"]',
  '[0.9007199254740992,1e0000000000000000,9007199254740992.0]',
])('the number %s is taken as it is', async (literal) => {
  for (const args of [`{"n":${literal}}`, JSON.stringify(`{"n":${literal}}`)])
    expect((await answer('loose', args))?.success).toBe(true);
  expect(ran).toEqual(Array(2).fill({ n: JSON.parse(literal) }));
});

test('a hundred thousand large floats are looked at once, not a hundred thousand times', {
  timeout: timeLimit(10_000),
}, async () => {
  expect((await answer('loose', `{"n":[${Array(99_998).fill('1e20').join()}]}`))?.success).toBe(true);
});

test('a mistake at the end of a megabyte is found', { timeout: timeLimit(10_000) }, async () => {
  const text = `{"a":"${'x'.repeat(1_000_000)}","b":oops}`;
  await expectRefused(
    'loose',
    JSON.stringify(text),
    `Arguments for 'loose' are not valid JSON: unexpected token "o" at position 1000012. Send one JSON object, for example {}.`,
  );
});

test.each([
  ['{"x":"5"}', '- x: expected a number, got the string "5"'],
  ['{"x":null}', '- x: expected a number, got null'],
  ['{"x":[5]}', '- x: expected a number, got an array'],
  ['{"x":5,"y":"true"}', '- y: expected a boolean, got the string "true"'],
  ['{"x":5,"y":1}', '- y: expected a boolean, got the number 1'],
  ['{"x":5,"z":1}', '- z: unknown parameter; accepted: x, y'],
  ['{"x":5,"X":1}', '- X: unknown parameter; accepted: x, y'],
  ['{"x":5,"toString":1}', '- toString: unknown parameter; accepted: x, y'],
])('the arguments %s are refused with what is wrong, and nothing is coerced', async (args, line) => {
  await expectRefused(
    'row',
    args,
    `Invalid arguments for 'row' (1 problem):\n${line}\nFix these and call 'row' again.`,
  );
});

test('a schema that throws refuses the arguments, and shows no stack', async () => {
  const refused = (name: string, problem: string): string =>
    `Invalid arguments for '${name}' (1 problem):\n- they could not be checked: ${problem}\nFix these and call '${name}' again.`;
  await expectRefused('refine_throws', '{}', refused('refine_throws', 'the rate table is not loaded'));
  await expectRefused('transform_throws', '{}', refused('transform_throws', 'Error: boom'));
});

test('every kind of bad arguments in one batch: each is told its own, and the good ones run', async () => {
  const args = ['{"__proto__":1}', nest(100), '{"n":1e400}', '"{"', '[1]', '{"n":9007199254740993}', '{"n":1e22}'];
  const results = await answerAmongGood(
    service,
    args.map((given) => `{"name":"loose","arguments":${given}}`),
  );
  expect(results.map(({ error }) => error?.code ?? 'ok')).toEqual([...Array(6).fill('invalid_arguments'), 'ok']);
  expect(ran).toEqual([{ n: 1e22 }]);
});
