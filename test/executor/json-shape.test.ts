import { describe, expect, test } from 'vitest';
import { createWideLiterals, findShapeProblem } from '#src/executor/parse-arguments.ts';

const problemOf = (source: string): string | null => {
  const parsed: unknown = JSON.parse(source);
  if (typeof parsed !== 'object' || parsed === null) throw new Error('No object.');
  return findShapeProblem(parsed, createWideLiterals(source))?.text ?? null;
};
const LOST = 'contain the number 12345678901234567890123, which a JSON number cannot represent exactly';

describe('a number that lost digits in parsing', () => {
  test.each([
    ['{"calls":[{"arguments":{"n":12345678901234567890123}}]}', LOST],
    ['{"c\\u0061lls":[12345678901234567890123]}', LOST],
    ['{"calls":[1],"calls":[12345678901234567890123]}', LOST],
    ['[{"n":12345678901234567890123}]', LOST],
    ['{"n":12345678901234567890123}', LOST],
    ['{"tool_calls":[{"n":12345678901234567890123}]}', LOST],
    ['{"n":-12345678901234567890123}', LOST.replace('12345', '-12345')],
    ['{"a":"calls","n":[12345678901234567890123]}', LOST],
    ['{"n":[1e300,6e23,1.2345678901234567890123]}', null],
    ['{"n":"12345678901234567890123 \\" 12345678901234567890123","m":1e300}', null],
    [
      '{"n":1e12345678901234567,"m":1e300}',
      'contain the number beyond 1.8e308, which a JSON number cannot represent exactly',
    ],
  ])('%s', (source, problem) => {
    expect(problemOf(source)).toBe(problem);
  });

  test('outside of calls it says nothing of a float in them that is as large', () => {
    const source = '{"n":[12345678901234567890123],"calls":[{"arguments":{"n":1.2345678901234568e22}}]}';
    const calls = [{ arguments: { n: 1.2345678901234568e22 } }];
    expect(findShapeProblem(calls, createWideLiterals(source))).toBeNull();
  });

  test('the text is read once for all calls that ask', () => {
    const literals = createWideLiterals('{"calls":[12345678901234567890123]}');
    expect(literals()).toBe(literals());
  });
});
