import { expect, test } from 'vitest';
import { toText } from '#src/egress/text-content.ts';

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

const JAPANESE = [0x93, 0xfa, 0x96, 0x7b];
const page = (head: string): Uint8Array => Buffer.concat([Buffer.from(head), Buffer.from(JAPANESE)]);
const BROKEN = '\ufffd\ufffd\ufffd{';

test.each([
  ['text/html', '<html><head><meta charset="shift_jis">', '日本'],
  ['text/html', "<META name=a content='x'><meta CHARSET = 'Shift_JIS'>", '日本'],
  ['text/html', '<meta charset=shift_jis>', '日本'],
  ['text/html', '<meta/charset="shift_jis"/>', '日本'],
  ['text/html', '<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">', '日本'],
  ['text/html', "<meta content='text/html;charset=shift_jis' http-equiv=content-type>", '日本'],
  ['application/xhtml+xml', '<?xml version="1.0" encoding="shift_jis"?><html>', '日本'],
  ['text/xml', "<?xml version='1.0' encoding='Shift_JIS' ?><a>", '日本'],
  ['application/rss+xml', '<?xml version="1.0" encoding="shift_jis"?><rss>', '日本'],
  ['text/css', '@charset "shift_jis";', '日本'],
  ['', '<html><meta charset="shift_jis">', '日本'],
  // The header wins, and what only looks like a declaration is none.
  ['text/html; charset=utf-8', '<meta charset="shift_jis">', BROKEN],
  ['text/html', '<!-- <meta charset="shift_jis"> -->', BROKEN],
  ['text/html', '<meta name="description" content="write charset=shift_jis">', BROKEN],
  ['text/html', `${' '.repeat(1024)}<meta charset="shift_jis">`, BROKEN],
  ['text/html', '<meta charset="utf-16">', BROKEN],
  ['text/html', '<meta charset="no-such-thing">', BROKEN],
  ['text/plain', '<meta charset="shift_jis">', BROKEN],
  ['application/json', '"<meta charset=shift_jis>"', BROKEN],
])('a text of %j that begins with %s is read as it says itself', (contentType, head, text) => {
  expect(toText(page(head), contentType, 'complete')).toBe(`${head}${text}`);
});
