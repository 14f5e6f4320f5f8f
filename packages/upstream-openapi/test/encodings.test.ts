import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const ARRAY = ['blue', 'black'];
const OBJECT = { R: 100, G: 200 };
const base = { name: 'color', schema: {} };

const sentFor = async (parameter: Record<string, unknown>, value: unknown) => {
  const target = await startHttpTarget(answering(204));
  const path = parameter['in'] === 'path' ? '/{color}' : '/x';
  const { tool } = await startImport(
    documentOf({ [path]: { get: { operationId: 'call', parameters: [{ ...base, ...parameter }] } } }),
    {
      baseUrl: target.origin,
    },
  );
  await callTool(tool('call'), { color: value });
  return target.requests[0];
};

// The table "Style Examples" of OpenAPI 3.1.
test.each([
  [{ in: 'path' }, 'blue', '/blue'],
  [{ in: 'path' }, ARRAY, '/blue,black'],
  [{ in: 'path' }, OBJECT, '/R,100,G,200'],
  [{ in: 'path', explode: true }, OBJECT, '/R=100,G=200'],
  [{ in: 'path', style: 'label' }, 'blue', '/.blue'],
  [{ in: 'path', style: 'label' }, ARRAY, '/.blue,black'],
  [{ in: 'path', style: 'label', explode: true }, ARRAY, '/.blue.black'],
  [{ in: 'path', style: 'label', explode: true }, OBJECT, '/.R=100.G=200'],
  [{ in: 'path', style: 'matrix' }, 'blue', '/;color=blue'],
  [{ in: 'path', style: 'matrix' }, ARRAY, '/;color=blue,black'],
  [{ in: 'path', style: 'matrix', explode: true }, ARRAY, '/;color=blue;color=black'],
  [{ in: 'path', style: 'matrix' }, OBJECT, '/;color=R,100,G,200'],
  [{ in: 'path', style: 'matrix', explode: true }, OBJECT, '/;R=100;G=200'],
  [{ in: 'query' }, '', '/x?color='],
  [{ in: 'query' }, 'a&b=c', '/x?color=a%26b%3Dc'],
  [{ in: 'query' }, ARRAY, '/x?color=blue&color=black'],
  [{ in: 'query' }, [], '/x'],
  [{ in: 'query' }, OBJECT, '/x?R=100&G=200'],
  [{ in: 'query', explode: false }, ARRAY, '/x?color=blue,black'],
  [{ in: 'query', explode: false }, OBJECT, '/x?color=R,100,G,200'],
  [{ in: 'query', style: 'spaceDelimited' }, ARRAY, '/x?color=blue%20black'],
  [{ in: 'query', style: 'pipeDelimited' }, ARRAY, '/x?color=blue%7Cblack'],
  [{ in: 'query', style: 'deepObject' }, OBJECT, '/x?color%5BR%5D=100&color%5BG%5D=200'],
  [{ in: 'query', style: 'deepObject' }, { a: { b: [1] } }, '/x?color%5Ba%5D%5Bb%5D%5B0%5D=1'],
  [{ in: 'query', allowReserved: true }, 'a/b?c&d', '/x?color=a/b?c%26d'],
  [
    { in: 'query', schema: undefined, content: { 'application/json': {} } },
    OBJECT,
    '/x?color=%7B%22R%22%3A100%2C%22G%22%3A200%7D',
  ],
])('%j with %j is sent as %s', async (parameter, value, path) => {
  expect((await sentFor(parameter, value))?.path).toBe(path);
});

test('headers and cookies carry their parameters, and neither can hold a line end or a second cookie', async () => {
  expect((await sentFor({ in: 'header' }, ARRAY))?.headers['color']).toBe('blue,black');
  expect((await sentFor({ in: 'cookie' }, 'a; admin=1'))?.headers['cookie']).toBe('color=a%3B%20admin%3D1');
  await expect(sentFor({ in: 'header' }, 'a\r\nx: y')).rejects.toThrow('must not contain line breaks');
});

const PROPERTIES = {
  name: { type: 'string' },
  tags: { type: 'array', items: { type: 'string' } },
  more: { type: 'object' },
  id: { type: 'integer', readOnly: true },
};

const startBody = async (media: string, schema: unknown, more: Record<string, unknown> = {}) => {
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
  const operation = { operationId: 'call', requestBody: { required: true, content: { [media]: { schema } } }, ...more };
  const { tool } = await startImport(documentOf({ '/x': { post: operation } }), { baseUrl: target.origin });
  return { bodies, target, tool: tool('call') };
};

