import { startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const start = async (paths: unknown, more: Readonly<Record<string, unknown>> = {}) => {
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
  const lab = await startImport(documentOf(paths, more), { baseUrl: target.origin });
  return { ...lab, bodies, target };
};

const bodyOf = (schema: unknown, media = 'application/json') => ({ required: true, content: { [media]: { schema } } });

test('an object of which the document says nothing is the argument body, as in each PATCH of Kubernetes', async () => {
  const Patch = { description: 'Patch is provided to give a concrete name.', type: 'object' };
  const { bodies, tool } = await start(
    {
      '/pods': {
        patch: {
          operationId: 'patch_pod',
          requestBody: bodyOf({ $ref: '#/components/schemas/Patch' }, 'application/merge-patch+json'),
        },
      },
    },
    { openapi: '3.0.0', components: { schemas: { Patch } } },
  );
  expect(tool('patch_pod').inputSchema['required']).toEqual(['body']);
  await callTool(tool('patch_pod'), { body: { spec: { replicas: 3 } } });
  expect(bodies).toEqual(['{"spec":{"replicas":3}}']);
});

test('a member whose name no provider carries stays in the body, under its own name', async () => {
  const { bodies, tool } = await start({
    '/a': { post: { operationId: 'a', requestBody: bodyOf({ type: 'object', properties: { '@type': {}, b: {} } }) } },
  });
  expect(Object.keys(Object(tool('a').inputSchema['properties']))).toEqual(['body']);
  await callTool(tool('a'), { body: { '@type': 'x' } });
  expect(bodies).toEqual(['{"@type":"x"}']);
});

test("Twilio's DateSent, DateSent< and DateSent> are three arguments, and go out under their own names", async () => {
  const names = ['DateSent', 'DateSent<', 'DateSent>', 'a[b]', 'a(b)', 'a b'];
  const parameters = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
  const { target, tool } = await start({ '/messages': { get: { operationId: 'list', parameters } } });
  expect(Object.keys(Object(tool('list').inputSchema['properties']))).toEqual([
    ...['DateSent', 'DateSent_lt', 'DateSent_gt', 'a_b', 'a_b_query', 'a_b_query_2'],
  ]);
  await callTool(tool('list'), {
    DateSent: '1',
    DateSent_lt: '2',
    DateSent_gt: '3',
    a_b: '4',
    a_b_query: '5',
    a_b_query_2: '6',
  });
  expect(target.requests[0]?.path).toBe(
    '/messages?DateSent=1&DateSent%3C=2&DateSent%3E=3&a%5Bb%5D=4&a%28b%29=5&a%20b=6',
  );
});

test('what is required and has a default is not demanded of the model, and the default is sent', async () => {
  const version = {
    name: 'api-version',
    in: 'query',
    required: true,
    schema: { $ref: '#/components/schemas/Version' },
  };
  const tenant = { name: 'tenant', in: 'path', required: true, schema: { type: 'string', default: 'common' } };
  const { bodies, target, tool } = await start(
    {
      '/{tenant}/a': {
        post: {
          operationId: 'a',
          parameters: [version, tenant],
          requestBody: bodyOf({
            type: 'object',
            required: ['size', 'name'],
            properties: { name: { type: 'string' }, size: { type: 'integer', default: 3 }, more: { default: 1 } },
          }),
        },
      },
    },
    { components: { schemas: { Version: { type: 'string', default: '2026-01-01' } } } },
  );
  expect(tool('a').inputSchema['required']).toEqual(['name']);
  await callTool(tool('a'), { name: 'n' });
  await callTool(tool('a'), { name: 'n', size: 4, tenant: 'own', 'api-version': '2025-01-01' });
  expect(target.requests.map(({ path }) => path)).toEqual([
    '/common/a?api-version=2026-01-01',
    '/own/a?api-version=2025-01-01',
  ]);
  expect(bodies).toEqual(['{"name":"n","size":3}', '{"name":"n","size":4}']);
});

test('what a member deep in a body must have and has a default for is sent where the model leaves it out', async () => {
  const Line = {
    type: 'object',
    required: ['unit', 'count'],
    properties: {
      unit: { type: 'string', default: 'piece' },
      count: { type: 'integer' },
      next: { $ref: '#/components/schemas/Line' },
    },
  };
  const Kind = { type: 'object', required: ['kind'], properties: { kind: { type: 'string', default: 'gift' } } };
  const order = {
    allOf: [{ required: ['currency'], properties: { currency: { $ref: '#/components/schemas/Currency' } } }],
    required: ['lines'],
    properties: { lines: { type: 'array', items: { $ref: '#/components/schemas/Line' } } },
  };
  const until = { type: ['string', 'null'], default: null };
  const way = { oneOf: [{ $ref: '#/components/schemas/Kind' }, { type: 'object', required: ['other'] }] };
  const { bodies, tool } = await start(
    {
      '/a': {
        post: {
          operationId: 'a',
          requestBody: bodyOf({
            type: 'object',
            required: ['order', 'until'],
            properties: { order, way, kind: { $ref: '#/components/schemas/Kind' }, until },
          }),
        },
      },
      '/b': {
        post: {
          operationId: 'b',
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Line' } } } },
        },
      },
    },
    { components: { schemas: { Line, Kind, Currency: { type: 'string', default: 'EUR' } } } },
  );
  await callTool(tool('a'), { order: { lines: [{ count: 1 }, { count: 2, unit: 'box', next: { count: 3 } }] } });
  await callTool(tool('b'), { body: { count: 4 } });
  expect(bodies).toEqual([
    '{"order":{"lines":[{"count":1,"unit":"piece"},{"count":2,"unit":"box","next":{"count":3,"unit":"piece"}}],"currency":"EUR"},"until":null}',
    '{"count":4,"unit":"piece"}',
  ]);
  // Which of two alternatives is meant is told by what they must have.
  expect((await tool('a').prepare({ order: { lines: [] }, way: {} })).ok).toBe(false);
  expect((await tool('a').prepare({ order: { lines: [] }, kind: {} })).ok).toBe(false);
  expect((await tool('b').prepare({ body: { unit: 'box' } })).ok).toBe(false);
});

test('what stands behind a ? of a path is sent with each call, and a fragment is not', async () => {
  const action = { name: 'Action', in: 'query', required: true, schema: { type: 'string' } };
  const id = { name: 'id', in: 'query', required: true, schema: { type: 'string' } };
  const part = { name: 'part', in: 'path', required: true, schema: { type: 'string' } };
  const more = { name: 'more', in: 'query', schema: { type: 'string' } };
  const { target, tool, offer } = await start({
    '/objects?uploads': { post: { operationId: 'begin', parameters: [more] } },
    '/?Action=List#Action=List': { get: { operationId: 'list', parameters: [action, more] } },
    '/#X-Amz-Target=Service.Approve': { post: { operationId: 'approve' } },
    '/one?id={id}&part={part}': { get: { operationId: 'one', parameters: [id, part] } },
    '/send/#env/v1/{part}': { get: { operationId: 'sandbox', parameters: [part] } },
  });
  expect(Object.keys(Object(tool('list').inputSchema['properties']))).toEqual(['more']);
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
    'Its path /send/#env/v1/{part} cannot be requested.',
  ]);
  await callTool(tool('begin'), { more: 'x' });
  await callTool(tool('list'));
  await callTool(tool('approve'));
  await callTool(tool('one'), { id: 'a&b', part: '../c' });
  expect(target.requests.map(({ path }) => path)).toEqual([
    '/objects?uploads&more=x',
    '/?Action=List',
    '/',
    '/one?part=..%2Fc&id=a%26b',
  ]);
});

test('a format of texts is advice unless the import wants it checked; that of numbers is checked', async () => {
  const schemas = { at: { type: 'string', format: 'date-time' }, id: { type: 'string', format: 'uuid' } };
  const parameters = Object.entries({ ...schemas, n: { type: 'integer', format: 'int32' } }).map(([name, schema]) => ({
    ...{ name, in: 'query', schema },
  }));
  const document = documentOf({ '/a': { get: { operationId: 'a', parameters } } });
  const base = { baseUrl: 'http://127.0.0.1:9' };
  const advising = (await startImport(document, base)).tool('a');
  expect(advising.inputSchema['properties']).toMatchObject(schemas);
  expect((await advising.prepare({ at: '2026-11-23', id: 'latest' })).ok).toBe(true);
  expect((await advising.prepare({ n: 2 ** 31 })).ok).toBe(false);
  const checking = (await startImport(document, { ...base, formats: 'check' })).tool('a');
  expect(await checking.prepare({ at: '2026-11-23', id: 'latest' })).toMatchObject({
    ok: false,
    issues: [{ path: 'at' }, { path: 'id' }],
  });
});
