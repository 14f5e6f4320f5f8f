import { expect, test } from 'vitest';
import { valueAt, withValueAt } from '#src/console/json-path.ts';
import { depthOf, indentJson, toJsonText } from '#src/console/json-text.ts';
import { sessionLink, toolLink, toRoute } from '#src/console/state.ts';
import { toVisible, toVisibleName } from '#src/console/visible-text.ts';

test('characters that hide or turn others are written out, and those that scripts need are left', () => {
  expect(toVisible('a\u202eb\u2066c\u200bd\u0000e\ufefff')).toBe('a\\u{202e}b\\u{2066}c\\u{200b}d\\u{0}e\\u{feff}f');
  expect(toVisible('\u{e0041}\u2028')).toBe('\\u{e0041}\\u{2028}');
  expect(toVisible('one\n\ttwo می‌خواهم 👩‍👧 é')).toBe('one\n\ttwo می‌خواهم 👩‍👧 é');
  expect(toVisibleName('one\ntwo')).toBe('one\\ntwo');
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

test('a value that is nested too deep to be indented is described', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) deep = [deep];
  expect(depthOf(deep, 64)).toBe(64);
  expect(toJsonText(deep)).toBe('Nested more than 64 levels deep. The raw answer below has all of it.');
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

test('addresses lead where they came from, whatever the name', () => {
  const name = 'a&session=b#%/ü\u202e';
  expect(toRoute(toolLink(name))).toEqual({ page: 'tools', tool: name });
  expect(toRoute(sessionLink(name))).toEqual({ page: 'session', id: name });
  expect(toRoute('#%E0%A4%A')).toEqual({ page: 'tools', tool: null });
});
