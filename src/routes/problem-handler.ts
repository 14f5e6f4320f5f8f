import type { Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findOwedAnswer, stopReading } from './connections.ts';
import { describeNearPaths } from './misspellings.ts';
import { refuseNext } from './pipelining.ts';
import { createHttpProblem, ProblemError, toHttpFailure } from './problems.ts';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** Answers every error of the HTTP layer as problem+json. `onBug` hears of those that are ours. */
export const addProblemHandler = (app: FastifyInstance, onBug: (error: unknown, requestId: string) => void): void => {
  app.setErrorHandler((error: FastifyError | null, request, reply) => {
    const isBug = sendProblem(error, request, reply);
    // After the answer: what fails while a bug is told of must not take its place.
    if (isBug) onBug(error, request.id);
    return reply;
  });
  app.setNotFoundHandler((request) => {
    const index = app.hasRoute({ url: '/openapi.json', method: 'GET' }) ? ' GET /openapi.json lists all paths.' : '';
    const near = describeNearPaths(app, request.url);
    throw new ProblemError(404, 'not_found', `There is no resource at this path.${near}${index}`);
  });
};

/** Whether the error is a bug of ours. */
const sendProblem = (error: unknown, request: FastifyRequest, reply: FastifyReply): boolean => {
  const { problem, headers, isBug } = toHttpFailure(error, request.id);
  void reply.code(problem.status).headers(headers).type(PROBLEM_TYPE).send(JSON.stringify(problem));
  return isBug;
};

/** Answers what the framework refuses before there is a route. */
export const sendHttpProblem = (request: FastifyRequest, reply: FastifyReply, status: number): void =>
  void sendProblem(createHttpProblem(status), request, reply);

const PARSER_STATUS: ReadonlyMap<string, number> = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  // Of a request that `refuseNext` has the parser refuse.
  ['HPE_CB_HEADERS_COMPLETE', 429],
]);

/** Answers what Node's HTTP parser refuses, in the same form; the error handler never sees these. */
export const createClientErrorHandler =
  (createId: () => string) =>
  (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const problem = createHttpProblem(PARSER_STATUS.get(error.code ?? '') ?? 400);
    // Each further piece would be refused, too, for as long as answers are owed.
    stopReading(socket);
    afterOwedAnswers(socket, () => endWithProblem(socket, problem, createId()));
  };

// What is refused came after them, and must not be answered in their place.
const afterOwedAnswers = (socket: Duplex, act: () => void): void => {
  const owed = findOwedAnswer(socket);
  if (owed !== null) owed.once('finish', () => afterOwedAnswers(socket, act));
  else if (socket.writable) act();
};

/** Answers what Node's HTTP server refuses by itself, without a body of ours: CONNECT, and an Expect it does not know. */
export const addServerProblems = (server: Server, createId: () => string): void => {
  server.on('connect', (_request, socket: Duplex) =>
    afterOwedAnswers(socket, () => endWithProblem(socket, NO_PROXY, createId())),
  );
  server.on('checkExpectation', (request, response) => {
    // It is the last that is answered here.
    refuseNext(request.socket);
    const id = createId();
    // By Node's own response, which waits for those of earlier requests; the body that may follow is nobody's.
    const body = JSON.stringify(toHttpFailure(createHttpProblem(417), id).problem);
    const length = Buffer.byteLength(body);
    const headers = { 'content-type': PROBLEM_TYPE, 'content-length': length, 'x-request-id': id, connection: 'close' };
    response.writeHead(417, headers).end(body);
  });
};

const NO_PROXY = new ProblemError(405, 'method_not_allowed', 'This server is not a proxy.', {
  Allow: 'GET, HEAD, POST',
});

const DELIVERY_MS = 1000;

/**
 * Written past Node's response, and the connection closed: what the client sends after such an answer must not be
 * taken for (the rest of) a request, and one that never closes its side must not keep a socket.
 */
const endWithProblem = (socket: Duplex, error: ProblemError, id: string): void => {
  const { problem, headers } = toHttpFailure(error, id);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${id}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  // Not at once: for what it has not read the system resets a connection, and drops what is not delivered yet.
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => setTimeout(() => socket.destroy(), DELIVERY_MS).unref());
};

/** Answers 405 with `Allow` for every other method of a path. */
export const refuseOtherMethods = (app: FastifyInstance, url: string, allowed: readonly string[]): void => {
  const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'].filter(
    (method) => !allowed.includes(method),
  );
  app.route({
    method: others,
    url,
    // Before the body is looked at: it is not what is wrong.
    onRequest: async (request) => {
      const slash = /[^/]\/(?:\?|$)/.test(request.url) ? ' Remove the slash at the end of the path?' : '';
      const detail = `${request.method} is not allowed here; use ${allowed.join(' or ')}.${slash}`;
      throw new ProblemError(405, 'method_not_allowed', detail, { allow: allowed.join(', ') });
    },
    handler: async () => undefined,
  });
};
