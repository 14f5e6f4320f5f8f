import https from 'node:https';
import zlib from 'node:zlib';
import { expect, test } from 'vitest';
import { createMutationCheck } from '#src/inside/mutation-check.ts';

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
  ['a number that is none', Buffer, 'poolSize', { value: Number.NaN }, 'Buffer'],
  ['another global', globalThis, 'fetch', { value: SHAM }, 'globalThis'],
  ['a new member that nothing enumerates', Date.prototype, 'sham', { value: 1, enumerable: false }, 'Date.prototype'],
  ['a new global that nothing enumerates', globalThis, 'sham', { value: 1, enumerable: false }, 'globalThis'],
  ['a new member under a symbol', Object.prototype, Symbol('sham'), { value: 1 }, 'Object.prototype'],
])('%s is found, and nothing once it is as before', (_what, target, key, descriptor, found) => {
  const { find: findTaint } = createMutationCheck();
  expect(findTaint()).toBeNull();
  expect(withMember(target, key, descriptor, findTaint)).toBe(found);
  expect(findTaint()).toBeNull();
});

const list = Object.getPrototypeOf([].keys());
const { next } = list;
function sameNext(this: unknown): unknown {
  return Reflect.apply(next, this, []);
}

// Looked at where another file is about to run.
test.each<[what: string, target: object, key: PropertyKey, descriptor: PropertyDescriptor, found: string]>([
  ['a static member', Reflect, 'has', { value: SHAM }, 'Reflect'],
  ['a class of a namespace', Intl, 'DateTimeFormat', { value: SHAM }, 'Intl'],
  [
    'a prototype of a namespace',
    Intl.Collator.prototype,
    'resolvedOptions',
    { value: SHAM },
    'Intl.Collator.prototype',
  ],
  ['an accessor', URL.prototype, 'href', { get: SHAM }, 'URL.prototype'],
  [
    'what typed arrays inherit',
    Object.getPrototypeOf(Int8Array.prototype),
    'fill',
    { value: SHAM },
    'the prototype of Uint8Array.prototype',
  ],
  ['what has no name', list, 'next', { value: sameNext }, 'a class without a name'],
  ['a method of console', console, 'debug', { value: SHAM }, 'console'],
  ['a method of process', process, 'emitWarning', { value: SHAM }, 'process'],
  ['a registered symbol', globalThis, Symbol.for('sham'), { value: 1 }, 'a symbol of globalThis'],
  ['a module of Node', zlib, 'gzipSync', { value: SHAM }, 'node:zlib'],
  [
    'an option of an agent',
    https.globalAgent.options,
    'rejectUnauthorized',
    { value: false, enumerable: true },
    'settings of node:https',
  ],
])(
  '%s is found before another file runs, and nothing once it is as before',
  (_what, target, key, descriptor, found) => {
    const check = createMutationCheck();
    for (const url of ['node:zlib', 'node:https']) check.watch(url);
    // Told at the end: what expects keeps its state under symbols of globalThis.
    const told = [check.findRest(), withMember(target, key, descriptor, check.findRest), check.findRest()];
    expect(told).toEqual([null, found, null]);
  },
);

test('a getter that throws is found', () => {
  const { find: findTaint } = createMutationCheck();
  const thrower = (): never => {
    throw new Error('sham');
  };
  expect(withMember(Set.prototype, 'add', { get: thrower }, findTaint)).toBe('globals');
  expect(findTaint()).toBeNull();
});

test('a member that was NaN and a name with a quote are no change by themselves', () => {
  const look = (): string | null =>
    withMember(Math, 'it\'s "quoted"\\\n', { value: Number.NaN }, () => createMutationCheck().find());
  expect(look()).toBeNull();
});
