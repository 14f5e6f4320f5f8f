import { readFileSync } from 'node:fs';
import fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { keepLoaded } from '../routes/keep-loaded.ts';
import { readTokens, toPageHeaders } from '../routes/pages.ts';
import { refuseOtherMethods } from '../routes/problem-handler.ts';
import { WITHOUT_COMPILERS } from './http-server.ts';

/** GET /openapi.json, and the page at /docs. What they need is loaded with the first request. */
export const addDocs: FastifyPluginAsync = async (app) => {
  let text: string | undefined;
  const documentOf = (): string => (text ??= readDocument(app));
  const load = keepLoaded(() => createPages(documentOf(), app.hasRoute({ url: '/console', method: 'GET' })));
  app.get('/openapi.json', (_request, reply) => reply.type('application/json; charset=utf-8').send(documentOf()));
  refuseOtherMethods(app, '/openapi.json', ['GET', 'HEAD']);
  for (const url of ['/docs', '/docs/*'])
    app.get(url, async (request, reply) => sendPage(await load(), request, reply));
};

const readBeside = (name: string): string => readFileSync(new URL(name, import.meta.url), 'utf8');

/** The document that `npm run generate` has made, with those of its operations that are served here. */
const readDocument = (app: FastifyInstance): string => {
  const document: { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> } = JSON.parse(
    readBeside('openapi.json'),
  );
  const paths = Object.entries(document.paths).flatMap(([path, operations]) => {
    const url = path.replace(/\{(\w+)\}/g, ':$1');
    const served = Object.entries(operations).filter(([method]) => app.hasRoute({ url, method: method.toUpperCase() }));
    return served.length === 0 ? [] : [[path, Object.fromEntries(served)] as const];
  });
  return JSON.stringify({ ...document, paths: Object.fromEntries(paths) });
};

/** What answers below /docs, Swagger UI in the console's colours without Swagger's bar and names: an app of its own, which never listens. */
const createPages = async (document: string, hasConsole: boolean): Promise<FastifyInstance> => {
  const [swagger, swaggerUi] = await Promise.all([import('@fastify/swagger'), import('@fastify/swagger-ui')]);
  const app = fastify({ logger: false, schemaController: WITHOUT_COMPILERS });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload));
  await app.register(swagger.default, { mode: 'static', specification: { document: JSON.parse(document) } });
  await app.register(swaggerUi.default, {
    routePrefix: '/docs',
    theme: {
      ...{ title: 'Recourse API', favicon: [] },
      css: [{ filename: 'docs.css', content: readTokens() + readBeside('docs.css') }],
      js: ['docs-colours.js', ...(hasConsole ? ['docs-link.js'] : [])].map((filename) => ({
        filename,
        content: readBeside(filename),
      })),
    },
    uiConfig: { layout: 'BaseLayout' },
  });
  await app.ready();
  return app;
};

// As the console's, but without trusted types: Swagger UI writes markup itself.
const PAGE_HEADERS = toPageHeaders("'self'");
// Of a connection that is none.
const OF_CONNECTION = new Set(['connection', 'date', 'transfer-encoding']);

// Answered in the form that every refusal has here.
const createRefusal = (statusCode: number): Error =>
  Object.assign(new Error('The documentation does not have this page.'), { statusCode });

const sendPage = async (
  docs: FastifyInstance,
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  // `inject` resolves dots before it looks; a path with some in it names nothing here.
  if (new URL(url, 'http://docs').pathname !== url.split('?', 1)[0]) throw createRefusal(404);
  // For HEAD as well: its length is that of the page.
  const answer = await docs.inject({ method: 'GET', url, headers });
  if (answer.statusCode >= 400) throw createRefusal(answer.statusCode);
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && !OF_CONNECTION.has(name)) void reply.header(name, value);
  return reply.code(answer.statusCode).headers(PAGE_HEADERS).send(answer.rawPayload);
};
