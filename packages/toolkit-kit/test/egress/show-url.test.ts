import { expect, test } from 'vitest';
import { showText, showUrl, showValue } from '#src/egress/show-url.ts';

test.each([
  ['https://example.com/a?b=c#d', 'https://example.com/a?b=c#d'],
  ['https://user:hunter2@example.com/', 'https://…@example.com/'],
  ['https://user@example.com/', 'https://…@example.com/'],
  ['https://example.com/@handle', 'https://example.com/@handle'],
  ['https://example.com/?mail=a@b.test', 'https://example.com/?mail=a@b.test'],
  ['gopher://user:hunter2@example.com/', 'gopher://…@example.com/'],
  ['http://user:hun/ter2@', 'http://…@'],
  ['user:hunter2@example.com', 'user:…@example.com'],
  ['http://a b\r\nSet-Cookie: x', 'http://a b\\u000d\\u000aSet-Cookie: x'],
  ['http://[\u001b[31m', 'http://[\\u001b[31m'],
  ['http://[\u202egnp.exe', 'http://[\\u202egnp.exe'],
])('%j is shown as %j', (url, shown) => {
  expect(showUrl(url)).toBe(shown);
});

test('at most 200 characters are shown, and no half of a word or a character', () => {
  expect(showText('a'.repeat(200))).toBe('a'.repeat(200));
  expect(showText('a'.repeat(201))).toBe('…');
  expect(showText(`said: ${'a'.repeat(100)};${'b'.repeat(100)}`)).toBe('said: …');
  expect(showValue('a'.repeat(201))).toBe(`${'a'.repeat(199)}…`);
  expect(showValue(`${'a'.repeat(198)}😀😀`)).toBe(`${'a'.repeat(198)}…`);
  expect(showValue('\n'.repeat(10_000))).toHaveLength(200);
});
