import { remembering } from '@recourse/dialects/catalogue/schema-parts';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { memberOf } from 'recourse-server/contract/json-record';
import type { RouteHost } from 'recourse-server/extension';
import { parseJson } from 'recourse-server/json/parse-json';
import { ignoreBodies, isJsonBody, type JsonBody } from 'recourse-server/routes/body-parsers';
import { keepLoaded } from 'recourse-server/routes/keep-loaded';
import { refuseOtherMethods } from 'recourse-server/routes/problem-handler';
import { ProblemError } from 'recourse-server/routes/problems';
import { askStore } from 'recourse-server/routes/sessions';
import { headerOf } from 'recourse-server/routes/watch-requests';
import { type Answer, type AnswerOptions, createAnswerRequest, createCatalogueWriter } from './answer-request.ts';
import { createRunningCalls } from './call-batch.ts';
import { findParamMismatch, readParamHeaders } from './param-headers.ts';
import { readAcceptedRequest, readRequest } from './read-request.ts';
import { CURRENT_REVISION, createRpcErrorHandler, type Exchange, openExchange, sessionIdOf } from './rpc-exchange.ts';

const PATH = '/mcp';

/**
 * The Model Context Protocol over Streamable HTTP, all revisions that the SDK knows. Each POST stands alone: a session
 * is what the executor's store knows of its id, so that any replica answers any request. Requests for tools and tasks are
 * answered here, after the SDK has checked those that are not quite as the protocol has them; everything else by the SDK.
 */
export const addMcpRoute = (
  app: FastifyInstance,
  routeOptions: Omit<RouteHost, 'consolePages'> & Pick<AnswerOptions, 'keepAliveMs' | 'defaultSession'>,
): void => {
  const writeCatalogue = createCatalogueWriter(routeOptions.describeTools);
  const options = { ...routeOptions, running: createRunningCalls(), writeCatalogue };
  const answerRequest = createAnswerRequest(options);
  // With the first request that needs it: the SDK is 10 MB and 50 ms.
  const loadSdk = keepLoaded(async () => (await import('./sdk-fallback.ts')).createAskSdk(options));
  const answerAfterSdk = async (body: unknown, exchange: Exchange, reply: FastifyReply) => {
    const askSdk = await loadSdk();
    const revision = await askSdk(body, exchange, reply);
    if (revision === null) return reply;
    return answerRequest(readAcceptedRequest(body, revision, reply.request.headers), exchange, reply);
  };
  const answer = ({ value }: JsonBody, exchange: Exchange, reply: FastifyReply): Answer => {
    const { headers } = reply.request;
    if (headers['mcp-protocol-version'] === CURRENT_REVISION)
      checkParamHeaders(value, exchange, reply.request, options);
    const request = readRequest(value, headers);
    const isServed = request !== null && (options.pendingTasks !== undefined || !request.method.startsWith('tasks/'));
    return isServed ? answerRequest(request, exchange, reply) : answerAfterSdk(value, exchange, reply);
  };
  // Not async: it sends at once what is there at once.
  const errorHandler = createRpcErrorHandler(options.onBug);
  app.post(PATH, { errorHandler }, (request, reply) => {
    const body = isJsonBody(request.body) ? request.body : NO_BODY;
    const exchange = openExchange(reply, body, options.callerOf);
    const ended = hasEnded(body.value, exchange, request, options);
    if (!(ended instanceof Promise)) return answer(requireSession(body, ended), exchange, reply);
    return ended.then((known) => answer(requireSession(body, known), exchange, reply));
  });
  const addOtherMethods: FastifyPluginAsync = async (routes) => {
    routes.setErrorHandler(errorHandler);
    ignoreBodies(routes);
    addEndSessionRoute(routes, options);
    refuseOtherMethods(routes, PATH, ['POST', 'DELETE']);
  };
  void app.register(addOtherMethods);
};

// The SDK refuses it as any body that is no message.
const NO_BODY: JsonBody = { value: undefined, source: '', bytes: 0 };

/**
 * Whether the request goes on with a session that its client has ended, which its header or the `_meta` of its call names.
 * Revision 2026-07-28 has none that could end.
 */
