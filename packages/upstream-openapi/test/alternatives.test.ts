import { expect, test } from 'vitest';
import { documentOf, startImport } from './import-lab.ts';

const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: unknown, more = {}) => ({ type: 'object', properties, ...more });
const text = (words = {}) => ({ type: 'string', ...words });
const closed = { additionalProperties: false };

const schemas = {
  Cat: object({ kind: text(), meows: { type: 'boolean' } }, { required: ['kind'] }),
  Dog: object({ kind: text(), barks: { type: 'boolean' } }, { required: ['kind'] }),
  Saved: object({ id: text({ readOnly: true }), name: text() }, { required: ['id', 'name'] }),
  Draft: object({ name: text() }, { required: ['name'] }),
  Day: text({ format: 'date' }),
  Tree: object({ when: { oneOf: [refer('Day'), text({ format: 'date-time' })] }, below: refer('Tree') }),
};

type Row = readonly [what: string, schema: unknown, fitting: readonly unknown[], others: readonly unknown[]];

const formats = (...names: readonly string[]) => ({ oneOf: names.map((format) => text({ format })) });
const discriminator = { propertyName: 'kind' };

const ROWS: readonly Row[] = [
  ['a day or a moment', formats('date', 'date-time'), ['2026-01-01', '2026-01-01T00:00:00Z'], [5]],
  ['one of two addresses', formats('ipv4', 'ipv6'), ['127.0.0.1', '::1'], [null]],
  ['formats that no validator knows', formats('sha1', 'md5'), ['ab'], [{}]],
  ['alternatives that are references', { oneOf: [refer('Day'), text({ format: 'time' })] }, ['2026-01-01'], [1]],
  ['alternatives in a circle', refer('Tree'), [{ below: { when: '2026-01-01' } }], [{ below: { when: 1 } }]],
  ['not with a look-ahead', { ...text(), not: { pattern: '^(?=.*admin)' } }, ['joe'], [5]],
  ['not with a pattern that is none', { ...text(), not: { pattern: '(' } }, ['joe'], [5]],
  ['not with a format', { ...text(), not: { format: 'date' } }, ['joe'], [5]],
  ['not of not of a format', { ...text(), not: { not: { format: 'date' } } }, ['2026-01-01'], [5]],
  [
    'if with a format',
    Object.fromEntries([
      ['if', object({ a: text({ format: 'date' }) })],
      ['then', { required: ['b'] }],
      ['else', { required: ['c'] }],
    ]),
    [
      { a: 'x', c: 1 },
      { a: '2026-01-01', b: 1 },
    ],
    [],
  ],
  ['contains at most once', { type: 'array', contains: text({ format: 'date' }), maxContains: 1 }, [['a', 'b']], [[1]]],
  ['one that only answers tell apart', { oneOf: [refer('Saved'), refer('Draft')] }, [{ name: 'a' }], [{}]],
  ['a discriminator', { oneOf: [refer('Cat'), refer('Dog')], discriminator }, [{ kind: 'cat', meows: true }], [{}, 5]],
  [
    'a discriminator beside anyOf',
    { oneOf: [refer('Cat'), refer('Dog')], anyOf: [{ required: ['meows'] }, { required: ['barks'] }], discriminator },
    [{ kind: 'cat', meows: true }],
    [{ kind: 'cat' }, { meows: true }],
  ],
  [
    'names that a pattern with a look-ahead chooses',
    { type: 'object', patternProperties: { '^(?!x-)': { type: 'integer' } }, ...closed },
    [{ 'x-a': 'text' }, { a: 1 }],
    [],
  ],
  // As ever: what is told in full is judged in full.
  [
    'closed alternatives',
    { oneOf: [object({ a: {} }, closed), object({ b: {} }, closed)] },
    [{ a: 1 }],
    [{}, { c: 1 }],
  ],
  ['what is required in two ways', { oneOf: [{ required: ['a'] }, { required: ['b'] }] }, [{ a: 1 }], [{ a: 1, b: 1 }]],
  ['not with a plain pattern', { ...text(), not: { pattern: '^admin' } }, ['joe'], ['admin']],
  ['int32 or a text', { oneOf: [{ type: 'integer', format: 'int32' }, text()] }, [1, '1'], [2 ** 40]],
];

test.each(ROWS)(
  '%s: what an alternative fits is taken, and what none fits is refused',
  async (_what, schema, fitting, others) => {
    const member = { type: 'object', properties: { member: schema }, ...closed };
    const body = { required: true, content: { 'application/json': { schema: member } } };
    const { tool } = await startImport(
      documentOf({ '/a': { post: { operationId: 'a', requestBody: body } } }, { components: { schemas } }),
      { baseUrl: 'http://127.0.0.1:9' },
    );
    const problemsOf = async (value: unknown) => {
      const prepared = await tool('a').prepare({ member: value });
      return prepared.ok ? [] : prepared.issues.map(({ message }) => message);
    };
    for (const value of fitting) expect(await problemsOf(value)).toEqual([]);
    for (const value of others) expect(await problemsOf(value)).not.toEqual([]);
    expect(JSON.stringify(tool('a').inputSchema)).not.toMatch(/\$comment|discriminator/);
  },
);

test('where formats are checked, alternatives are told apart by them', async () => {
  const body = {
    required: true,
    content: { 'application/json': { schema: object({ when: formats('date', 'time') }) } },
  };
  const { tool } = await startImport(documentOf({ '/a': { post: { operationId: 'a', requestBody: body } } }), {
    baseUrl: 'http://127.0.0.1:9',
    formats: 'check',
  });
  expect((await tool('a').prepare({ when: '2026-01-01' })).ok).toBe(true);
  expect((await tool('a').prepare({ when: 'soon' })).ok).toBe(false);
});
