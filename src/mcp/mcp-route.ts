import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findParamMismatch, readParamHeaders } from '../contract/param-headers.ts';
import type { EndedSessions } from '../executor/ended-sessions.ts';
import { remembering } from '../formats/catalogue/remembering.ts';
import { parseJson } from '../json/parse-json.ts';
import type { JsonBody } from '../routes/json-body.ts';
import { ProblemError, refuseOtherMethods } from '../routes/problem-handler.ts';
import type { RequestCaller } from '../routes/request-gate.ts';
import { createAnswerPlainCall, type PlainCallOptions } from './answer-plain-call.ts';
import type { AnswerMcpOptions } from './create-answer-mcp.ts';
import { addEndSessionRoute, type EndSessionOptions } from './end-session.ts';
import { type Exchange, openExchange } from './exchange.ts';
import { keepLoaded } from './keep-loaded.ts';
import { CURRENT_REVISION, readPlainCall } from './read-plain-call.ts';
import { createRpcErrorHandler, isJsonBody } from './rpc-errors.ts';
import { createRunningCalls } from './running-calls.ts';

export type McpRouteOptions = Omit<AnswerMcpOptions & PlainCallOptions, 'running'> &
  EndSessionOptions & {
    readonly callerOf: (request: FastifyRequest) => RequestCaller;
    readonly endedSessions: EndedSessions;
  };

const PATH = '/mcp';

/**
 * The Model Context Protocol over Streamable HTTP, all revisions that the SDK knows. Each POST stands alone: a session
 * is what the executor's store knows of its id, so that any replica answers any request. Plain calls are answered here,
 * everything else by the SDK.
 */
export const addMcpRoute = (app: FastifyInstance, given: McpRouteOptions): void => {
  const options = { ...given, running: createRunningCalls() };
  const answerPlainCall = createAnswerPlainCall(options);
  // With the first request that needs it: the SDK is 10 MB and 50 ms.
  const load = keepLoaded(async () => (await import('./create-answer-mcp.ts')).createAnswerMcp(options));
  const answer = ({ value }: JsonBody, exchange: Exchange, reply: FastifyReply): undefined | Promise<unknown> => {
    const { headers } = reply.request;
    if (headers['mcp-protocol-version'] === CURRENT_REVISION)
      checkParamHeaders(value, exchange, reply.request, options);
    const call = readPlainCall(value, headers);
    if (call !== null) return answerPlainCall(call, exchange, reply);
    return load().then((answerMcp) => answerMcp(value, exchange, reply));
  };
  // Not async: it sends at once what is there at once.
  app.post(PATH, { errorHandler: createRpcErrorHandler(options.onBug) }, (request, reply) => {
    const body = isJsonBody(request.body) ? request.body : NO_BODY;
    const exchange = openExchange(reply, body.source, options.callerOf);
    const ended = hasEnded(body.value, exchange, request, options);
    if (!(ended instanceof Promise)) return answer(requireSession(body, ended), exchange, reply);
    return ended.then((known) => answer(requireSession(body, known), exchange, reply));
  });
  addEndSessionRoute(app, PATH, options);
  refuseOtherMethods(app, PATH, ['POST', 'DELETE']);
};

// The SDK is told of it as of any body that is no message.
const NO_BODY: JsonBody = { value: undefined, source: '' };

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

/**
 * Whether the request goes on with a session that its client has ended, which its header or the `_meta` of its call names.
 * Revision 2026-07-28 has none that could end.
 */
const hasEnded = (
  body: unknown,
  { tenant, sessionId }: Exchange,
  { headers }: FastifyRequest,
  { endedSessions, toSessionKey }: Pick<McpRouteOptions, 'endedSessions' | 'toSessionKey'>,
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
  throw new ProblemError(404, 'session_not_found', 'This session has ended. Begin another one with initialize.');
};

const toParamHeaders = remembering((schema) => readParamHeaders(schema).headers);

/** Throws where a call's `Mcp-Param-*` headers, by which proxies may have let it pass, do not say what its arguments say. */
const checkParamHeaders = (
  body: unknown,
  { mayUse }: Exchange,
  { headers }: FastifyRequest,
  { findTool }: Pick<McpRouteOptions, 'findTool'>,
): void => {
  const params = memberOf(body, 'method') === 'tools/call' ? memberOf(body, 'params') : undefined;
  const name = memberOf(params, 'name');
  // Of a tool that the key may not use nothing is told.
  const tool = typeof name === 'string' && mayUse(name) ? findTool(name) : undefined;
  const declared = tool === undefined ? [] : toParamHeaders(tool.inputSchema);
  if (declared.length === 0) return;
  const mismatch = findParamMismatch(declared, argumentsOf(params), (header) => textOf(headers[header]));
  if (mismatch === null) return;
  throw new ProblemError(400, 'header_mismatch', `The headers and the body disagree: ${mismatch}. Nothing has run.`);
};

/** As `parseArguments` takes them: also as the JSON text of an object. Text that is no JSON is the executor's to refuse. */
const argumentsOf = (params: unknown): unknown => {
  const given = memberOf(params, 'arguments');
  if (typeof given !== 'string') return given;
  const parsed = parseJson(given);
  return parsed.ok ? parsed.value : undefined;
};

const textOf = (header: string | readonly string[] | undefined): string | undefined =>
  typeof header === 'string' ? header : header?.[0];
