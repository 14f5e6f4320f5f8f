import { readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { answering, startHttpTarget } from '@recourse/test-support/http-target.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { documentOf, startImport } from './import-lab.ts';
import { createTemporaryFolder } from './temporary-folder.ts';

const BASE = { baseUrl: 'http://127.0.0.1:9' };
type Json = Readonly<Record<string, unknown>>;

const inFolder = async (files: Readonly<Record<string, unknown>>) => {
  const folder = await createTemporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
};

// As DigitalOcean's document is split: paths hold operations that are references, which refer on to further files.
const SPLIT = {
  'openapi.yml': `openapi: 3.0.0
info: {title: t, version: '1'}
paths:
  /v2/droplets:
    post: {$ref: 'resources/droplets/create.yml'}
    delete: {$ref: 'resources/droplets/destroy_by_tag.yml'}
  /v2/droplets/{droplet_id}:
    $ref: resources/droplets/one.yml
`,
  'resources/droplets/create.yml': `operationId: create_droplet
requestBody: {required: true, content: {application/json: {schema: {$ref: 'models/droplet.yml'}}}}
responses:
  '202': {$ref: '../../shared/accepted.yml'}
  '401': {$ref: '../../shared/is-not-there.yml'}
`,
  'resources/droplets/destroy_by_tag.yml': `operationId: destroy_droplets_by_tag
parameters: [{$ref: 'parameters.yml#/DropletDeleteTagName'}]
`,
  'resources/droplets/parameters.yml': `DropletDeleteTagName: {name: tag_name, in: query, required: true, schema: {type: string}}
DropletId: {name: droplet_id, in: path, required: true, schema: {$ref: 'models/droplet.yml#/properties/id'}}
`,
  'resources/droplets/one.yml': `get:
  operationId: get_droplet
  parameters: [{$ref: 'parameters.yml#/DropletId'}]
`,
  'resources/droplets/models/droplet.yml': `type: object
required: [name]
properties:
  id: {type: integer, minimum: 1}
  name: {type: string}
  example: {$ref: '#/properties/name'}
  neighbours: {type: array, items: {$ref: droplet.yml}}
  region: {$ref: '../../../openapi.yml#/paths/x-region'}
`,
  'shared/accepted.yml': `content: {application/json: {schema: {type: object, properties: {droplet: {}}}}}
`,
};

test('a document split over files gives the tools that it gives as one', async () => {
  const folder = await inFolder({
    ...SPLIT,
    'openapi.yml': `${SPLIT['openapi.yml']}  x-region: {type: string, enum: [nyc3, ams3]}\n`,
  });
  const { offer, tool } = await startImport(null, { ...BASE, document: join(folder.path, 'openapi.yml') });
  expect(offer().unavailable).toEqual([]);
  expect(tool('destroy_droplets_by_tag').inputSchema).toEqual({
    type: 'object',
    properties: { tag_name: { type: 'string' } },
    required: ['tag_name'],
    additionalProperties: false,
  });
  expect(tool('get_droplet').inputSchema['required']).toEqual(['droplet_id']);
  const create = tool('create_droplet');
  expect(create.description).toBe('POST /v2/droplets.\nReturns JSON: an object with droplet.');
  expect(Object.keys(Object(create.inputSchema['properties']))).toEqual([
    'id',
    'name',
    'example',
    'neighbours',
    'region',
  ]);
  expect((await create.prepare({ name: 'a', region: 'nyc3', neighbours: [{ name: 'b' }] })).ok).toBe(true);
  expect((await create.prepare({ name: 'a', region: 'mars' })).ok).toBe(false);
  expect((await create.prepare({ name: 'a', neighbours: [{}] })).ok).toBe(false);
});

test('a path, an operation or a parameter that cannot be followed is unavailable by name, with the reason', async () => {
  const folder = await inFolder({
    'outside.yml': 'get: {operationId: outside}',
    'api/openapi.json': documentOf({
      '/gone': { $ref: 'gone.yml' },
      '/outside': { $ref: '../outside.yml' },
      '/link': { $ref: 'link.yml' },
      '/web': { $ref: 'https://elsewhere.example/p.yml#/get' },
      '/broken': { get: { $ref: 'broken.yml' } },
      '/pointer': { get: { $ref: 'fine.yml#/nowhere' } },
      '/anchor': { get: { operationId: 'anchor', parameters: [{ $ref: '#Limit' }] } },
      '/code': { get: { operationId: 'code', parameters: [{ $ref: '#/%FF' }] } },
      'no/slash': { get: { operationId: 'slash' } },
      '/fine': { $ref: 'fine.yml' },
      '/searched': { query: { operationId: 'search' }, get: { operationId: 'read' } },
    }),
    'api/broken.yml': 'get: [',
    'api/fine.yml': 'get: {operationId: fine}',
  });
  await symlink('../outside.yml', join(folder.path, 'api/link.yml'));
  const { offer, source } = await startImport(null, { ...BASE, document: join(folder.path, 'api/openapi.json') });
  expect(source.state()).toMatchObject({ status: 'up', tools: 2 });
  expect(offer().tools.map(({ name }) => name)).toEqual(['fine', 'read']);
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    "path_gone: It refers to 'gone.yml', which cannot be read: gone.yml does not exist.",
    "path_outside: It refers to '../outside.yml', which is not below the directory of the document.",
    "path_link: It refers to 'link.yml', which is not below the directory of the document.",
    "path_web: It refers to 'https://elsewhere.example/p.yml#/get', which is not below the directory of the document.",
    expect.stringMatching(/^get_broken: It refers to 'broken\.yml', which cannot be parsed: /),
    "get_pointer: It refers to '#/x-recourse-files/fine/nowhere', which the document does not contain.",
    "anchor: It refers to '#Limit', which is not a path within the document.",
    "code: It refers to '#/%FF', which the document does not contain.",
    'slash: Its path no/slash does not begin with a slash.',
    'search: QUERY requests are not sent.',
  ]);
});

