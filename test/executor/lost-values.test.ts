import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { toJsonValue } from '#src/executor/json-proof.ts';

const prove = (value: unknown) => toJsonValue(value, 1_000_000);
const BYTES = 'return Array.from(it) for numbers, or image, audio or file for bytes';
const NUMBER = 'which JSON writes as null; return a number, null or a text';
const foreign = (code: string): unknown => runInContext(code, createContext({}));

test.each<[string, unknown, string]>([
  ['NaN', Number.NaN, `it contains NaN, ${NUMBER}`],
  ['Infinity', Number.POSITIVE_INFINITY, `it contains Infinity, ${NUMBER}`],
  ['an invalid date', new Date(''), 'it contains an invalid Date, which JSON writes as null; return null or a text'],
  ['a promise', Promise.resolve(1), 'it contains a Promise, which JSON writes as {}; await it'],
  ['a pattern', /a/, 'it contains a RegExp, which JSON writes as {}; return its source as a text'],
  [
    'a response',
    new Response('x'),
    'it contains a Response, which JSON writes as {}; return its status and await its text() or json()',
  ],
  ['headers', new Headers({ a: 'b' }), 'it contains a Headers, which JSON writes as {}; return Object.fromEntries(it)'],
  [
    'a query',
    new URLSearchParams('a=b'),
    'it contains a URLSearchParams, which JSON writes as {}; return Object.fromEntries(it)',
  ],
  [
    'a blob',
    new Blob(['x']),
    'it contains a Blob, which JSON writes as {}; return await its text(), or image, audio or file of its bytes',
  ],
  ['a buffer of bytes', new ArrayBuffer(2), `it contains an ArrayBuffer, which JSON writes as {}; ${BYTES}`],
  ['bytes', Uint8Array.of(1, 2), `it contains a Uint8Array, which JSON writes as an object of its places; ${BYTES}`],
  ['floats', Float64Array.of(), `it contains a Float64Array, which JSON writes as an object of its places; ${BYTES}`],
  ['an iterator', [1].values(), 'it contains an Array Iterator, which JSON writes as {}; return Array.from(it)'],
  [
    'a generator',
    (function* () {
      yield 1;
    })(),
    'it contains a Generator, which JSON writes as {}; return Array.from(it)',
  ],
  [
    'a stream',
    new ReadableStream(),
    'it contains a ReadableStream, which JSON writes as {}; return await Array.fromAsync(it)',
  ],
  [
    'a weak map',
    new WeakMap(),
    'it contains a WeakMap, which JSON writes as {}; return what it holds as a plain object',
  ],
  [
    'a pattern of another context',
    foreign('/a/'),
    'it contains a RegExp, which JSON writes as {}; return its source as a text',
  ],
])('%s is named, at any depth, and what to return instead', (_name, value, problem) => {
  for (const nested of [value, { rows: [{ of: value }] }, [[value]], new Map([['of', value]]), new Set([value])])
    expect(prove(nested)).toEqual({ kind: 'invalid', problem });
});

class Row {
  readonly #hidden = 1;
  get size(): number {
    return this.#hidden;
  }
}

test.each<[string, unknown, unknown]>([
  ['a map of texts', new Map([['door', 2]]), { door: 2 }],
  ['a map with a key of a prototype', new Map([['__proto__', 2]]), JSON.parse('{"__proto__":2}')],
  ['a map of other keys', new Map([[1, 'one']]), [[1, 'one']]],
  ['a set', new Set(['a', 'b']), ['a', 'b']],
  ['a map of another context', foreign('new Map([["a", 1]])'), { a: 1 }],
  ['an error', new TypeError('no such row'), { name: 'TypeError', message: 'no such row' }],
  [
    'an error of Node',
    Object.assign(new Error('refused'), { code: 'ECONNREFUSED', port: 1 }),
    { name: 'Error', message: 'refused', code: 'ECONNREFUSED', port: 1 },
  ],
  [
    'an error with its cause',
    new Error('fetch failed', { cause: new Error('reset') }),
    { name: 'Error', message: 'fetch failed', cause: { name: 'Error', message: 'reset' } },
  ],
  [
    'errors of an aggregate',
    new AggregateError([new Error('one')], 'all'),
    { name: 'AggregateError', message: 'all', errors: [{ name: 'Error', message: 'one' }] },
  ],
  [
    'what Promise.allSettled gives',
    { status: 'rejected', reason: Object.assign(new Error('no'), { retry: 1 }) },
    { status: 'rejected', reason: { name: 'Error', message: 'no', retry: 1 } },
  ],
  ['a list with members of a name', Object.assign([1], { mean: Number.NaN, of: /a/ }), [1]],
  ['what a pattern found', /(?<of>b)/.exec('abc'), ['b', 'b']],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['an address', new URL('http://a/'), 'http://a/'],
  ['an object of a class', new Row(), {}],
  ['an object without a prototype', Object.assign(Object.create(null), { a: null }), { a: null }],
  ['an object of another context', foreign('({ a: {}, b: null })'), { a: {}, b: null }],
  ['boxed values', [Object(''), Object(1), Object(false), null], ['', 1, false, null]],
])('%s is written as JSON, at any depth', (_name, value, written) => {
  expect(prove(value)).toEqual({ kind: 'json', json: JSON.stringify(written) });
  expect(prove({ rows: [{ of: value }], none: null })).toEqual({
    kind: 'json',
    json: JSON.stringify({ rows: [{ of: written }], none: null }),
  });
});
