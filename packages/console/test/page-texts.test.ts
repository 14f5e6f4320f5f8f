import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { depthOf, indentJson, toJsonText, valueAt, withValueAt } from '#src/page/json.ts';
import { toVisible, toVisibleExcerpt, toVisibleName } from '#src/page/visible-text.ts';

test('characters that hide or turn others are written out, and those that scripts need are left', () => {
  expect(toVisible('a\u202eb\u2066c\u200bd\u0000e\ufefff')).toBe('a\\u{202e}b\\u{2066}c\\u{200b}d\\u{0}e\\u{feff}f');
  expect(toVisible('\u{e0041}\u2028')).toBe('\\u{e0041}\\u{2028}');
  expect(toVisible('one\n\ttwo می‌خواهم 👩‍👧 é')).toBe('one\n\ttwo می‌خواهم 👩‍👧 é');
  expect(toVisibleName('one\ntwo')).toBe('one\\ntwo');
});

test.each([
  ['read\u200d_file', 'read\\u{200d}_file'],
  ['a\u200cb\u200c', 'a\\u{200c}b\\u{200c}'],
  ['ok\ufe0f\ufe0e\u{e0100}\u{e01ef}', 'ok\\u{fe0f}\\u{fe0e}\\u{e0100}\\u{e01ef}'],
  ['😀\u{e0100}\u{e0101}\ufe0f\ufe0f', '😀\\u{e0100}\\u{e0101}\\u{fe0f}\\u{fe0f}'],
  [
    '\u3164\uffa0\u115f\u1160\u2800\u034f\u180e\u17b4',
    '\\u{3164}\\u{ffa0}\\u{115f}\\u{1160}\\u{2800}\\u{34f}\\u{180e}\\u{17b4}',
  ],
  ['\u00ad\u061c\u200e\u2069\u206f\ufff9', '\\u{ad}\\u{61c}\\u{200e}\\u{2069}\\u{206f}\\u{fff9}'],
])('what is shown as nothing or as a blank is written out (%#)', (text, shown) => {
  expect(toVisible(text)).toBe(shown);
});

test('joiners and selectors are left where scripts and emoji need them', () => {
  for (const text of ['می‌خواهم', 'क्‍ष', '👩‍❤️‍💋‍👨', '🏳️‍🌈', '🏃🏽‍♀️', '1️⃣ #️⃣', '❤️ ©️ ☎︎']) expect(toVisible(text)).toBe(text);
});

test('a name is one line of bounded length, and its blanks can be told apart', () => {
  expect(toVisibleName('a\u00a0b\u2003c d')).toBe('a\\u{a0}b\\u{2003}c d');
  expect(toVisibleName('x'.repeat(1_000_000))).toBe(`${'x'.repeat(600)}…`);
  expect(toVisibleExcerpt('y'.repeat(1_000_000))).toBe(`${'y'.repeat(2_000)}…`);
});

test.each(['\u0301', 'ا\u064b', '\u200d', 'ا\u200d', '😀\u200d\ufe0f', '\u202e'])(
  'a megabyte of %j is written out in time',
  (piece) => {
    const startedAt = performance.now();
    expect(toVisible(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(900_000);
    expect(performance.now() - startedAt).toBeLessThan(timeLimit(5_000));
  },
);

test('a megabyte of brackets is not indented to a hundred', () => {
  const wide = `${'['.repeat(60)}${'1,'.repeat(250_000)}1${']'.repeat(60)}`;
  expect(indentJson(wide)).toBe(wide);
  expect(indentJson(`[${'[],'.repeat(100)}1]`)).toContain('\n  [],');
});

test('JSON is indented as text: no digit, escape or odd name is changed', () => {
  expect(indentJson('{"a":[1,{"b":12345678901234567890}],"__proto__":"x\\"]}","e":{},"f":[]}')).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": 12345678901234567890\n    }\n  ],\n  "__proto__": "x\\"]}",\n  "e": {},\n  "f": []\n}',
  );
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  expect(indentJson(deep)).toBe(deep);
  expect(indentJson('cut off: {"a"')).toContain('"a"');
  expect(indentJson(`"${'\\n'.repeat(500_000)}"`)).toHaveLength(1_000_002);
});

test.each(['', '\\', '\\\n', '…'])('a text that is cut off in a string is indented at once (%#)', (end) => {
  const cut = `${'y'.repeat(2_000)}${end}`;
  expect(indentJson(`{"a":1,"b":"${cut}`)).toBe(`{\n  "a": 1,\n  "b": "${cut}`);
});

test('a value that is nested too deep to be indented is described', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  expect(depthOf(deep, 64)).toBe(64);
  expect(toJsonText(deep)).toBe('Nested more than 64 levels deep. The raw answer below shows all of it.');
  expect(toJsonText({ a: null })).toBe('{\n  "a": null\n}');
  expect(toJsonText(undefined)).toBe('');
});

test('values are put in and taken out by path, also under names of prototypes', () => {
  expect(withValueAt({ a: [1, 2] }, ['a', 1], undefined)).toEqual({ a: [1] });
  expect(withValueAt({}, ['a', 'b'], 1)).toEqual({ a: { b: 1 } });
  expect(withValueAt({ a: 1, b: 2 }, ['a'], undefined)).toEqual({ b: 2 });
  expect(JSON.stringify(withValueAt({}, ['__proto__', 'x'], 1))).toBe('{"__proto__":{"x":1}}');
  expect(valueAt({}, ['constructor'])).toBe(undefined);
  expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
});
