import { randomUUID } from 'node:crypto';
import { createMcpHandler, isInitializeRequest } from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../formats/json-access.ts';
import { requireRoom, toPayload } from '../routes/answer-hold.ts';
import { createCatalogueTexts } from '../routes/catalogue-texts.ts';
import { putArgumentsAside } from './arguments-aside.ts';
import { createMcpServer, type McpServerOptions, NO_TOOLS } from './create-mcp-server.ts';
import type { Exchange } from './exchange.ts';
import { refuseMessage } from './refuse-message.ts';
import { requestIdOf, toDataCode } from './rpc-errors.ts';
import type { SdkExchange } from './sdk-exchange.ts';

export type AnswerMcpOptions = Omit<McpServerOptions, 'catalogueTexts'>;

/** Answers one POST of the protocol, whatever it asks for. */
export type AnswerMcp = (body: unknown, exchange: Exchange, reply: FastifyReply) => Promise<FastifyReply>;

/** The protocol as the SDK speaks it. Calls that run are all that is kept between two requests. */
export const createAnswerMcp = (options: AnswerMcpOptions): AnswerMcp => {
  const catalogueTexts = createCatalogueTexts(options.describeTools);
  const exchanges = new WeakMap<Request, SdkExchange>();
  const handler = createMcpHandler(({ requestInfo }) => {
    const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo);
    if (exchange === undefined) throw new Error('An MCP server was asked for outside a request.');
    return createMcpServer(exchange, { ...options, catalogueTexts });
  });
  return async (given, exchanged, reply) => {
    refuseMessage(given);
    const { body, argumentsAside } = putArgumentsAside(given);
    const exchange: SdkExchange = { ...exchanged, argumentsAside, catalogue: null, ending: toEnding(reply) };
    const webRequest = toWebRequest(reply.request, exchange.ending.signal);
    exchanges.set(webRequest, exchange);
    const response = await handler.fetch(webRequest, { parsedBody: body });
    if (response.status === 500) options.onBug(new Error('The MCP SDK answered 500.'), exchange.requestId);
    if (response.ok && isInitializeRequest(body)) void reply.header('mcp-session-id', randomUUID());
    return sendResponse(reply, response, { catalogue: exchange.catalogue, id: requestIdOf(body) });
  };
};

const toEnding = ({ raw }: FastifyReply): AbortController => {
  const ending = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) ending.abort();
  });
  // It may have gone while its body was being read.
  if (raw.destroyed) ending.abort();
  return ending;
};

type Sent = { readonly catalogue: string | null; readonly id: string | number | null };

// A stream goes on as one; anything else is whole already, and is cheaper sent so.
const sendResponse = async (
  reply: FastifyReply,
  response: Response,
  { catalogue, id }: Sent,
): Promise<FastifyReply> => {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson && catalogue === null) return reply.send(response);
  const text = await response.text();
  const body = catalogue === null ? text : text.replace(NO_TOOLS, () => catalogue);
  if (catalogue !== null) requireRoom(reply, body);
  return reply
    .code(response.status)
    .headers(Object.fromEntries(response.headers))
    .send(toPayload(reply, response.ok ? body : completed(body, { id, requestId: reply.request.id })));
};

/** The SDK leaves out whose request it refuses, in earlier revisions, and mostly the `data` that each refusal of the door has. */
const completed = (
  json: string,
  { id, requestId }: { readonly id: Sent['id']; readonly requestId: string },
): string => {
  const message: unknown = JSON.parse(json);
  if (!isObject(message)) return json;
  const { error } = message;
  if (!isObject(error) || error['data'] !== undefined) return JSON.stringify({ ...message, id });
  const data = { code: toDataCode(error['code']), request_id: requestId };
  return JSON.stringify({ ...message, error: { ...error, data }, id });
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
