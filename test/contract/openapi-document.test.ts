import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { loadConfig } from '#src/config/settings/config.ts';
import { wire } from '#src/wiring/wire.ts';

const KEY = 'key-of-the-document';

let service: RunningService;

beforeAll(async () => {
  service = await startService({ API_KEYS: `acme=${createHash('sha256').update(KEY).digest('hex')}` });
});

afterAll(() => service.stop());

const Documented = z.object({
  info: z.object({ title: z.string(), license: z.unknown(), contact: z.unknown().optional() }),
  servers: z.array(z.object({ url: z.string() })),
  tags: z.array(z.object({ name: z.string(), description: z.string().min(20) })),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        description: z.string().min(20),
        tags: z.array(z.string()).length(1),
        security: z.array(z.record(z.string(), z.array(z.never()))),
        parameters: z
          .array(
            z
              .object({
                name: z.string(),
                description: z.string().min(5),
                example: z.unknown().optional(),
                schema: z.unknown(),
              })
              .refine(({ example, schema }) => example !== undefined || JSON.stringify(schema).includes('"examples":')),
          )
          .optional(),
        responses: z.record(z.string(), z.object({ description: z.string().min(5), headers: z.unknown() })),
      }),
    ),
  ),
  components: z.object({ securitySchemes: z.unknown() }),
});

const readDocument = async () => Documented.parse(await (await fetch(`${service.url}/openapi.json`)).json());

const toFilled = (path: string): string => path.replaceAll(/[:{](?:request_id|id|tool|name|file)\b\}?/g, 'some');

const toOperations = ({ paths }: z.infer<typeof Documented>) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );

test('the document is the same with keys and without, at both its addresses, and in the repository', async () => {
  const [served, ofPage] = await Promise.all(
    ['/openapi.json', '/docs/json'].map(async (path) => (await fetch(`${service.url}${path}`)).json()),
  );
  expect(served).toEqual(JSON.parse(readFileSync(join(ROOT, 'openapi/openapi.json'), 'utf8')));
  expect(ofPage).toEqual(served);
});

test('the document says what it describes, under which licence, where it is, and how a key is shown', async () => {
  const document = await readDocument();
  const { info, servers, tags, components } = document;
  expect(info).toEqual({ title: 'Recourse', license: { name: 'MIT', identifier: 'MIT' } });
  expect(servers.map(({ url }) => url)).toEqual(['/']);
  expect(tags.map(({ name }) => name)).toEqual(['tool calls', 'tools', 'sessions', 'operations']);
  expect(components.securitySchemes).toMatchObject({
    bearer: { type: 'http', scheme: 'bearer' },
    apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  });
  const ids = toOperations(document).map(({ operationId }) => operationId);
  expect(ids.length).toBeGreaterThan(10);
  expect(new Set(ids).size).toBe(ids.length);
});

test('an operation has the security schemes where the service refuses it without a key, and none elsewhere', async () => {
  const open: string[] = [];
  for (const { path, method, operationId, security } of toOperations(await readDocument())) {
    const ask = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      (await fetch(`${service.url}${toFilled(path)}`, { method, headers })).status;
    const refused = (await ask({})) === 401;
    expect(security, operationId).toEqual(refused ? [{ bearer: [] }, { apiKey: [] }] : []);
    if (!refused) open.push(operationId);
    expect(await ask({ authorization: `Bearer ${KEY}` }), operationId).not.toBe(401);
    expect(await ask({ 'x-api-key': KEY }), operationId).not.toBe(401);
  }
  expect(open.sort()).toEqual(['live', 'metrics', 'ready']);
});

test('/docs has the headers of the console, but for trusted types, which Swagger UI does not know', async () => {
  const [docs, console] = await Promise.all(
    ['/docs', '/console'].map(async (path) => {
      const { headers } = await fetch(`${service.url}${path}`);
      const own = ['content-encoding', 'content-length', 'date', 'etag', 'vary', 'x-request-id'];
      return Object.fromEntries([...headers].filter(([name]) => !own.includes(name)));
    }),
  );
  expect(docs?.['content-security-policy']).toContain("script-src 'self'; style-src 'self';");
  const policy = `${docs?.['content-security-policy']}; require-trusted-types-for 'script'; trusted-types lit-html`;
  expect({ ...docs, 'content-security-policy': policy }).toEqual(console);
});

// Why a route is no part of the document.
const REASONS = {
  'GET /': 'sends a browser to the console, and lists the paths that are here',
  'POST /mcp': 'the Model Context Protocol describes it',
  'DELETE /mcp': 'the Model Context Protocol describes it',
  'GET /console': 'a page',
  'GET /console/': 'a page',
  'GET /console/:file': 'a file of a page',
  'GET /console/approvals/:id': 'a page',
  'GET /openapi.json': 'the document itself',
  'GET /docs': 'a page',
  'GET /docs/*': 'a file of a page',
} as const;

/** `GET /tools` and so on, from the tree that Fastify prints; HEAD comes with each GET. */
const toRoutes = (tree: string): readonly string[] => {
  const parents: string[] = [];
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', part = '', methods = ''] = /^((?:[│ ] {3})*)[├└]── (\S+) \((.*)\)$/.exec(line) ?? [];
    const depth = indent.length / 4;
    const path = `${parents[depth - 1] ?? ''}${part}`;
    parents[depth] = path;
    return methods
      .split(', ')
      .filter((method) => !['', 'HEAD'].includes(method))
      .map((method) => `${method} ${path.replace(/(?<!\/)\*$/, '/*')}`);
  });
};

test('every route is in the document, answers 405, or is left out for a reason', async () => {
  const loaded = loadConfig({});
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const { app, close } = await wire(loaded.config, pino({ level: 'silent' }));
  await app.ready();
  const documented = toOperations(await readDocument()).map(
    ({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  );
  const routes = toRoutes(app.printRoutes({ commonPrefix: false }));
  expect(documented.filter((route) => !routes.includes(route))).toEqual([]);
  const others = routes.filter((route) => !documented.includes(route));
  expect(others.length).toBeGreaterThan(80);
  const Method = z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);
  const answered: string[] = [];
  for (const route of others) {
    const [method, path = ''] = route.split(' ');
    const { statusCode } = await app.inject({ method: Method.parse(method), url: toFilled(path) });
    if (statusCode !== 405) answered.push(route);
  }
  expect(answered.sort()).toEqual(Object.keys(REASONS).sort());
  await app.close();
  await close();
});
