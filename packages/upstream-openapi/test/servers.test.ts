import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';

const reasonsOf = ({ offer }: Awaited<ReturnType<typeof startImport>>) =>
  offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`);

test('an operation of another server is asked there where the settings name it, with the credentials, else it is unavailable', async () => {
  const uploads = await startHttpTarget(answering(204));
  const elsewhere = await startHttpTarget(answering(204));
  const document = documentOf(
    {
      '/files': {
        servers: [{ url: 'https://not-allowed.example' }, { url: `${uploads.origin}/v1/up/` }],
        post: { operationId: 'upload' },
        get: { operationId: 'list', servers: [{ url: 'https://api.example/v1' }] },
        delete: { operationId: 'remove', servers: [{ url: `${elsewhere.origin}/` }] },
        put: { operationId: 'replace', servers: [{ url: '/v1/nested' }] },
      },
    },
    { servers: [{ url: 'https://api.example/v1' }] },
  );
  const api = await startHttpTarget(answering(204));
  const settings = { baseUrl: `${api.origin}/v1`, auth: { type: 'bearer', token: 'secret-token' } };
  const allowed = await startImport(document, { ...settings, servers: [`${uploads.origin}/v1`] });
  expect(reasonsOf(allowed)).toEqual([
    `remove: It is on another server (${elsewhere.origin}): add that to servers to allow it.`,
  ]);
  for (const name of ['upload', 'list', 'replace']) await callTool(allowed.tool(name));
  expect(uploads.requests.map(({ path, headers }) => [path, headers['authorization']])).toEqual([
    ['/v1/up/files', 'Bearer secret-token'],
  ]);
  expect(api.requests.map(({ path }) => path)).toEqual(['/v1/files', '/v1/nested/files']);
  expect(elsewhere.connections()).toBe(0);
  expect(reasonsOf(await startImport(document, settings))).toHaveLength(2);
});

test('a redirect from a server of its own stays there', async () => {
  const api = await startHttpTarget(answering(204));
  const uploads = await startHttpTarget(answering(307, { location: `${api.origin}/files` }));
  const { tool } = await startImport(
    documentOf({
      '/files': { get: { operationId: 'list', servers: [{ url: uploads.origin }] }, put: { operationId: 'put' } },
    }),
    { baseUrl: api.origin, servers: [uploads.origin] },
  );
  await expect(callTool(tool('list'))).rejects.toThrow('which is not followed');
  expect(api.connections()).toBe(0);
});

test('a private address among the servers is refused as that of the API is', async () => {
  const { source } = await startImport(documentOf({}, { servers: [{ url: 'http://93.184.216.34' }] }), {
    privateAddresses: 'refuse',
    servers: ['http://10.0.0.1/up'],
  });
  expect(source.state()).toMatchObject({ status: 'down', reason: expect.stringContaining('http://10.0.0.1') });
});

test('where the document names no server and each operation does, the first of theirs is that of the document', async () => {
  const api = await startHttpTarget(answering(204));
  const at = (operationId: string, url: string) => ({ get: { operationId, servers: [{ url }] } });
  const { tool, offer } = await startImport(
    documentOf({
      '/a': at('a', 'https://k8s.local'),
      '/b': at('b', 'https://k8s.local'),
      '/c': at('c', 'https://c.example'),
    }),
    { baseUrl: api.origin },
  );
  await callTool(tool('b'));
  expect(offer().tools.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(api.requests.map(({ path }) => path)).toEqual(['/b']);
});

test('a document at either scheme is that of operations which name one, as in the bundled document of Kubernetes', async () => {
  const { offer } = await startImport(
    documentOf(
      { '/a': { get: { operationId: 'a', servers: [{ url: 'https://kubernetes.local' }] } } },
      { servers: [{ url: '//kubernetes.local' }] },
    ),
    { baseUrl: 'http://127.0.0.1:9' },
  );
  expect(offer().tools.map(({ name }) => name)).toEqual(['a']);
});
