import { randomUUID } from 'node:crypto';
import { createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { requireRoom, toAnswerMemory, toPayload } from '../routes/answer-hold.ts';
import { createCatalogueTexts } from '../routes/catalogue-texts.ts';
import type { JsonBody } from '../routes/json-body.ts';
import { callerKeyOf, type RequestCaller } from '../routes/request-gate.ts';
import { putArgumentsAside } from './arguments-aside.ts';
import { createMcpServer, type McpServerOptions, NO_TOOLS } from './create-mcp-server.ts';
import type { Exchange } from './exchange.ts';
import { refuseArray } from './refuse-array.ts';
import { refuseHeavy } from './refuse-heavy.ts';
import { createRunningCalls } from './running-calls.ts';
import { sessionIdOf } from './session-header.ts';

export type AnswerMcpOptions = Omit<McpServerOptions, 'running' | 'catalogueTexts'> & {
  readonly callerOf: (request: FastifyRequest) => RequestCaller;
};

/** Answers one POST of the protocol. */
export type AnswerMcp = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** The protocol as the SDK speaks it. Calls that run are all that is kept between two requests. */
export const createAnswerMcp = (options: AnswerMcpOptions): AnswerMcp => {
  const running = createRunningCalls();
  const catalogueTexts = createCatalogueTexts(options.describeTools);
  const exchanges = new WeakMap<Request, Exchange>();
  const handler = createMcpHandler(({ requestInfo }) => {
    const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo);
    if (exchange === undefined) throw new Error('An MCP server was asked for outside a request.');
    return createMcpServer(exchange, { ...options, running, catalogueTexts });
  });
  return async (request, reply) => {
    const { value, source } = isJsonBody(request.body) ? request.body : NO_BODY;
    const { body, argumentsAside } = putArgumentsAside(value);
    const exchange: Exchange = { ...toExchange(request, reply, source, options), argumentsAside };
    const webRequest = toWebRequest(request, exchange.ending.signal);
    const refusal = refuseArray(body) ?? refuseHeavy(body);
    if (refusal !== null) return sendResponse(reply, refusal, null);
    exchanges.set(webRequest, exchange);
    const response = await handler.fetch(webRequest, { parsedBody: body });
    if (response.status === 500) options.onBug(new Error('The MCP SDK answered 500.'), request.id);
    if (response.ok && isInitializeRequest(body)) void reply.header('mcp-session-id', randomUUID());
    return sendResponse(reply, response, exchange.catalogue);
  };
};

// A stream goes on as one; anything else is whole already, and is cheaper sent so.
const sendResponse = async (
  reply: FastifyReply,
  response: Response,
  catalogue: string | null,
): Promise<FastifyReply> => {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson && catalogue === null) return reply.send(response);
  const text = await response.text();
  const body = catalogue === null ? text : text.replace(NO_TOOLS, () => catalogue);
  if (catalogue !== null) requireRoom(reply, body);
  return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(toPayload(reply, body));
};

const isJsonBody = (body: unknown): body is JsonBody =>
  typeof body === 'object' && body !== null && 'source' in body && typeof body.source === 'string';

// The SDK is told of it as of any body that is no message.
const NO_BODY: JsonBody = { value: undefined, source: '' };

const toExchange = (
  request: FastifyRequest,
  { raw }: FastifyReply,
  source: string,
  { callerOf }: AnswerMcpOptions,
): Omit<Exchange, 'argumentsAside'> => {
  const { tenant, key, mayUse } = callerOf(request);
  const { trace } = request;
  const ending = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) ending.abort();
  });
  // It may have gone while its body was being read.
  if (raw.destroyed) ending.abort();
  return {
    requestId: request.id,
    tenant,
    key,
    caller: callerKeyOf(request),
    mayUse,
    sessionId: sessionIdOf(request),
    source,
    hold: request.hold,
    memory: toAnswerMemory(request, 'messages'),
    catalogue: null,
    ending,
    toTrace: (session) =>
      trace === null ? { trace: null, traceId: null } : { traceId: trace.traceId, trace: trace.ofBatch({ session }) },
  };
};

// What the SDK reads of a request. It sees no key, and no body: that is parsed already.
const HEADERS = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
const BOTH_TYPES = 'application/json, text/event-stream';

const toWebRequest = ({ headers }: FastifyRequest, signal: AbortSignal): Request => {
  const { accept = '*/*' } = headers;
  const known = new Headers({ accept: accept.includes('*/*') ? BOTH_TYPES : accept });
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') known.set(name, value);
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers: known, signal });
};
