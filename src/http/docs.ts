import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { keepLoaded } from '../mcp/keep-loaded.ts';
import { toPageHeaders } from '../routes/page-headers.ts';
import { refuseOtherMethods } from '../routes/problem-handler.ts';
import type { DocumentedRoute, DocumentOptions } from './document-app.ts';

/** The routes that say which operation they are, as they are added from now on. */
export const collectOperations = (app: FastifyInstance): readonly DocumentedRoute[] => {
  const routes: DocumentedRoute[] = [];
  app.addHook('onRoute', ({ method, url, config: { operation } = {} }) => {
    // HEAD comes with each GET, and means the same.
    if (operation !== undefined && method !== 'HEAD') routes.push({ method, url, operation });
  });
  return routes;
};

/** GET /openapi.json, and the page at /docs. What makes them is loaded with the first request: it is 130 ms of a start. */
export const addDocs: FastifyPluginAsync<DocumentOptions> = async (app, options) => {
  const load = keepLoaded(async () => (await import('./document-app.ts')).createDocumentApp(options));
  app.get('/openapi.json', async () => (await load()).swagger());
  refuseOtherMethods(app, '/openapi.json', ['GET', 'HEAD']);
  for (const url of ['/docs', '/docs/*'])
    app.get(url, async (request, reply) => sendPage(await load(), request, reply));
};

// As the console's, but without trusted types: Swagger UI writes markup itself.
const PAGE_HEADERS = toPageHeaders("'self'");
// Of a connection that is none.
const OF_CONNECTION = new Set(['connection', 'date', 'transfer-encoding']);

// Answered in the form that every refusal has here.
const toRefusal = (statusCode: number): Error =>
  Object.assign(new Error('The documentation has no such page.'), { statusCode });

const sendPage = async (
  docs: FastifyInstance,
  { url, headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> => {
  // `inject` resolves dots before it looks; a path with some in it names nothing here.
  if (new URL(url, 'http://docs').pathname !== url.split('?', 1)[0]) throw toRefusal(404);
  // For HEAD as well: its length is that of the page.
  const answer = await docs.inject({ method: 'GET', url, headers });
  if (answer.statusCode >= 400) throw toRefusal(answer.statusCode);
  for (const [name, value] of Object.entries(answer.headers))
    if (value !== undefined && !OF_CONNECTION.has(name)) void reply.header(name, value);
  return reply.code(answer.statusCode).headers(PAGE_HEADERS).send(answer.rawPayload);
};
