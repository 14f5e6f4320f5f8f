import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };
const takes = (operationId: string, schema: unknown) => ({
  post: { operationId, requestBody: { content: { 'application/json': { schema } } } },
});
const chainOf = (length: number, link: (next: unknown) => unknown) =>
  Object.fromEntries(
    Array.from({ length }, (_, place) => [
      `S${place}`,
      place === length - 1 ? { type: 'object' } : link({ $ref: `#/components/schemas/S${place + 1}` }),
    ]),
  );
// As text: writing such values is recursive.
const nested = (levels: number, open: string, close: string): string =>
  `${open.repeat(levels)}{}${close.repeat(levels)}`;

test.each([
  ['a chain of 800 references', chainOf(800, (next) => ({ type: 'object', properties: { next } }))],
  ['a chain of 20 000 references', chainOf(20_000, (next) => ({ type: 'object', properties: { next } }))],
  ['a chain of allOf', chainOf(1_500, (next) => ({ allOf: [next] }))],
  [
    '2 000 schemas side by side',
    {
      S0: {
        properties: Object.fromEntries(
          Array.from({ length: 2_000 }, (_, one) => [`p${one}`, { $ref: `#/components/schemas/T${one}` }]),
        ),
      },
      ...Object.fromEntries(Array.from({ length: 2_000 }, (_, one) => [`T${one}`, {}])),
    },
  ],
])('%s makes its operation unavailable, and the others serve', async (_, schemas) => {
  const { offer } = await startImport(
    documentOf(
      {
        '/a': takes('a', { properties: { r: { $ref: '#/components/schemas/S0' } } }),
        '/b': { get: { operationId: 'b' } },
      },
      { components: { schemas } },
    ),
    BASE,
  );
  expect(offer().tools.map(({ name }) => name)).toEqual(['b']);
  expect(offer().unavailable.map(({ facts, reason }) => [facts.name, reason])).toEqual([
    [
      'a',
      expect.stringMatching(
        /^(Its schemas refer to each other more than \d+ levels deep|It takes more than \d+ schemas)\.$/,
      ),
    ],
  ]);
});

test.each([
  ['allOf', nested(30_000, '{"allOf":[', ']}')],
  ['a default', `{"default":${nested(30_000, '{"a":', '}')}}`],
  ['a smaller default', `{"default":${nested(1_000, '{"a":', '}')}}`],
  ['an enum', `{"enum":[${nested(30_000, '[', ']')}]}`],
])('%s that is nested too deep makes its operation unavailable, and the others serve', async (_, schema) => {
  const document = JSON.stringify(documentOf({ '/a': takes('a', 'deep'), '/b': { get: { operationId: 'b' } } }));
  const { offer } = await startImport(document.replace('"deep"', schema), BASE);
  expect(offer().tools.map(({ name }) => name)).toEqual(['b']);
  expect(offer().unavailable.map(({ facts }) => facts.name)).toEqual(['a']);
});

test('a chain of references that is not too long is checked', async () => {
  const schemas = chainOf(100, (next) => ({ type: 'object', properties: { next } }));
  const { tool } = await startImport(
    documentOf(
      { '/a': takes('a', { properties: { r: { $ref: '#/components/schemas/S0' } } }) },
      { components: { schemas } },
    ),
    BASE,
  );
  await expect(callTool(tool('a'), { r: { next: { next: 1 } } })).rejects.toThrow('r.next.next: expected an object');
});

test('of a document with more than 5 000 operations the first serve, and the rest is told in one entry', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 5_100 }, (_, one) => [`/o${one}`, { get: { operationId: `o${one}` } }]),
  );
  let turns = 0;
  const counting = setInterval(() => {
    turns += 1;
  }, 1);
  const { offer, lines } = await startImport(documentOf(paths), BASE);
  clearInterval(counting);
  expect(offer().tools).toHaveLength(5_000);
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    'further_operations: The document has 5100 operations; the limit per import is 5000. Select operations with include and exclude.',
  ]);
  expect(lines.map(({ level, message }) => [level, message])).toEqual([
    ['warn', 'openapi document has more operations than the limit'],
    ['info', 'openapi document imported'],
  ]);
  // The service did other things meanwhile.
  expect(turns).toBeGreaterThan(3);
});
