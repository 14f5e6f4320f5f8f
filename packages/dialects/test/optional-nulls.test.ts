import { expect, test } from 'vitest';
import { dropOptionalNulls } from '#src/provider-calls.ts';

const drop = dropOptionalNulls;
const object = (properties: Readonly<Record<string, unknown>>, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  required,
});
const TEXT = { type: 'string' };

test.each([
  ['a plain type', TEXT],
  ['a list of types', { type: ['string', 'number'] }],
  ['literals', { enum: ['a', 'b'] }],
  ['one literal', { const: 'a' }],
  ['ways without null', { anyOf: [TEXT, { type: 'number' }] }],
  ['a reference', { $ref: '#/$defs/Text' }],
  ['parts of which one refuses it', { allOf: [{}, TEXT] }],
  ['literals whose type refuses it', { type: 'string', enum: ['a', null] }],
  ['no value at all', false],
])('null is dropped at an optional property of %s', (_what, schema) => {
  const root = { ...object({ it: schema, other: TEXT }), $defs: { Text: TEXT } };
  expect(drop({ it: null, other: 'x' }, root)).toEqual({ other: 'x' });
  expect(drop('{"it":null,"other":"x"}', root)).toEqual({ other: 'x' });
});

test.each([
  ['any value', {}],
  ['any value, said so', true],
  ['a type with null', { type: ['string', 'null'] }],
  ['literals with null', { enum: ['a', null] }],
  ['the literal null', { const: null }],
  ['ways with null', { oneOf: [TEXT, { type: 'null' }] }],
  ['a reference to null', { $ref: '#/$defs/Null' }],
  ['a reference to nothing', { $ref: '#/$defs/Nobody' }],
  ['a circle of references', { $ref: '#/$defs/Circle' }],
])('null stays at an optional property of %s', (_what, schema) => {
  const $defs = { Null: { type: 'null' }, Circle: { $ref: '#/$defs/Circle' } };
  const root = { ...object({ it: schema, other: TEXT }), $defs };
  const given = { it: null, other: 'x' };
  expect(drop(given, root)).toBe(given);
  const text = '{"it" : null,"other":"x"}';
  expect(drop(text, root)).toBe(text);
});

test('what a way requires stays, and what no way knows stays', () => {
  const root = { anyOf: [object({ a: TEXT }, ['a']), object({ a: TEXT, b: TEXT })] };
  expect(drop({ a: null, b: null, c: null }, root)).toEqual({ a: null, c: null });
});

test('null is dropped below references that refer to themselves', () => {
  const Node = object({ name: TEXT, next: { $ref: '#/$defs/Node' } }, ['name']);
  const root = { ...object({ list: { type: 'array', items: { $ref: '#/$defs/Node' } } }), $defs: { Node } };
  expect(drop({ list: [{ name: 'a', next: { name: 'b', next: null } }] }, root)).toEqual({
    list: [{ name: 'a', next: { name: 'b' } }],
  });
});

test.each([
  ['no JSON', '{"it":null'],
  ['no object', '[null]'],
  ['no object at all', 'null'],
  ['no null', '{"it":"x"}'],
  ['a key that reaches for prototypes', '{"it":null,"__proto__":1}'],
  ['a number that lost digits', '{"it":null,"n":12345678901234567890123}'],
  ['a number beyond all', '{"it":null,"n":1e400}'],
  ['what is too deep', `{"it":null,"n":${'['.repeat(5000)}${']'.repeat(5000)}}`],
  ['blank', ' '],
])('a text with %s is left as it was sent', (_what, given) => {
  expect(drop(given, object({ it: TEXT }))).toBe(given);
});

test.each([undefined, null, 7, true, [null]])('arguments that are %j are left as they were sent', (given) => {
  expect(drop(given, object({ it: TEXT }))).toBe(given);
});

test('objects nested 5 000 deep are gone through as far as arguments may be', () => {
  const root = { ...object({ in: { $ref: '#' }, it: TEXT }) };
  const deep: unknown = JSON.parse(`${'{"in":'.repeat(5000)}{"it":null}${'}'.repeat(5000)}`);
  expect(drop(deep, root)).toBe(deep);
});
