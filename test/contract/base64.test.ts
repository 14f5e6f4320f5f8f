import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isBase64 } from '../../src/contract/base64.ts';

test.each([
  ['', false],
  ['abc', false],
  ['abcd', true],
  ['ab+/', true],
  ['abc=', true],
  ['ab==', true],
  ['a===', false],
  ['====', false],
  ['ab=c', false],
  ['abc=abc=', false],
  ['ab-_', false],
  ['abc\n', false],
])('%j: %j', (text, expected) => {
  expect(isBase64(text)).toBe(expected);
});

test('a large text is looked through where V8 no longer optimises patterns, as in a process that has many', () => {
  const code = `import { isBase64 } from ${JSON.stringify(new URL('../../src/contract/base64.ts', import.meta.url).href)};
    console.log(isBase64('A'.repeat(32_000_000)), isBase64('*'.padStart(32_000_000, 'A')));`;
  const given = execFileSync(process.execPath, ['--no-regexp-optimization', '--input-type=module', '-e', code]);
  expect(String(given)).toBe('true false\n');
});
