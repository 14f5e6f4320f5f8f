import { answering, failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const SECRET = 'hunter2-hunter2/+';
const parameter = (place: string, name: string) => ({ name, in: place, required: true, schema: { type: 'string' } });
const DOCUMENT = documentOf(
  {
    '/x': {
      get: {
        operationId: 'call',
        parameters: [
          parameter('query', 'q'),
          { name: 'free', in: 'query', schema: { type: 'object' } },
          parameter('header', 'X-Api-Key'),
          parameter('header', 'Authorization'),
          parameter('query', 'api_key'),
          parameter('cookie', 'sid'),
        ],
      },
    },
  },
  {
    components: {
      securitySchemes: {
        a: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        b: { type: 'apiKey', in: 'query', name: 'api_key' },
        c: { type: 'apiKey', in: 'cookie', name: 'sid' },
      },
    },
  },
);

const BASIC = Buffer.from(`me:${SECRET}`).toString('base64');

test.each([
  [{ type: 'bearer', token: SECRET }, 'authorization', `Bearer ${SECRET}`],
  [{ type: 'basic', username: 'me', password: SECRET }, 'authorization', `Basic ${BASIC}`],
  [{ type: 'apiKey', in: 'header', name: 'X-Api-Key', value: SECRET }, 'x-api-key', SECRET],
  [{ type: 'apiKey', in: 'cookie', name: 'sid', value: SECRET }, 'cookie', `sid=${SECRET}`],
  [{ type: 'headers', headers: { 'X-One': `Token ${SECRET}` } }, 'x-one', `Token ${SECRET}`],
])('%j is sent with each request and is nowhere else', async (auth, header, value) => {
  const echo = JSON.stringify({ message: `Bad: ${SECRET} ${BASIC} ${encodeURIComponent(SECRET)}` });
  const target = await startHttpTarget((response, _request, count) =>
    response.writeHead(count === 1 ? 401 : 200, { 'content-type': 'application/json' }).end(echo),
  );
  const { tool, offer, lines, source } = await startImport(DOCUMENT, { baseUrl: target.origin, auth });
  const failure = await failureOf(callTool(tool('call'), { q: 'a' }));
  const answer = await callTool(tool('call'), { q: 'a' });
  expect(target.requests.map(({ headers }) => headers[header])).toEqual([value, value]);
  expect(Object.keys(Object(tool('call').inputSchema['properties']))).toEqual(['q', 'free']);
  const said = JSON.stringify([failure, String(failure), answer, lines, source.state(), offer()]);
  expect(said).toContain('[redacted]');
  expect(said).not.toContain(SECRET);
  expect(said).not.toContain(encodeURIComponent(SECRET));
  if (auth.type === 'basic') expect(said).not.toContain(BASIC);
});

test('no argument stands in for the key of the query', async () => {
  const target = await startHttpTarget(answering(204));
  const { tool } = await startImport(DOCUMENT, {
    baseUrl: target.origin,
    auth: { type: 'apiKey', in: 'query', name: 'api_key', value: SECRET },
  });
  await callTool(tool('call'), { q: 'a', free: { api_key: 'mine', other: '1' } });
  expect(target.requests[0]?.path).toBe('/x?q=a&other=1&api_key=hunter2-hunter2%2F%2B');
});

test('nothing a model sends is a header of the client itself', async () => {
  const target = await startHttpTarget(answering(204));
  const names = ['Host', 'Authorization', 'Cookie', 'Content-Length', 'Traceparent', 'X-Forwarded-For', 'X-Own'];
  const parameters = names.map((name) => parameter('header', name));
  const { tool } = await startImport(documentOf({ '/x': { get: { operationId: 'call', parameters } } }), {
    baseUrl: target.origin,
  });
  expect(tool('call').inputSchema['required']).toEqual(['X-Own']);
});

test('the trace and the key of the call are passed on where the operation takes them', async () => {
  const target = await startHttpTarget(answering(204));
  const key = { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } };
  const { tool } = await startImport(
    documentOf({
      '/declared': { post: { operationId: 'declared', parameters: [key] } },
      '/listed': { post: { operationId: 'listed' } },
      '/plain': { post: { operationId: 'plain' } },
    }),
    { baseUrl: target.origin, idempotencyKeys: ['list*'] },
  );
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  for (const name of ['declared', 'listed', 'plain'])
    await callTool(tool(name), {}, { idempotencyKey: 'key-1', traceparent });
  await callTool(tool('declared'));
  expect(target.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
    'key-1',
    'key-1',
    undefined,
    expect.stringMatching(/^[\da-f-]{36}$/),
  ]);
  expect(target.requests[0]?.headers['traceparent']).toBe(traceparent);
  expect(tool('declared').inputSchema['properties']).toEqual({});
});
