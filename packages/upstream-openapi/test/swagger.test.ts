import { readFileSync } from 'node:fs';
import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, startImport } from './import-lab.ts';

const startApi = async () => {
  const bodies: string[] = [];
  const target = await startHttpTarget((response) => {
    const chunks: Uint8Array[] = [];
    response.req
      .on('data', (chunk: Uint8Array) => chunks.push(chunk))
      .on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.writeHead(204).end();
      });
  });
  return { target, bodies };
};

const swaggerOf = (paths: unknown, more: Readonly<Record<string, unknown>> = {}) => ({
  swagger: '2.0',
  info: { title: 'Test', version: '1' },
  host: '127.0.0.1:9',
  paths,
  ...more,
});
const form = (name: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name,
  in: 'formData',
  type: 'string',
  ...more,
});

test('the petstore of Swagger 2.0 has the tools of the one of OpenAPI 3.0', async () => {
  const read = (version: string): string =>
    readFileSync(`node_modules/@readme/oas-examples/${version}/json/petstore.json`, 'utf8');
  const old = await startImport(read('2.0'), { baseUrl: 'http://127.0.0.1:9' });
  const current = await startImport(read('3.0'), { baseUrl: 'http://127.0.0.1:9' });
  const argumentsOf = ({ offer }: typeof old) =>
    Object.fromEntries(
      offer().tools.map(({ name, inputSchema }) => [name, Object.keys(Object(inputSchema['properties'])).toSorted()]),
    );
  expect(old.offer().unavailable.map(({ facts, reason }) => [facts.name, reason])).toEqual(
    current.offer().unavailable.map(({ facts, reason }) => [facts.name, reason]),
  );
  // There the id of a pet is for answers alone.
  const expected = argumentsOf(current);
  const withId = (name: string) => ({ [name]: ['category', 'id', ...(expected[name] ?? []).slice(1)] });
  expect(argumentsOf(old)).toEqual({ ...expected, ...withId('addPet'), ...withId('updatePet') });
  expect(Object.keys(argumentsOf(old)).length).toBeGreaterThan(15);
});

test('bodies, forms, lists and what is referred to are sent as Swagger 2.0 says', async () => {
  const { target, bodies } = await startApi();
  const { tool, offer } = await startImport(
    swaggerOf(
      {
        '/form/{id}': {
          parameters: [{ $ref: '#/parameters/Id' }, { $ref: '#/parameters/Note' }],
          post: { operationId: 'form', parameters: [form('name', { required: true })] },
          get: {
            operationId: 'read',
            parameters: [{ name: 'ids', in: 'query', type: 'array', items: { type: 'integer' } }],
          },
        },
        '/body': {
          parameters: [{ name: 'whole', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } }],
          put: { operationId: 'body' },
        },
        '/multi': {
          get: {
            operationId: 'multi',
            parameters: [
              { name: 'tags', in: 'query', type: 'array', collectionFormat: 'multi', items: { type: 'string' } },
            ],
          },
        },
        '/tabs': {
          get: {
            operationId: 'tabs',
            parameters: [
              { name: 'tags', in: 'query', type: 'array', collectionFormat: 'tsv', items: { type: 'string' } },
            ],
          },
        },
        '/gone': { post: { operationId: 'gone', parameters: [{ $ref: '#/parameters/Gone' }] } },
      },
      {
        consumes: ['application/json'],
        definitions: {
          Pet: { type: 'object', required: ['name'], properties: { name: { type: 'string', 'x-nullable': true } } },
        },
        parameters: {
          Id: { name: 'id', in: 'path', required: true, type: 'integer' },
          Note: { name: 'note', in: 'formData', type: 'string' },
        },
      },
    ),
    { baseUrl: target.origin },
  );
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    'tabs: Its parameter tags has an unknown style, collectionFormat tsv.',
    "gone: It refers to '#/components/parameters/Gone', which the document does not contain.",
  ]);
  expect(tool('form').inputSchema['required']).toEqual(['id', 'name']);
  await callTool(tool('form'), { id: 7, name: 'a b', note: 'n' });
  await callTool(tool('read'), { id: 7, ids: [1, 2] });
  await callTool(tool('body'), { name: null });
  await callTool(tool('multi'), { tags: ['x', 'y'] });
  expect(target.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /form/7',
    'GET /form/7?ids=1,2',
    'PUT /body',
    'GET /multi?tags=x&tags=y',
  ]);
  expect(bodies).toEqual(['note=n&name=a%20b', '', '{"name":null}', '']);
});

test.each([
  [['http', 'https'], 'https://127.0.0.1:9/v1'],
  [['http'], 'http://127.0.0.1:9/v1'],
  [undefined, 'https://127.0.0.1:9/v1'],
])('of the schemes %j of Swagger 2.0 the server %s is made', async (schemes, server) => {
  const { lines } = await startImport(swaggerOf({}, { basePath: '/v1', schemes }));
  expect(lines[0]?.fields).toMatchObject({ server });
});

test('a document of Swagger 2.0 in YAML, where 2.0 is a number, is read', async () => {
  const { offer } = await startImport(
    'swagger: 2.0\nhost: 127.0.0.1:9\npaths: {/a: {get: {operationId: a, responses: {}}}}\n',
  );
  expect(offer().tools.map(({ name }) => name)).toEqual(['a']);
});
