import { answering, findClosedPort, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { documentOf, startImport } from './import-lab.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };
const QUICK = { refreshMs: 20, firstRetryMs: 20 };
const PATIENT = { timeout: timeLimit(15_000) };
const withOperations = (...names: readonly string[]) =>
  documentOf(Object.fromEntries(names.map((name) => [`/${name}`, { get: { operationId: name } }])));

test.each([
  ['{ "swagger": "1.2" }', 'The document is Swagger 1.2; of Swagger only 2.0 is supported.'],
  [
    '{ "swagger": "2.0", "paths": { "/a": { "get": { "responses": { "200": null } } } } }',
    expect.stringContaining('parsed'),
  ],
  ['{ "openapi": "4.0.0" }', 'The document is OpenAPI 4.0.0; 3.0, 3.1 and 3.2 are supported.'],
  ['[1]', 'The document is not an object.'],
  ['{ "a": 1 }', 'The document has no member openapi: it is not an OpenAPI document.'],
  ['{ "openapi": ', expect.stringContaining('The document cannot be parsed')],
  ['openapi: 3.1.0\npaths: {/a: {get: {operationId: a', expect.stringContaining('The document cannot be parsed')],
  [null, expect.stringMatching(/^The document cannot be read: \/.+\/openapi\.json does not exist\.$/)],
])('a document that cannot be used leaves the import down with the reason: %j', async (text, reason) => {
  const { source, offers, lines } = await startImport(text, BASE);
  expect(source.state()).toEqual({ name: 'openapi:api', status: 'down', reason, tools: 0, reconnects: 0 });
  expect(offers).toEqual([]);
  expect(lines.map(({ level, message }) => [level, message])).toEqual([['warn', 'openapi document cannot be used']]);
});

test('a document that cannot be had from its URL names the place and what it answered, and no query', async () => {
  const { origin } = await startHttpTarget(answering(404));
  const gone = await startImport(null, { document: `${origin}/d.json?key=not-shown` });
  expect(gone.source.state().reason).toBe(`The document cannot be read from ${origin}/d.json: HTTP 404.`);
  const closed = `http://127.0.0.1:${await findClosedPort()}`;
  const away = await startImport(null, { document: `${closed}/d.json` });
  expect(away.source.state().reason).toBe(
    `The document cannot be read from ${closed}/d.json: No connection to the API (ECONNREFUSED).`,
  );
  const refused = await startImport(null, { document: `${origin}/d.json`, privateAddresses: 'refuse' });
  expect(refused.source.state().reason).toContain("the setting 'privateAddresses' of the OpenAPI import 'api'");
});

test('a document that is a folder, or may not be followed, says so with its path', async () => {
  const { source, folder } = await startImport(null, { document: '.' });
  expect(source.state().reason).toBe(`The document cannot be read: ${folder.path} is not a file.`);
});

test('a document without an absolute server needs the setting', async () => {
  const { source } = await startImport(withOperations('a'));
  expect(source.state().reason).toBe('The document names no absolute server: set baseUrl.');
});

test('a file that appears later, changes, breaks and is mended is followed', async () => {
  const { source, folder, offer } = await startImport(null, BASE, QUICK);
  await folder.write('openapi.json', JSON.stringify(withOperations('a')));
  await expect.poll(() => offer().tools.map(({ name }) => name), PATIENT).toEqual(['a']);
  await folder.write('openapi.json', JSON.stringify(withOperations('a', 'b')));
  await expect.poll(() => offer().tools.map(({ name }) => name), PATIENT).toEqual(['a', 'b']);
  await folder.write('openapi.json', 'openapi: [');
  await expect.poll(() => [...offer().outdated.keys()], PATIENT).toEqual(['a', 'b']);
  expect(source.state()).toMatchObject({ status: 'up', tools: 2 });
  await folder.write('openapi.json', JSON.stringify(withOperations('a', 'b')));
  await expect.poll(() => offer().outdated.size, PATIENT).toBe(0);
  await folder.write('openapi.json', JSON.stringify(withOperations('c')));
  await expect.poll(() => offer().tools.map(({ name }) => name), PATIENT).toEqual(['c']);
  expect(source.state()).toMatchObject({ status: 'up', reason: null, tools: 1, reconnects: 2 });
});

test('a new version that names another server changes nothing', async () => {
  const at = (url: string) => JSON.stringify({ ...withOperations('a'), servers: [{ url }] });
  const { source, folder, offer } = await startImport(at('http://127.0.0.1:9/v1'), {}, QUICK);
  await folder.write('openapi.json', at('http://127.0.0.1:10/v1'));
  await expect
    .poll(() => offer().outdated.get('a'), PATIENT)
    .toBe('The document now names the server http://127.0.0.1:10/v1, but the import uses http://127.0.0.1:9/v1.');
  expect(source.state().tools).toBe(1);
});

test('a document from a URL is asked for again with its ETag, and its server may be relative', async () => {
  const target = await startHttpTarget((response, { headers }) => {
    if (headers['if-none-match'] === '"1"') response.writeHead(304).end();
    else
      response
        .writeHead(200, { etag: '"1"' })
        .end(JSON.stringify({ ...withOperations('a'), servers: [{ url: '/v1' }] }));
  });
  const { source, offers, lines } = await startImport(null, { document: `${target.origin}/d.json` }, QUICK);
  await expect.poll(() => target.requests.length, PATIENT).toBeGreaterThan(2);
  expect(target.requests.slice(0, 2).map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"1"']);
  expect(offers).toHaveLength(1);
  expect(lines[0]?.fields).toMatchObject({ server: `${target.origin}/v1` });
  await source.stop();
  const asked = target.requests.length;
  await expect.poll(target.open, PATIENT).toBe(0);
  expect(target.requests).toHaveLength(asked);
});

const tagged = (method: string, operationId: string, ...tags: readonly string[]) => ({
  [method]: { operationId, tags },
});
const PATHS = {
  '/a': { ...tagged('get', 'repos/get', 'repos'), ...tagged('delete', 'repos/delete', 'repos') },
  '/b/{id}': { post: { tags: ['gists'], parameters: [{ name: 'id', in: 'path', schema: {} }] } },
};

test.each([
  [{}, ['repos_get', 'repos_delete', 'post_b_id']],
  [{ include: ['repos/*'] }, ['repos_get', 'repos_delete']],
  [{ include: { tags: ['repos'], methods: ['get'] } }, ['repos_get']],
  [{ exclude: { tags: ['gists'], methods: ['delete'] } }, ['repos_get']],
  [{ include: ['repos/*'], exclude: ['*delete'] }, ['repos_get']],
  [{ prefix: 'gh', include: ['post_*'] }, ['gh_post_b_id']],
])('%j gives these tools', async (settings, names) => {
  const { offer } = await startImport(documentOf(PATHS), { ...BASE, ...settings });
  expect(offer().tools.map(({ name }) => name)).toEqual(names);
});

test('the method says what a repeat may do, unless the settings do; all share one upstream', async () => {
  const { tool } = await startImport(documentOf(PATHS), { ...BASE, effects: { 'post_*': 'read' }, concurrency: 3 });
  expect(['repos_get', 'repos_delete', 'post_b_id'].map((name) => tool(name).effects)).toEqual([
    'read',
    'idempotent',
    'read',
  ]);
  expect(tool('repos_get').upstream).toEqual({ name: 'openapi:api', concurrency: 3 });
});

test('a name that is too long is cut with a hash, the same each time', async () => {
  const { offer } = await startImport(withOperations('a'.repeat(80), `${'a'.repeat(80)}b`), BASE);
  expect(offer().tools.map(({ name }) => name)).toEqual([
    expect.stringMatching(/^a{55}_[\da-f]{8}$/),
    expect.stringMatching(/^a{55}_[\da-f]{8}$/),
  ]);
  expect(new Set(offer().tools.map(({ name }) => name)).size).toBe(2);
});
