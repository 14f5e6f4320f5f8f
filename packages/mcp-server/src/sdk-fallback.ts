import { createMcpHandler, isInitializeRequest, type McpServerFactory, Server } from '@modelcontextprotocol/server';
import type { FastifyReply } from 'fastify';
import { hasMoreNodes, isRecord, memberOf } from 'recourse-server/contract/json-record';
import type { RouteHost } from 'recourse-server/extension';
import { ProblemError } from 'recourse-server/routes/problems';
import * as z from 'zod';
import { createSessionId } from './ask-person.ts';
import type { CallOptions } from './call-batch.ts';
import type { Revision } from './read-request.ts';
import { type Exchange, explainSdkRefusal, requestIdOf, TASKS, writeErrorMessage } from './rpc-exchange.ts';
import { createSubscriptions, type SubscriptionOptions } from './subscriptions.ts';

export type SdkOptions = SubscriptionOptions &
  Pick<CallOptions, 'running' | 'toSessionKey'> &
  Pick<RouteHost, 'version' | 'onBug'>;

/**
 * Gives a message to the SDK. A request for tools or tasks that the SDK accepts resolves to its revision: the SDK has checked it,
 * and the route answers it. Every other message the SDK answers itself: this sends its answer, and resolves to null.
 */
export const createAskSdk = (options: SdkOptions) => {
  const openSubscription = createSubscriptions(options);
  return async (message: unknown, exchange: Exchange, reply: FastifyReply): Promise<Revision | null> => {
    refuseMessage(message);
    let accepted: Revision | null = null;
    const accept = (revision: Revision): void => {
      accepted = revision;
    };
    const create: McpServerFactory = ({ era }) =>
      createServer(era === 'modern' ? 'current' : 'earlier', exchange, accept, options);
    const body = omitArguments(message);
    const isSubscription = memberOf(body, 'method') === 'subscriptions/listen';
    const bus = isSubscription ? { bus: openSubscription(body, exchange, reply, () => handler.close()) } : {};
    const handler = createMcpHandler(create, bus);
    const response = await handler.fetch(createWebRequest(reply), { parsedBody: body });
    if (accepted !== null) {
      await response.body?.cancel();
      return accepted;
    }
    if (response.status === 500) options.onBug(new Error('The MCP SDK answered 500.'), exchange.requestId);
    if (response.ok && isInitializeRequest(body)) void reply.header('mcp-session-id', createSessionId(body));
    await sendResponse(reply, response, body);
    return null;
  };
};

// A message has some twenty values, without its arguments; what clients say of themselves may be longer.
const MOST_VALUES = 5_000;

/**
 * Throws where a body is no one message. Several in one body: revision 2025-03-26 alone had them, 2025-06-18 took them
 * away, and one small request would ask for a hundred catalogues. More values than any message of the protocol has: the
 * SDK's schemas would collect several problems for each, and answer with them all; one megabyte took five seconds and
 * became 89. The arguments of calls are not counted: the executor judges them.
 */
const refuseMessage = (body: unknown): void => {
  if (Array.isArray(body)) throw new ProblemError(400, 'invalid_message', SEVERAL);
  if (hasMoreNodes(body, MOST_VALUES, ARGUMENTS)) throw new ProblemError(400, 'invalid_message', HEAVY);
};

const ARGUMENTS: ReadonlySet<string> = new Set(['arguments']);
const SEVERAL = 'Batched messages are not supported. Send each message in its own request.';
const HEAVY = `A message must not contain more than ${MOST_VALUES} values outside of call arguments.`;

/**
 * A message without the arguments of its call: the executor judges them. The SDK would answer those that are no object by a
 * JSON-RPC error, which clients do not show; a model can read the result of a call and do better.
 */
const omitArguments = (message: unknown): unknown => {
  if (!isRecord(message) || message['method'] !== 'tools/call' || !isRecord(message['params'])) return message;
  const { arguments: _arguments, ...params } = message['params'];
  return { ...message, params };
};

// The SDK would make a JSON Schema compiler for answers of people, which are never asked for here.
const NO_VALIDATOR = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'Elicitation is not supported.' }) as const,
};

const TASK_METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel'] as const;
const TaskParams = z.looseObject({ taskId: z.string() });

/**
 * The protocol's side of one HTTP request; nothing of it is left when that is answered. The low-level server of the
 * SDK: the other one wants each tool registered with a schema, and would check arguments in the executor's place. The results
 * of its handlers are not sent: see `createAskSdk`.
 */
const createServer = (
  revision: Revision,
  { tenant, idSession }: Exchange,
  accept: (revision: Revision) => void,
  { version, running, toSessionKey, pendingTasks }: SdkOptions,
): Server => {
  const isCurrent = revision === 'current';
  const hasTasks = isCurrent && pendingTasks !== undefined;
  const extensions = hasTasks ? { extensions: { [TASKS]: {} } } : {};
  const server = new Server(
    { name: 'recourse', version },
    // Earlier revisions report changes on a stream of the session, which GET would open: here no session holds one.
    { capabilities: { tools: { listChanged: isCurrent }, ...extensions }, jsonSchemaValidator: NO_VALIDATOR },
  );
  server.setRequestHandler('tools/list', () => {
    accept(revision);
    return { tools: [] };
  });
  server.setRequestHandler('tools/call', () => {
    accept(revision);
    return { content: [] };
  });
  for (const method of hasTasks ? TASK_METHODS : [])
    server.setRequestHandler(method, { params: TaskParams }, () => {
      accept(revision);
      return {};
    });
  server.setNotificationHandler('notifications/cancelled', ({ params: { requestId } }) => {
    if (idSession !== null && requestId !== undefined)
      running.cancel({ sessionKey: toSessionKey(tenant, idSession), requestId });
  });
  return server;
};

/** Sends what the SDK answers. A refusal keeps its status and words; it gets the id of its request and the data of every refusal. */
const sendResponse = async (reply: FastifyReply, response: Response, body: unknown): Promise<FastifyReply> => {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (response.ok || !isJson) return reply.send(response);
  const error = explainSdkRefusal(memberOf(await response.json(), 'error'), reply.request.id);
  return reply
    .code(response.status)
    .headers(Object.fromEntries(response.headers))
    .send(writeErrorMessage(requestIdOf(body), error));
};

// What the SDK reads of a request. It sees no key, and no body: that is parsed already.
const HEADERS = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
const BOTH_TYPES = 'application/json, text/event-stream';

const createWebRequest = (reply: FastifyReply): Request => {
  const { headers } = reply.request;
  const { accept = '*/*' } = headers;
  const read = new Headers({ accept: accept.includes('*/*') ? BOTH_TYPES : accept });
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') read.set(name, value);
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers: read, signal: watchClient(reply) });
};

/** Aborted when the client has gone before its answer was sent. */
const watchClient = ({ raw }: FastifyReply): AbortSignal => {
  const ending = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) ending.abort();
  });
  // It may have gone while its body was being read.
  if (raw.destroyed) ending.abort();
  return ending.signal;
};
