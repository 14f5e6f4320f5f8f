import { expect, test } from 'vitest';
import { fillArguments, findHappened } from '#src/other-tool.ts';

const sought = {
  effectId: 'e_1',
  input: { account: 7, 'a/b': { list: ['x', null] }, whole: { n: 1 }, yes: false, blank: '' },
};

test.each<[unknown, unknown]>([
  ['{effectId}', 'e_1'],
  ['ref: {effectId}, {effectId}', 'ref: e_1, e_1'],
  ['{/account}', 7],
  ['of {/account}', 'of 7'],
  ['{/account}{/yes}', '7false'],
  ['{/a~1b/list/0}', 'x'],
  ['{/a~1b/list/1}', null],
  ['{/whole}', { n: 1 }],
  ['{/blank}', ''],
  [
    { in: ['{effectId}', 5, null], deep: { at: '{/yes}' } },
    { in: ['e_1', 5, null], deep: { at: false } },
  ],
  ['{ account } {} {"a":1}', '{ account } {} {"a":1}'],
])('an argument is filled in: %j', (template, filled) => {
  expect(fillArguments({ one: template }, sought)).toEqual({ one: filled });
});

test.each([
  ['{/nothing}', 'Its arguments have nothing at /nothing, which reconcile.arguments names.'],
  ['x {/a~1b/list/2}', 'Its arguments have nothing at /a~1b/list/2, which reconcile.arguments names.'],
  ['{/constructor}', 'Its arguments have nothing at /constructor, which reconcile.arguments names.'],
  ['x {/whole}', 'Its argument /whole is no text or number within a text.'],
  ['x {/a~1b/list/1}', 'Its argument /a~1b/list/1 is no text or number within a text.'],
])('an argument that cannot be filled in throws, so that no others are asked for: %s', (template, problem) => {
  expect(() => fillArguments({ one: template }, sought)).toThrow(problem);
});

test.each<[unknown, string, unknown]>([
  [{ items: [{ id: 1 }] }, '/items/0', { id: 1 }],
  [{ items: [] }, '/items/0', null],
  [{ items: [null] }, '/items/0', null],
  [{ items: [1] }, '/items/length', null],
  [{ items: [0] }, '/items/0', 0],
  [{ items: [1] }, '/items/-', null],
  [{ error: 'x' }, '/items/0', null],
  [{ items: 'x' }, '/items/0', null],
  [{}, '/constructor', null],
  [null, '/items/0', null],
  [{ id: 1 }, '', { id: 1 }],
  ['text', '', 'text'],
  [null, '', null],
  ['{"items":[{"id":1}]}', '/items/0', { id: 1 }],
  ['{"items":[12345678901234567890]}', '/items/0', '12345678901234567890'],
  ['null', '/items/0', null],
])('%j has at %j', (value, pointer, found) => {
  expect(findHappened(JSON.stringify(value), pointer)).toEqual(found);
});

test.each(['No payments.', '', 5, true, '"x"'])(
  '%j can have nothing within it, which says nothing of a write',
  (value) => {
    expect(() => findHappened(JSON.stringify(value), '/items/0')).toThrow(/^Its value is of type \w+: it has nothing/);
  },
);
