import { expect, test } from 'vitest';
import { toText } from '../../src/egress/text-content.ts';

const bytesOf = (...bytes: readonly number[]): Uint8Array => Uint8Array.from(bytes);

test.each([
  ['text/html; charset=ISO-8859-1', bytesOf(0xe9), 'é'],
  ['text/html;charset="windows-1251"', bytesOf(0xcf), 'П'],
  ["text/html; boundary=x; CHARSET='Shift_JIS'", bytesOf(0x83, 0x65), 'テ'],
  ['text/plain; charset=utf-16le', bytesOf(0x61, 0), 'a'],
  ['text/plain', bytesOf(0xc3, 0xa9), 'é'],
  ['text/plain; charset=no-such-thing', bytesOf(0xc3, 0xa9), 'é'],
  ['text/plain; charset=iso-8859-1', bytesOf(0xef, 0xbb, 0xbf, 0xc3, 0xa9), 'é'],
  ['text/plain', bytesOf(0xff, 0xfe, 0x61, 0), 'a'],
  ['text/plain', bytesOf(0xfe, 0xff, 0, 0x61), 'a'],
  ['text/plain', bytesOf(0x61, 0xff, 0x62), 'a\ufffdb'],
])('%s decides how bytes become text', (contentType, bytes, text) => {
  expect(toText(bytes, contentType, 'complete')).toBe(text);
});

test.each([
  'application/json',
  'application/ld+json; charset=utf-8',
  'application/xhtml+xml',
  'image/svg+xml',
  'application/javascript',
  'application/x-ndjson',
  'application/yaml',
  'TEXT/CSV',
  '',
  'application/octet-stream',
])('%j may be text', (contentType) => {
  expect(toText(Buffer.from('a'), contentType, 'complete')).toBe('a');
});

test.each(['image/png', 'application/pdf', 'application/zip', 'video/mp4', 'application/vnd.ms-excel', 'nonsense'])(
  '%s is no text',
  (contentType) => {
    expect(toText(Buffer.from('a'), contentType, 'complete')).toBeNull();
  },
);

test.each(['', 'application/octet-stream'])(
  'undeclared content (%j) with a NUL at its beginning is no text',
  (type) => {
    expect(toText(bytesOf(0x61, 0, 0x62), type, 'complete')).toBeNull();
  },
);

test('only a cut drops half a character; at the end of a whole text it is shown as broken', () => {
  expect(toText(bytesOf(0x61, 0xc3), 'text/plain', 'cut')).toBe('a');
  expect(toText(bytesOf(0x61, 0xc3), 'text/plain', 'complete')).toBe('a\ufffd');
});
