import { expect, test } from 'vitest';
import { createTaintCheck } from '#src/isolation/inside/taint-check.ts';

/** Defines a member for as long as `look` takes, and gives what it found. */
const withMember = (
  target: object,
  key: PropertyKey,
  descriptor: PropertyDescriptor | null,
  look: () => string | null,
): string | null => {
  const before = Object.getOwnPropertyDescriptor(target, key);
  if (descriptor === null) Reflect.deleteProperty(target, key);
  else Object.defineProperty(target, key, { configurable: true, ...descriptor });
  const found = look();
  if (before === undefined) Reflect.deleteProperty(target, key);
  else Object.defineProperty(target, key, before);
  return found;
};

const SHAM = (): string => 'sham';

test.each<[what: string, target: object, key: PropertyKey, descriptor: PropertyDescriptor | null, found: string]>([
  ['another method', Array.prototype, 'push', { value: SHAM }, 'Array.prototype'],
  ['another method under a symbol', Array.prototype, Symbol.iterator, { value: SHAM }, 'Array.prototype'],
  ['a method that is gone', String.prototype, 'trim', null, 'String.prototype'],
  ['a getter in place of a method', Map.prototype, 'get', { get: SHAM }, 'Map.prototype'],
  ['a number that is none', Function.prototype, 'length', { value: Number.NaN }, 'Function.prototype'],
  ['another global', globalThis, 'fetch', { value: SHAM }, 'globalThis'],
  ['a new member that nothing enumerates', Date.prototype, 'sham', { value: 1, enumerable: false }, 'Date.prototype'],
  ['a new global that nothing enumerates', globalThis, 'sham', { value: 1, enumerable: false }, 'globalThis'],
  ['a new member under a symbol', Object.prototype, Symbol('sham'), { value: 1 }, 'Object.prototype'],
])('%s is found, and nothing once it is as before', (_what, target, key, descriptor, found) => {
  const { find: findTaint } = createTaintCheck();
  expect(findTaint()).toBeNull();
  expect(withMember(target, key, descriptor, findTaint)).toBe(found);
  expect(findTaint()).toBeNull();
});

test('a getter that throws is found', () => {
  const { find: findTaint } = createTaintCheck();
  const thrower = (): never => {
    throw new Error('sham');
  };
  expect(withMember(Set.prototype, 'add', { get: thrower }, findTaint)).toBe('globals');
  expect(findTaint()).toBeNull();
});

test('a member that was NaN and a name with a quote are no change by themselves', () => {
  const look = (): string | null =>
    withMember(Math, 'it\'s "quoted"\\\n', { value: Number.NaN }, () => createTaintCheck().find());
  expect(look()).toBeNull();
});
