import { expect, test } from 'vitest';
import { documentOf, startImport } from './import-lab.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };

test.each([
  ['<p>Lists <b>pets</b>.</p>\n<ul><li>One</li><li>Two &amp; three</li></ul>', '', 'Lists pets. One Two & three'],
  [
    'Gets <id> where a < b and 3 > 2, see <https://example.com>',
    '',
    'Gets <id> where a < b and 3 > 2, see <https://example.com>',
  ],
  ['', 'List pets.', 'List pets.'],
  ['List pets.', 'List pets', 'List pets.'],
  ['Lists pets with `limit`. .', 'List pets', 'List pets. Lists pets with `limit`.'],
  ['Lists pets<br/>.', 'All', 'All. Lists pets.'],
  ['<p></p>', '.', 'GET /a'],
  ['It&#39;s &quot;so&quot; &unknown; &#xD800;<!-- not for you -->', '', 'It\'s "so" &unknown; &#xD800;'],
  ['See (the **docs.**)', 'Do', 'Do. See (the **docs.**)'],
])('the description %j with the summary %j is told as %j', async (description, summary, told) => {
  const { tool } = await startImport(documentOf({ '/a': { get: { operationId: 'a', description, summary } } }), BASE);
  expect(tool('a').description).toBe(told);
});

test('parameters and members of bodies are described in text, too', async () => {
  const schema = { type: 'object', properties: { b: { description: '<p>The <code>b</code></p>', type: 'string' } } };
  const { tool } = await startImport(
    documentOf({
      '/a': {
        post: {
          operationId: 'a',
          parameters: [{ name: 'q', in: 'query', description: 'First<br>second', schema: { type: 'string' } }],
          requestBody: { required: true, content: { 'application/json': { schema } } },
        },
      },
    }),
    BASE,
  );
  expect(tool('a').inputSchema['properties']).toEqual({
    q: { type: 'string', description: 'First\nsecond' },
    b: { type: 'string', description: 'The b' },
  });
});

const wordy = 'word '.repeat(100);
const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const takes = (schema: unknown) => ({
  post: { operationId: 'a', requestBody: { required: true, content: { 'application/json': { schema } } } },
});

test('a schema that is too large loses the texts within its arguments first', async () => {
  const members = Object.fromEntries(
    Array.from({ length: 60 }, (_, one) => [`m${one}`, { type: 'string', description: wordy }]),
  );
  const { tool } = await startImport(
    documentOf({
      '/a': takes({
        type: 'object',
        properties: { large: { type: 'object', description: wordy, properties: members } },
      }),
    }),
    { ...BASE, maxSchemaBytes: 4_096 },
  );
  expect(JSON.stringify(tool('a').inputSchema).length).toBeLessThan(4_096);
  const { large } = Object(tool('a').inputSchema['properties']);
  expect(large.description).toHaveLength(200);
  expect(large.properties['m59']).toEqual({ type: 'string' });
  expect(tool('a').description).toBe('POST /a');
});

test('and then what lies furthest from them: any value is taken there, and the tool says so', async () => {
  const wide = (next: unknown) => ({
    type: 'object',
    required: ['next'],
    properties: {
      next,
      ...Object.fromEntries(Array.from({ length: 120 }, (_, one) => [`member_${one}`, { type: 'string' }])),
    },
  });
  const { tool } = await startImport(
    documentOf(
      { '/a': takes({ type: 'object', properties: { near: refer('Near') } }) },
      {
        components: {
          schemas: { Near: wide({ oneOf: [{ type: 'string' }, refer('Far')] }), Far: wide(refer('Near')) },
        },
      },
    ),
    { ...BASE, maxSchemaBytes: 4_096 },
  );
  const { inputSchema, description } = tool('a');
  expect(JSON.stringify(inputSchema).length).toBeLessThan(4_096);
  expect(Object.keys(Object(inputSchema['$defs']))).toEqual(['Near']);
  expect(Object(inputSchema['$defs']).Near.properties.next).toEqual({
    anyOf: [{ type: 'string' }, { description: 'Its schema is too large to be shown.' }],
  });
  expect(description).toBe('POST /a.\nParts of the schema are too large to be shown.');
  expect((await tool('a').prepare({ near: { next: 'anything' } })).ok).toBe(true);
  expect((await tool('a').prepare({ near: {} })).ok).toBe(false);
});

test('one whose arguments alone are too large is unavailable, with the limit', async () => {
  const values = Array.from({ length: 1_000 }, (_, one) => `value ${one}`);
  const { offer } = await startImport(
    documentOf({ '/a': takes({ type: 'object', properties: { e: { enum: values } } }) }),
    { ...BASE, maxSchemaBytes: 4_096 },
  );
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
    'Its schema is larger than 4096 bytes, even without nested schemas.',
  ]);
});