test('a file that changes, or comes later, is followed, and one that models could write is not read', async () => {
  const folder = await inFolder({
    'openapi.json': documentOf({ '/a': { $ref: 'a.yml' }, '/b': { $ref: 'b.yml' }, '/c': { $ref: 'workspace/c.yml' } }),
    'a.yml': 'get: {operationId: a}',
    'workspace/c.yml': 'get: {operationId: c}',
  });
  const { offer } = await startImport(
    null,
    { ...BASE, document: join(folder.path, 'openapi.json') },
    { refreshMs: 20, mayRead: async (path) => !path.includes('/workspace/') },
  );
  const names = () => offer().tools.map(({ name }) => name);
  expect(names()).toEqual(['a']);
  expect(offer().unavailable.map(({ reason }) => reason)).toEqual([
    "It refers to 'b.yml', which cannot be read: b.yml does not exist.",
    "It refers to 'workspace/c.yml', which is in the workspace, where tools could change it.",
  ]);
  await folder.write('b.yml', 'get: {operationId: b}');
  await expect.poll(names, { timeout: timeLimit(15_000) }).toEqual(['a', 'b']);
  await folder.write('a.yml', 'get: {operationId: a2}');
  await expect.poll(names, { timeout: timeLimit(15_000) }).toEqual(['a2', 'b']);
});

test('a document from a URL may refer to what its own origin serves, and to nothing else', async () => {
  const other = await startHttpTarget(answering(200, {}, '{"get":{"operationId":"other"}}'));
  const files: Record<string, Json> = {
    '/api/openapi.json': documentOf({
      '/a': { $ref: '../shared/a.json#/one' },
      '/b': { $ref: `${other.origin}/b.json` },
      '/c': { $ref: '/moved.json' },
    }),
    '/shared/a.json': { one: { get: { operationId: 'a' } } },
  };
  const target = await startHttpTarget((response, { path }) => {
    if (path === '/moved.json') response.writeHead(302, { location: `${other.origin}/c.json` }).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(files[path]));
  });
  const { offer } = await startImport(null, { ...BASE, document: `${target.origin}/api/openapi.json` });
  expect(offer().tools.map(({ name }) => name)).toEqual(['a']);
  expect(offer().unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`)).toEqual([
    `path_b: It refers to '${other.origin}/b.json', which is not on the origin of the document.`,
    "path_c: It refers to '/moved.json', which redirects to another origin.",
  ]);
});

test('a published document gives the same tools whole and split into one file a path and one a schema', async () => {
  const whole: Json = JSON.parse(readFileSync('node_modules/@readme/oas-examples/3.1/json/train-travel.json', 'utf8'));
  const { paths, components, ...rest } = Object(whole);
  // References of the document lead to files from now on.
  const elsewhere = (value: unknown, to: string): unknown =>
    JSON.parse(
      JSON.stringify(value)
        .replace(/"#\/components\/schemas\/([^"/]+)"/g, `"${to}schemas/$1.yaml"`)
        .replace(/"#\/components\/([^"]+)"/g, `"${to}openapi.json#/components/$1"`),
    );
  const entries = Object.entries(paths);
  const folder = await inFolder({
    'openapi.json': {
      ...rest,
      paths: Object.fromEntries(entries.map(([path], place) => [path, { $ref: `paths/p${place}.yaml` }])),
      components: elsewhere({ ...components, schemas: {} }, ''),
    },
    ...Object.fromEntries(
      entries.map(([, item], place) => [`paths/p${place}.yaml`, stringify(elsewhere(item, '../'))]),
    ),
    ...Object.fromEntries(
      Object.entries(components.schemas).map(([name, schema]) => [
        `schemas/${name}.yaml`,
        stringify(elsewhere(schema, '../')),
      ]),
    ),
  });
  const split = await startImport(null, { ...BASE, document: join(folder.path, 'openapi.json') });
  const one = await startImport(whole, BASE);
  const toShown = ({ offer }: typeof one) =>
    offer().tools.map((tool) => [tool.name, tool.description, tool.effects, tool.inputSchema]);
  expect(split.offer().unavailable).toEqual([]);
  expect(one.offer().tools.length).toBeGreaterThan(6);
  expect(toShown(split)).toEqual(toShown(one));
});
