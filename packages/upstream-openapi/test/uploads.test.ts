import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failureOf, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { createWorkspaceReader } from '@recourse/upstreams/workspace-reader';
import { expect, test } from 'vitest';
import { callTool, documentOf, startImport } from './import-lab.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNiAAAABgADNjd8qAAAAABJRU5ErkJggg==',
  'base64',
);

/** A field as its name and value; a file as its name, file name, type and content. */
const toShown = async ([name, value]: readonly [string, string | File]): Promise<readonly string[]> =>
  typeof value === 'string'
    ? [name, value]
    : [name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString('base64')];

const start = async (settings: Readonly<Record<string, unknown>> = {}) => {
  const forms: unknown[] = [];
  const bodies: Buffer[] = [];
  const target = await startHttpTarget((response) => {
    const chunks: Uint8Array[] = [];
    response.req
      .on('data', (chunk: Uint8Array) => chunks.push(chunk))
      .on('end', async () => {
        const body = Buffer.concat(chunks);
        const type = response.req.headers['content-type'] ?? '';
        bodies.push(body);
        // As any server that knows multipart reads it.
        if (type.startsWith('multipart/')) {
          const form = await new Response(body, { headers: { 'content-type': type } }).formData();
          forms.push(await Promise.all([...form].map(toShown)));
        }
        response.writeHead(204).end();
      });
  });
  const binary = { type: 'string', format: 'binary' };
  const multipart = (properties: unknown, required: readonly string[] = []) => ({
    required: true,
    content: {
      'application/x-www-form-urlencoded': { schema: { type: 'object', properties, required } },
      'multipart/form-data': { schema: { type: 'object', properties, required } },
    },
  });
  const document = documentOf(
    {
      '/pictures': {
        post: {
          operationId: 'add',
          requestBody: multipart(
            {
              title: { type: 'string' },
              picture: { ...binary, description: 'The <b>picture</b>.' },
              more: { type: 'array', items: binary },
            },
            ['picture'],
          ),
        },
        put: {
          operationId: 'replace',
          parameters: [{ name: 'picture', in: 'query', schema: { type: 'string' } }],
          requestBody: multipart({ picture: binary }),
        },
        patch: {
          operationId: 'either',
          requestBody: {
            required: true,
            content: {
              'multipart/form-data': { schema: { oneOf: [{ type: 'object', properties: { picture: binary } }] } },
            },
          },
        },
      },
      '/raw': {
        post: {
          operationId: 'raw',
          requestBody: { required: true, content: { 'application/octet-stream': { schema: binary } } },
        },
      },
    },
    { openapi: '3.0.3' },
  );
  const folder = await createTemporaryFolder();
  await mkdir(join(folder.path, 'images'));
  await writeFile(join(folder.path, 'images/a "b".png'), PNG);
  const lab = await startImport(
    document,
    { baseUrl: target.origin, ...settings },
    { readWorkspaceFile: createWorkspaceReader(folder.path) },
  );
  return { ...lab, forms, bodies, target };
};

test('a file of a form is given as text, in base64, or as a file of the workspace, and arrives as it is', async () => {
  const { tool, forms, offer } = await start({ uploads: 'workspace' });
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    'either: Its body has a file among alternatives, which is not supported.',
  ]);
  const picture = Object(tool('add').inputSchema['properties']).picture;
  expect(picture.description).toBe('The picture. A file: give one of text, base64 or path.');
  await callTool(tool('add'), {
    title: 'é',
    picture: { base64: PNG.toString('base64'), file_name: 'p.png', content_type: 'image/png' },
    more: [{ text: 'plain é' }, { path: 'images/a "b".png' }],
  });
  await callTool(tool('replace'), { picture: 'x', body: { picture: { text: 'y' } } });
  const png = PNG.toString('base64');
  expect(forms).toEqual([
    [
      ['title', 'é'],
      ['picture', 'p.png', 'image/png', png],
      ['more', 'file', 'application/octet-stream', Buffer.from('plain é').toString('base64')],
      ['more', 'a "b".png', 'application/octet-stream', png],
    ],
    [['picture', 'file', 'application/octet-stream', 'eQ==']],
  ]);
});

test('a body that is a file is sent as it is, with the media type that is given', async () => {
  const { tool, bodies, target } = await start();
  await callTool(tool('raw'), { body: { base64: PNG.toString('base64'), content_type: 'image/png' } });
  await callTool(tool('raw'), { body: { text: 'é' } });
  expect(bodies).toEqual([PNG, Buffer.from('é')]);
  expect(target.requests.map(({ headers }) => headers['content-type'])).toEqual([
    'image/png',
    'application/octet-stream',
  ]);
});

test.each([
  [{}, 'exactly one of text, base64'],
  [{ text: 'a', base64: 'YQ==' }, 'exactly one of text, base64'],
  [{ base64: '???' }, 'base64 contains invalid characters.'],
  [{ text: 'a', content_type: 'a/b\r\nX-Evil: 1' }, 'content_type is not a media type'],
  [{ text: 'a'.repeat(101) }, 'larger than 100 bytes'],
  [{ path: 'images/a "b".png' }, 'larger than 100 bytes'],
  [{ path: '../secret' }, 'leads out of the workspace'],
  [{ path: 'nothing.png' }, "There is no file 'nothing.png' in the workspace"],
])('the file %j is refused before anything is sent', async (body, says) => {
  const { tool, target } = await start({ uploads: 'workspace', maxUploadBytes: 'path' in body ? 60 : 100 });
  expect(await failureOf(callTool(tool('raw'), { body }))).toMatchObject({
    name: 'RetryableToolError',
    message: expect.stringContaining(says.replace('100', 'path' in body ? '60' : '100')),
  });
  expect(target.connections()).toBe(0);
});

test('no file of the workspace is sent unless the import says so', async () => {
  const { tool } = await start();
  expect(await tool('raw').prepare({ body: { path: 'images/a "b".png' } })).toMatchObject({ ok: false });
});
