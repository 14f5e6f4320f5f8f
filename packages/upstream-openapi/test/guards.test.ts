import { answering, failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { classifyThrown } from 'recourse-server/internal/executor/outcome.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const PATHS = {
  '/files/{name}': {
    get: {
      operationId: 'read_file',
      parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
    },
    post: {
      operationId: 'write_file',
      parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
    },
  },
};

const startApi = async (answer = answering(200, {}, ''), settings: Record<string, unknown> = {}) => {
  const target = await startHttpTarget(answer);
  const lab = await startImport(documentOf(PATHS), { baseUrl: `${target.origin}/v1`, ...settings });
  return { ...lab, target };
};

test.each([
  ['a b', '/v1/files/a%20b'],
  ['a/b', '/v1/files/a%2Fb'],
  ['?x=1#y', '/v1/files/%3Fx%3D1%23y'],
  ['%2f', '/v1/files/%252f'],
  ['a\\b;c', '/v1/files/a%5Cb%3Bc'],
  ['//evil.example', '/v1/files/%2F%2Fevil.example'],
  ['@evil.example:80', '/v1/files/%40evil.example%3A80'],
  ['é\r\nx', '/v1/files/%C3%A9%0D%0Ax'],
  ['..hidden', '/v1/files/..hidden'],
])('the path argument %j stays in its segment', async (name, path) => {
  const { tool, target } = await startApi();
  await callTool(tool('read_file'), { name });
  expect(target.requests.map((request) => request.path)).toEqual([path]);
});

test.each([
  '',
  '.',
  '..',
  '../admin',
  'a/../../b',
  '..\\x',
  '%2e%2e',
  '%2E%2E%2fadmin',
  '%252e%252e%252fadmin',
  '..;/x',
  '..%00',
  '..\u0000',
  '.%2500.',
  '%2%65%2%65',
  'x;..',
  '\ud800',
])('the path argument %j is refused and nothing is sent', async (name) => {
  const { tool, target } = await startApi();
  for (const operation of ['read_file', 'write_file']) {
    const failure = await failureOf(callTool(tool(operation), { name }));
    expect(failure).toMatchObject({ name: 'RetryableToolError' });
    expect(classifyThrown(failure, tool(operation), 'on')).toMatchObject({ code: 'retry_requested', executed: 'no' });
  }
  expect(target.connections()).toBe(0);
});

test.each([
  ['simple', ['..', 'x']],
  ['simple', ['x', '.']],
  ['simple', { a: '..' }],
  ['label', ['.']],
  ['label', ['..', 'x']],
  ['matrix', ['x', '..']],
  ['matrix', { '..': 'x' }],
])('dots as a piece of the path style %s are refused: %j', async (style, name) => {
  const target = await startHttpTarget(answering(200));
  for (const explode of [true, false]) {
    const parameters = [{ name: 'name', in: 'path', required: true, style, explode }];
    const { tool } = await startImport(documentOf({ '/{name}': { get: { operationId: 'a', parameters } } }), {
      baseUrl: target.origin,
    });
    expect(await failureOf(callTool(tool('a'), { name }))).toMatchObject({ executed: 'no' });
  }
  expect(target.connections()).toBe(0);
});

const HEADERS_OF_THE_CLIENT = [
  ...['Connection', 'Content-Length', 'Expect', 'Host', 'Keep-Alive', 'Proxy-Authorization', 'Proxy-Connection'],
  ...['Set-Cookie', 'Set-Cookie2', 'Cookie2', 'TE', 'Transfer-Encoding', 'Upgrade', 'Via', 'HTTP2-Settings'],
];

test('headers that no parameter may be are no arguments, and the operation serves without them', async () => {
  const target = await startHttpTarget(answering(204));
  const parameters = [...HEADERS_OF_THE_CLIENT, 'X-Fine'].map((name) => ({ name, in: 'header', schema: {} }));
  const { tool } = await startImport(documentOf({ '/a': { post: { operationId: 'a', parameters } } }), {
    baseUrl: target.origin,
  });
  expect(Object.keys(Object(tool('a').inputSchema['properties']))).toEqual(['X-Fine']);
  expect(await callTool(tool('a'), { 'X-Fine': 'x' })).toMatchObject({ value: null });
});

test.each(['X Bad', ':authority', 'X-Bäd', 'X-Bad\r\nY'])(
  'an operation with a header parameter that no header can be called, %j, is unavailable',
  async (name) => {
    const { offer } = await startImport(
      documentOf({
        '/a': { post: { operationId: 'a', parameters: [{ name, in: 'header', schema: {} }] } },
        '/b': { get: { operationId: 'b' } },
      }),
      { baseUrl: 'http://127.0.0.1:9' },
    );
    expect(offer().tools.map((tool) => tool.name)).toEqual(['b']);
    expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^Its header parameter '.*' has an invalid header name\.$/),
    ]);
  },
);

test('a request that the client itself refuses was not sent, and that is said', async () => {
  const target = await startHttpTarget(answering(200));
  const { tool } = await startImport(documentOf({ '/a': { post: { operationId: 'a' } } }), {
    baseUrl: target.origin,
    auth: { type: 'headers', headers: { 'transfer-encoding': 'chunked' } },
  });
  expect(classifyThrown(await failureOf(callTool(tool('a'))), tool('a'), 'on')).toMatchObject({
    code: 'upstream_unavailable',
    executed: 'no',
    message: 'The request cannot be sent (UND_ERR_INVALID_ARG).',
  });
  expect(target.connections()).toBe(0);
});

