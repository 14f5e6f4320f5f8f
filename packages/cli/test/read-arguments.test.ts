import { expect, test } from 'vitest';
import { readObject, readPairs } from '#src/call-arguments.ts';
import { WrongUse } from '#src/command-output.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { anyOf: [{ type: 'number' }, { type: 'null' }] },
    deep: { type: 'boolean' },
    either: { type: ['string', 'number'] },
    mode: { enum: ['fast', 7] },
    point: { $ref: '#/$defs/Point' },
    names: { type: 'array', items: { type: 'string' } },
    sizes: { oneOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] },
    free: {},
  },
  $defs: { Point: { type: 'object', properties: { x: { type: 'number' } } }, Loop: { $ref: '#/$defs/Loop' } },
};

test.for([
  ['text stays text', ['text=5'], { text: '5' }],
  ['all behind the first = is the value', ['text=a=b'], { text: 'a=b' }],
  ['an empty text', ['text='], { text: '' }],
  ['a whole number', ['count=2'], { count: 2 }],
  ['a number of two kinds', ['ratio=-1.5e3'], { ratio: -1500 }],
  ['null where it may be', ['ratio=null'], { ratio: null }],
  ['a truth', ['deep=true'], { deep: true }],
  ['a number where text may be, too', ['either=5'], { either: 5 }],
  ['text where a number may be, too', ['either=007'], { either: '007' }],
  ['one of a list of values', ['mode=7'], { mode: 7 }],
  ['an object behind a reference', ['point={"x":1}'], { point: { x: 1 } }],
  ['a list as JSON', ['names=["a","b"]'], { names: ['a', 'b'] }],
  ['a list in pieces', ['names=1', 'names=b'], { names: ['1', 'b'] }],
  ['a list of one piece', ['names=a'], { names: ['a'] }],
  ['numbers in pieces', ['sizes=1', 'sizes=2'], { sizes: [1, 2] }],
  ['a number too large to be one', ['ratio=1e400', 'point={"x":-1e400}'], { ratio: '1e400', point: '{"x":-1e400}' }],
  [
    'a whole number that loses digits as a number, in its digits',
    ['count=8123456789012345679', 'ratio=-9007199254740993', 'sizes=1', 'sizes=8123456789012345679'],
    { count: '8123456789012345679', ratio: '-9007199254740993', sizes: [1, '8123456789012345679'] },
  ],
  ['large numbers that are exact', ['count=9007199254740991', 'ratio=1e21'], { count: 9007199254740991, ratio: 1e21 }],
  ['what fits nothing, for the service to say so', ['count=two', 'deep=1'], { count: 'two', deep: '1' }],
  ['what the schema does not know', ['other=5', '__proto__=x'], { other: '5', ['__proto__']: 'x' }],
  ['a member without a schema', ['free=5'], { free: '5' }],
] as const)('%s', ([, pairs, expected]) => {
  expect(readPairs(pairs, SCHEMA)).toEqual(expected);
});

test('a reference that leads to itself, or nowhere, ends', () => {
  const schema = { ...SCHEMA, properties: { a: { $ref: '#/$defs/Loop' }, b: { $ref: '#/$defs/None' } } };
  expect(readPairs(['a=1', 'b=2'], schema)).toEqual({ a: '1', b: '2' });
});

test('without a schema all is text', () => {
  expect(readPairs(['count=2'], null)).toEqual({ count: '2' });
});

test.for([
  ['a word without a value', ['count'], "'count' is not an argument: write name=value, for example text=…."],
  ['a value without a name', ['=5'], "'=5' is not an argument: write name=value, for example text=…."],
  ['a number twice', ['count=1', 'count=2'], 'count is given more than once, but is not a list: give it once.'],
] as const)('%s is said to be wrong', ([, pairs, wrong]) => {
  expect(() => readPairs(pairs, SCHEMA)).toThrow(new WrongUse(wrong));
});

test('an object of arguments is read as JSON, and what is none is said to be wrong', () => {
  const example = `Write for example --args '{"path":"notes.md"}', or name=value.`;
  expect(readObject('{"a":[1]}')).toEqual({ a: [1] });
  expect(() => readObject('[1]')).toThrow(new WrongUse(`--args must be a JSON object. ${example}`));
  expect(() => readObject('{"a":[{"b":1e400}]}')).toThrow(
    new WrongUse('--args contains a number that is too large: send a smaller one, or a string.'),
  );
  expect(() => readObject('{a:1}')).toThrow(
    new WrongUse(`--args is not JSON: Expected property name or '}' at position 1. ${example}`),
  );
});