test.each([
  ['application/json', '{"name":"a&b","tags":["x","y"],"more":{"k":1}}', 'application/json'],
  ['application/merge-patch+json', '{"name":"a&b","tags":["x","y"],"more":{"k":1}}', 'application/merge-patch+json'],
  [
    'application/x-www-form-urlencoded',
    'name=a%26b&tags=x&tags=y&more=%7B%22k%22%3A1%7D',
    'application/x-www-form-urlencoded',
  ],
])('a body of %s is made of its members', async (media, text, contentType) => {
  const { bodies, target, tool } = await startBody(media, {
    type: 'object',
    properties: PROPERTIES,
    required: ['name', 'id'],
  });
  await callTool(tool, { name: 'a&b', tags: ['x', 'y'], more: { k: 1 } });
  expect(bodies).toEqual([text]);
  expect(target.requests[0]?.headers['content-type']).toBe(contentType);
});

test('multipart sends fields and files', async () => {
  const { bodies, tool } = await startBody('multipart/form-data', {
    type: 'object',
    properties: { name: { type: 'string' }, picture: { type: 'string', format: 'binary' } },
  });
  expect(Object.keys(Object(tool.inputSchema['properties']))).toEqual(['name', 'picture']);
  await callTool(tool, { name: 'a\r\n--b' });
  expect(bodies[0]).toMatch(
    /^--(recourse-[\w-]+)\r\nContent-Disposition: form-data; name="name"\r\n\r\na\r\n--b\r\n--\1--\r\n$/,
  );
});

test('text is sent as it is', async () => {
  const { bodies, tool, target } = await startBody('text/plain', { type: 'string' });
  await callTool(tool, { body: 'plain é' });
  expect(bodies).toEqual(['plain é']);
  expect(target.requests[0]?.headers['content-type']).toBe('text/plain; charset=utf-8');
});

const NAME_PARAMETER = { name: 'name', in: 'query', schema: { type: 'string' } };

test.each([
  [
    'its members clash with a parameter',
    { type: 'object', properties: { name: {} } },
    { parameters: [NAME_PARAMETER] },
    ['name', 'body'],
  ],
  ['it is a list', { type: 'array', items: {} }, {}, ['body']],
  ['it has alternatives', { oneOf: [{ type: 'object', properties: { a: {} } }] }, {}, ['body']],
  ['it takes any member', { type: 'object', additionalProperties: true }, {}, ['body']],
  [
    'nothing is against it',
    { allOf: [{ properties: { a: {} } }, { properties: { b: {} }, required: ['b'] }] },
    {},
    ['a', 'b'],
  ],
])('where the members of a body go when %s', async (_, schema, more, names) => {
  const { tool } = await startBody('application/json', schema, more);
  expect(Object.keys(Object(tool.inputSchema['properties']))).toEqual(names);
  expect(tool.inputSchema['additionalProperties']).toBe(false);
});

test('schemas of 3.0 become JSON Schema, recursive ones survive, and only definitions in use are kept', async () => {
  const document = {
    ...documentOf({
      '/x': {
        post: {
          operationId: 'call',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } },
          },
        },
      },
    }),
    openapi: '3.0.3',
    components: {
      schemas: {
        Node: {
          type: 'object',
          required: ['id', 'size'],
          properties: {
            id: { type: 'string', readOnly: true },
            size: { type: 'number', minimum: 0, exclusiveMinimum: true, example: 1, format: 'odd' },
            label: { type: 'string', nullable: true, enum: ['a'] },
            children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
          },
        },
        Unused: { type: 'string' },
      },
    },
  };
  const { tool } = await startImport(document, { baseUrl: 'http://127.0.0.1:9' });
  const members = {
    size: { type: 'number', exclusiveMinimum: 0, examples: [1] },
    label: { type: ['string', 'null'], enum: ['a', null] },
    children: { type: 'array', items: { $ref: '#/$defs/Node' } },
  };
  expect(tool('call').inputSchema).toEqual({
    type: 'object',
    properties: members,
    required: ['size'],
    additionalProperties: false,
    $defs: { Node: { type: 'object', required: ['size'], properties: members } },
  });
  expect(await tool('call').prepare({ size: 1, children: [{ size: 0 }] })).toMatchObject({ ok: false });
  expect(await tool('call').prepare({ size: 1, children: [{ size: 2, label: null }] })).toMatchObject({ ok: true });
  expect(await tool('call').prepare({ size: 1, id: 'mine' })).toMatchObject({ ok: false, issues: [{ path: 'id' }] });
});

test('a schema that is itself again without end makes its operation unavailable', async () => {
  const loop = { allOf: [{ $ref: '#/components/schemas/Loop' }] };
  const { offer } = await startImport(
    documentOf(
      {
        '/x': {
          get: {
            operationId: 'call',
            parameters: [{ name: 'a', in: 'query', schema: { $ref: '#/components/schemas/Loop' } }],
          },
        },
      },
      { components: { schemas: { Loop: loop } } },
    ),
    { baseUrl: 'http://127.0.0.1:9' },
  );
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual(['Its schema Loop refers to itself endlessly.']);
});
