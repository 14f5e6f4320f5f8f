import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';

const letters = (length: number): string => randomBytes(length).toString('hex').slice(0, length);

const cyrillic = (length: number): string =>
  Array.from(randomBytes(length), (byte) => String.fromCharCode(0x430 + (byte % 32))).join('');

const toEntries = (count: number) =>
  Array.from({ length: count }, () => ({ name: letters(8), value: letters(12), api_key: letters(20) }));

const privateKey = (): string =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey;

test.each([
  ['of 100 kB of Base64', randomBytes(75_000).toString('base64')],
  ['of JSON', JSON.stringify(toEntries(2000))],
  ['of JSON in many lines', JSON.stringify(toEntries(2000), null, 2)],
  ['of other letters', cyrillic(20_000)],
  ['of one letter', 'a'.repeat(50_000)],
])('a large value %s is found, and every other one beside it', (_kind, large) => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5', large] });
  expect(redactor.text(`before ${large} behind`, 'log')).toBe('before [redacted] behind');
  expect(redactor.text('before kx3vQ81nUzT5 behind', 'log')).toBe('before [redacted] behind');
  const json = JSON.stringify({ value: { text: [large], encoded: encodeURIComponent(large) } });
  expect(redactor.value(json, 'result')).toBe('{"value":{"text":["[redacted]"],"encoded":"[redacted]"}}');
  expect(redactor.log(`{"line":${JSON.stringify(JSON.stringify(`x${large}`))}}\n`)).toBe(
    '{"line":"\\"x[redacted]…"}\n',
  );
});

test('parts of a file of credentials are found: its lines, and its secret members however deep', () => {
  const entries = toEntries(300);
  const redactor = createRedactor({
    secrets: [JSON.stringify({ list: { entries }, tokens: ['first-of-tokens'] }), JSON.stringify(entries, null, 2)],
  });
  const entry = entries[150];
  expect(redactor.text(`key ${entry?.api_key}, name ${entry?.name}`, 'log')).toBe(
    `key [redacted], name ${entry?.name}`,
  );
  expect(redactor.text('first-of-tokens', 'log')).toBe('[redacted]');
  expect(redactor.text(`so "value": "${entry?.value}", it is`, 'log')).toBe('so [redacted] it is');
});

test('lines of many private keys are found, and no line of another', () => {
  const keys = Array.from({ length: 20 }, privateKey);
  const began = performance.now();
  const redactor = createRedactor({ secrets: keys });
  redactor.text('the first text', 'log');
  // It took two seconds where all of it was one expression.
  expect(performance.now() - began).toBeLessThan(timeLimit(1000));
  for (const key of keys) {
    expect(redactor.text(`<${key}>`, 'log')).toBe('<[redacted]>');
    for (const line of key.trim().split('\n').slice(1, -1))
      expect(redactor.text(`at ${line}|`, 'log')).toBe('at [redacted]|');
  }
  const [, ...others] = privateKey().trim().split('\n').slice(1, -1);
  for (const line of others) expect(redactor.text(line, 'log')).toBe(line);
});

const KEYS = Array.from({ length: 20 }, privateKey);
const [, FIRST_LINE = ''] = (KEYS[0] ?? '').split('\n');

test.each([
  ['pieces before ellipses', `${FIRST_LINE.slice(20, 24)}…`, 10_000],
  ['beginnings before ellipses', `${FIRST_LINE.slice(0, 4)}…`, 10_000],
  ['longer beginnings before ellipses', `${FIRST_LINE.slice(0, 40)}…`, 10_000],
  ['beginnings', FIRST_LINE.slice(0, 30), 40_000],
  ['lines', FIRST_LINE, 16_000],
  ['backslashes', '\\', 1_000_000],
  ['escapes', '%41\\u0041', 100_000],
  ['escapes that are none', '%4\\u00', 150_000],
  ['escapes of escapes', '%25255c', 150_000],
])('a text of many %s takes no time to speak of', (_what, piece, times) => {
  const redactor = createRedactor({ secrets: [...KEYS, 'a'.repeat(20_000), 'ab'.repeat(10_000)] });
  const text = piece.repeat(times);
  const began = performance.now();
  redactor.log(JSON.stringify({ text }));
  redactor.cutToolText(`${text}…`, Number.POSITIVE_INFINITY, 'result');
  // At most a tenth of a second; where each ellipsis was looked for in all values, it took many seconds.
  expect(performance.now() - began).toBeLessThan(timeLimit(5000));
});

test.each(['a', 'ab', 'b'])('a text full of %j is read once, though a value is full of it, too', (piece) => {
  const redactor = createRedactor({ secrets: [`${'a'.repeat(20_000)}!`, `${'ab'.repeat(10_000)}!`] });
  const text = piece.repeat(1_000_000 / piece.length);
  const began = performance.now();
  expect(redactor.cutToolText(text, Number.POSITIVE_INFINITY, 'result')).toBe(text);
  expect(performance.now() - began).toBeLessThan(timeLimit(5000));
});
