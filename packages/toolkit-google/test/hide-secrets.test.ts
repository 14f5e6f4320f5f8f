import { describe, expect, test } from 'vitest';
import { createSecretHider } from '#src/hide-secrets.ts';

const MEGABYTES = 1_048_576;

describe('how long it takes is a matter of the length of what is told alone', () => {
  // Looking at the whole of it for each takes minutes.
  test('for a hundred parts of a large text', () => {
    const hide = createSecretHider(['a-secret-of-somebody']);
    const text = '\\'.repeat(10 * MEGABYTES);
    const part = '\\'.repeat(100);
    for (let from = 0; from < 10_000_000; from += 100_000) expect(hide(text, { from, to: from + 100 })).toBe(part);
  });
});

describe('secrets are hidden', () => {
  test.each([
    ['that begin within each other', 'aabaabaa', 'x aabaabaabaa y', 'x [redacted] y'],
    ['that stand side by side', 'abcdefgh', 'abcdefghabcdefgh', '[redacted]'],
    ['after a false beginning', 'aaaaaaab', 'aaaaaaaaab', 'aa[redacted]'],
    ['at both ends', 'abcdefgh', 'abcdefgh abcdefg%68', '[redacted] [redacted]'],
    ['under four layers of escapes', 'abcdefgh', 'a %25252561bcdefgh &amp;amp; b', 'a [redacted] &amp;amp; b'],
    ['with escapes of several kinds', 'abcdefgh', '%61\\u0062&#99;&#x64;\\x65fgh %41', '[redacted] %41'],
    ['and what is nearly one is not', 'abcdefgh', 'abcdefg abcdefg%69 %', 'abcdefg abcdefg%69 %'],
    ['and what is escaped otherwise stays', 'abc"efgh', '\\\\ abc\\"efgh \\" &quot;', '\\\\ [redacted] \\" &quot;'],
  ])('%s', (_how, secret, text, told) => {
    expect(createSecretHider([secret])(text)).toBe(told);
  });

  test('one that holds another, as one', () => {
    const hide = createSecretHider(['abcdefgh', '0abcdefgh1']);
    expect(hide('x 0abcdefgh1 abcdefgh')).toBe('x [redacted] [redacted]');
  });
});
