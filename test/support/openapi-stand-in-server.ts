import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type StandInAnswer, toStandInAnswer } from './openapi-stand-in-answers.ts';
import { type CameIn, faultsOf, faultsOfParameters, findRoutes, toRoutes } from './openapi-stand-in-requests.ts';
import { createStandInDocument, type Json } from './openapi-stand-in-schemas.ts';

/** One request and what the document says of it. */
export type Judged = {
  /** `GET /repos/{owner}/{repo}`, null where the document has no such operation. */
  readonly operation: string | null;
  readonly faults: readonly string[];
  readonly request: CameIn;
  readonly answer: StandInAnswer;
};

export type OpenStandIn = {
  readonly close: () => Promise<void>;
  readonly origin: string;
  /** The base path of the document's first server included. */
  readonly baseUrl: string;
  readonly judged: readonly Judged[];
};

/**
 * A server on loopback made from a document: it checks what comes against the document and answers its examples.
 * `isExpected`: which parameters callers can be expected to send.
 */
export const openStandIn = async (
  source: Json,
  basePath = '',
  isExpected: (place: string, name: string) => boolean = () => true,
): Promise<OpenStandIn> => {
  const document = createStandInDocument(source);
  const routes = toRoutes(document).map((route) => ({
    ...route,
    parameters: route.parameters.filter((one) => isExpected(String(one['in']), String(one['name']))),
  }));
  const judged: Judged[] = [];
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await toCameIn(incoming, basePath);
    // Of operations at one place the one counts whose parameters fit best, and of those the one whose body does.
    const [best] = findRoutes(routes, request)
      .map((one) => ({
        route: one,
        faults: faultsOf(document, one, request),
        misplaced: faultsOfParameters(document, one, request).length,
      }))
      .toSorted((a, b) => a.misplaced - b.misplaced || a.faults.length - b.faults.length);
    const { route, faults } = best ?? { route: undefined, faults: ['there is no such operation'] };
    const answer = route === undefined ? NOWHERE : toStandInAnswer(document, route.operation);
    const operation = route === undefined ? null : `${route.method} ${route.template}`;
    judged.push({ operation, faults, request, answer });
    if (faults.length > 0)
      response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ errors: faults }));
    else response.writeHead(answer.status, answer.headers).end(answer.body);
  };
  const server = createServer((incoming, response) => {
    // A document that the stand-in cannot judge by must be seen at once, not as a time limit.
    respond(incoming, response).catch((thrown: unknown) => response.writeHead(418).end(String(thrown)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The stand-in has no port.');
  const origin = `http://127.0.0.1:${address.port}`;
  return { origin, baseUrl: `${origin}${basePath}`, judged, close };
};

const NOWHERE: StandInAnswer = { status: 404, headers: {}, body: '' };

const toCameIn = async (incoming: IncomingMessage, basePath: string): Promise<CameIn> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const [path = '', query = ''] = (incoming.url ?? '').split('?', 2);
  return {
    method: incoming.method ?? '',
    path: path.startsWith(basePath) ? path.slice(basePath.length) : `outside of the base: ${path}`,
    query: new URLSearchParams(query),
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString(),
  };
};
