import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createTenantKeys } from '#src/http/wire-http.ts';

test('a key is that of its tenant and name, also when it is remembered, and when ten thousand came between', () => {
  const toKey = createTenantKeys();
  const names = Array.from({ length: 10_000 }, (_, place) => `s ${place}`);
  const keys = () => names.flatMap((name) => [toKey('a', name), toKey('b', name)]);
  const expected = names.flatMap((name) => [`a:${hash('sha256', name)}`, `b:${hash('sha256', name)}`]);
  expect(keys()).toEqual(expected);
  expect(keys()).toEqual(expected);
  expect(toKey('a', 's 9999')).toBe(toKey('a', 's 9999'));
  expect(toKey('a', 'b:c')).not.toBe(toKey('a', 'c'));
});