const hasEnded = (
  body: unknown,
  { tenant, sessionId }: Exchange,
  { headers }: FastifyRequest,
  { endedSessions, toSessionKey }: Pick<RouteHost, 'endedSessions' | 'toSessionKey'>,
): boolean | Promise<boolean> => {
  const method = memberOf(body, 'method');
  if (headers['mcp-protocol-version'] === CURRENT_REVISION || method === 'initialize') return false;
  const named = method === 'tools/call' ? memberOf(memberOf(memberOf(body, 'params'), '_meta'), SESSION_ID) : null;
  const has = (id: string | null): boolean | Promise<boolean> =>
    id !== null && endedSessions.has(toSessionKey(tenant, id));
  const byHeader = has(sessionId);
  // What is no text is refused with the call.
  if (byHeader === true || typeof named !== 'string' || named === sessionId) return byHeader;
  return byHeader === false ? has(named) : byHeader.then((known) => known || has(named));
};

const SESSION_ID = 'recourse/session_id';

const requireSession = (body: JsonBody, hasEnded: boolean): JsonBody => {
  if (!hasEnded) return body;
  throw new ProblemError(404, 'session_not_found', 'This session has ended. Start a new one with initialize.');
};

const findParamHeaders = remembering((schema) => readParamHeaders(schema).headers);

/** Throws where a call's `Mcp-Param-*` headers, by which proxies may have let it pass, do not say what its arguments say. */
const checkParamHeaders = (
  body: unknown,
  { mayUse }: Exchange,
  request: FastifyRequest,
  { findTool }: Pick<RouteHost, 'findTool'>,
): void => {
  const params = memberOf(body, 'method') === 'tools/call' ? memberOf(body, 'params') : undefined;
  const name = memberOf(params, 'name');
  // Of a tool that the key may not use nothing is said.
  const tool = typeof name === 'string' && mayUse(name) ? findTool(name) : undefined;
  const declared = tool === undefined ? [] : findParamHeaders(tool.inputSchema);
  if (declared.length === 0) return;
  const mismatch = findParamMismatch(declared, argumentsOf(params), (header) => headerOf(request, header));
  if (mismatch === null) return;
  throw new ProblemError(400, 'header_mismatch', `The headers and the body disagree: ${mismatch}. Nothing has run.`);
};

/** As `parseArguments` takes them: also as the JSON text of an object. Text that is no JSON is the executor's to refuse. */
const argumentsOf = (params: unknown): unknown => {
  const args = memberOf(params, 'arguments');
  if (typeof args !== 'string') return args;
  const parsed = parseJson(args);
  return parsed.ok ? parsed.value : undefined;
};

type EndSessionOptions = Pick<
  RouteHost,
  'callerOf' | 'tellRefused' | 'toSessionKey' | 'endSession' | 'endedSessions' | 'isUnavailable'
>;

/** DELETE with `Mcp-Session-Id` ends that session as DELETE /sessions/{id} does, and for good, for keys that may do that. */
const addEndSessionRoute = (routes: FastifyInstance, options: EndSessionOptions): void => {
  const end = async (sessionKey: string): Promise<void> => {
    await options.endSession(sessionKey);
    await options.endedSessions.add(sessionKey);
  };
  routes.delete(PATH, async (request, reply) => {
    const sessionKey = options.toSessionKey(tenantOf(request, options), namedSession(request));
    await askStore(end(sessionKey), options);
    return reply.code(204).send();
  });
};

const namedSession = (request: FastifyRequest): string => {
  const sessionId = sessionIdOf(request);
  if (sessionId !== null) return sessionId;
  throw new ProblemError(400, 'invalid_session_id', 'Name the session to end by its Mcp-Session-Id.');
};

// The transport's own word for a client that may not end its session; what others did with other tools would be lost.
const tenantOf = (request: FastifyRequest, options: EndSessionOptions): string => {
  const { tenant, may, tools } = options.callerOf(request);
  if (may('reset') && tools === 'all') return tenant;
  options.tellRefused(request);
  throw new ProblemError(405, 'method_not_allowed', 'This key may not end sessions.', { allow: 'POST' });
};