test('a header that cannot be written is refused before anything is sent, and that is said', async () => {
  const target = await startHttpTarget(answering(200));
  const parameters = [{ name: 'X-Note', in: 'header', schema: { type: 'string' } }];
  const { tool } = await startImport(documentOf({ '/a': { get: { operationId: 'a', parameters } } }), {
    baseUrl: target.origin,
  });
  expect(await failureOf(callTool(tool('a'), { 'X-Note': 'x\r\ny' }))).toMatchObject({ executed: 'no' });
  expect(target.connections()).toBe(0);
});

test('a redirect to another origin is not followed, and credentials do not go there', async () => {
  const other = await startHttpTarget(answering(200));
  const { tool } = await startApi(answering(302, { location: `${other.origin}/v1/files/x` }), {
    auth: { type: 'bearer', token: 'secret-token' },
  });
  expect(await failureOf(callTool(tool('read_file'), { name: 'x' }))).toMatchObject({ name: 'TerminalToolError' });
  expect(other.connections()).toBe(0);
});

test('a redirect out of the base path is not followed', async () => {
  const { tool, target } = await startApi(answering(307, { location: '/admin' }));
  await failureOf(callTool(tool('read_file'), { name: 'x' }));
  expect(target.requests).toHaveLength(1);
});

test('a redirect below the base is followed, and a write is repeated only where 307 says so', async () => {
  const { tool, target } = await startApi((response, { path }) => {
    if (path === '/v1/files/old') response.writeHead(307, { location: 'new' }).end();
    else if (path === '/v1/files/odd') response.writeHead(302, { location: 'new' }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end('"here"');
  });
  expect(await callTool(tool('read_file'), { name: 'old' })).toBe('here');
  expect(await callTool(tool('write_file'), { name: 'old' })).toBe('here');
  expect(await failureOf(callTool(tool('write_file'), { name: 'odd' }))).toMatchObject({ executed: 'maybe' });
  expect(target.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /v1/files/old',
    'GET /v1/files/new',
    'POST /v1/files/old',
    'POST /v1/files/new',
    'POST /v1/files/odd',
  ]);
});

test.each(['http://127.0.0.1:4000', 'http://[::1]:4000', 'http://169.254.169.254', 'http://localhost:4000'])(
  'a private server, %s, is refused at the start, which says how to allow it',
  async (url) => {
    const { source, offers } = await startImport(documentOf(PATHS, { servers: [{ url }] }), {
      privateAddresses: 'refuse',
    });
    expect(source.state()).toMatchObject({
      status: 'down',
      reason: expect.stringContaining("To allow it, set privateAddresses: allow for the import 'api'"),
    });
    expect(offers).toEqual([]);
  },
);

test('a name that becomes private after the start is refused by each call', async () => {
  const answers = [['93.184.216.34'], ['127.0.0.1']];
  const { tool } = await startImport(
    documentOf(PATHS, { servers: [{ url: 'http://api.example' }] }),
    { privateAddresses: 'refuse' },
    { lookup: async () => answers.shift() ?? ['127.0.0.1'] },
  );
  expect(await failureOf(callTool(tool('read_file'), { name: 'x' }))).toMatchObject({
    name: 'TerminalToolError',
    hint: "A human must correct the setting 'privateAddresses' of the OpenAPI import 'api'.",
  });
});

test('credentials do not go to another origin because a document from the network says so', async () => {
  const target = await startHttpTarget(
    answering(200, {}, JSON.stringify(documentOf(PATHS, { servers: [{ url: 'https://evil.example' }] }))),
  );
  const { source } = await startImport(null, {
    document: `${target.origin}/openapi.json`,
    auth: { type: 'bearer', token: 'secret-token' },
  });
  expect(source.state()).toMatchObject({
    status: 'down',
    reason: expect.stringContaining('set baseUrl to send credentials there'),
  });
});

test('an operation of another server and one that refers elsewhere are unavailable, the others serve', async () => {
  const { offer } = await startImport(
    documentOf(
      {
        '/a': { get: { operationId: 'a' } },
        '/b': { get: { operationId: 'b', servers: [{ url: 'https://evil.example' }] } },
        '/c': { get: { operationId: 'c', parameters: [{ $ref: 'https://evil.example/p.json' }] } },
        '/d': { get: { operationId: 'a' } },
        '/../e': { get: { operationId: 'e' } },
        '/f': { post: { operationId: 'f', requestBody: { required: true, content: { 'application/xml': {} } } } },
      },
      { servers: [{ url: 'http://127.0.0.1:9' }] },
    ),
  );
  expect(offer().tools.map(({ name }) => name)).toEqual(['a']);
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    'b: It is on another server (https://evil.example): add that to servers to allow it.',
    "c: It refers to 'https://evil.example/p.json', which is not below the directory of the document.",
    "a: GET /a already has the name 'a'.",
    'e: Its path /../e cannot be requested.',
    'f: It needs a body of application/xml, which is not supported.',
  ]);
});
