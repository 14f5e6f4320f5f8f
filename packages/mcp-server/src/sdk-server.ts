import { hash, randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isInitializeRequest,
  type McpServerFactory,
  ProtocolError,
  Server,
  type ServerContext,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { writeMcpTools } from '@recourse/dialects/catalogue/write-catalogue';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasMoreNodes, isRecord, memberOf } from 'recourse-server/contract/json-record';
import { isOffered } from 'recourse-server/contract/tool-description';
import type { BatchListener } from 'recourse-server/executor/batch-request';
import type { Client } from 'recourse-server/executor/deadline';
import type { RouteHost } from 'recourse-server/extension';
import { draining, ProblemError } from 'recourse-server/routes/problems';
import { leaseUntil, requireRoom, toPayload } from 'recourse-server/routes/request-memory';
import { type CatalogueTexts, createCatalogueTexts } from 'recourse-server/routes/tools';
import { type CallOptions, CallParams, createCallBatch, describeCall, nameCall, readCallAnswer } from './call-batch.ts';
import { type CallResult, toCallResult } from './call-result.ts';
import { type Exchange, explainRpcFailure, requestIdOf, TASKS, toDataCode, toIdMember } from './rpc-exchange.ts';
import {
  type CreatedTask,
  createMissingTasksProblem,
  createTaskBatch,
  createTaskMethods,
  declaresTasks,
  isTaskCall,
  readCreatedTask,
  type TaskOptions,
  TaskParams,
} from './tasks.ts';
import { createToolChanges } from './tool-changes.ts';

/** An exchange that the SDK answers. */
type SdkExchange = Exchange & {
  /** Arguments that are no object: the executor judges them, not the SDK. */
  readonly argumentsAside: unknown;
  /** The tools of `tools/list` as JSON text, where that was asked for: they stand in the answer in place of none. */
  catalogue: string | null;
  /** Aborted when nobody waits for the answer any more. */
  readonly ending: AbortController;
  /** Whether it is answered by the handle of a task. */
  hasTask: boolean;
  /** Resolves when its connection has closed, or when its caller has lost its key. */
  readonly whenOver: () => Promise<void>;
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
 * Takes arguments that are no object out of a `tools/call` request. The SDK would answer them with a JSON-RPC error, which
 * clients do not show; as a result of the call a model can read them and do better.
 */
const putArgumentsAside = (body: unknown): { readonly body: unknown; readonly argumentsAside?: unknown } => {
  if (!isRecord(body) || body['method'] !== 'tools/call' || !isRecord(body['params'])) return { body };
  const { arguments: args, ...params } = body['params'];
  return args === undefined || isRecord(args) ? { body } : { body: { ...body, params }, argumentsAside: args };
};

/** Tells a client how far its call is, under the token it gave. Values that do not rise are left out: MCP wants that. */
export const createProgressNotifier = (
  progressToken: string | number | undefined,
  notify: ServerContext['mcpReq']['notify'],
) => {
  let last = Number.NEGATIVE_INFINITY;
  const onProgress: NonNullable<BatchListener['progress']> = (_index, { progress, total, message }) => {
    if (!(progress > last) || progressToken === undefined) return;
    last = progress;
    const rest = { ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
    // Rejects where the client has gone: then it is of no use.
    notify({ method: 'notifications/progress', params: { progressToken, progress, ...rest } }).catch(() => undefined);
  };
  return {
    /** null where the client did not ask for progress. */
    onProgress: progressToken === undefined ? null : onProgress,
    /** The call is answered: nothing may follow. */
    end: (): void => {
      last = Number.POSITIVE_INFINITY;
    },
  };
};

/**
 * Runs one `tools/call` that needs the SDK. Whatever comes of the call is a result; it rejects with a JSON-RPC error only
 * where its Idempotency-Key is not taken, and nothing has run.
 */
const callTool = async (
  params: CallParams,
  { mcpReq: { id, signal, notify, envelope } }: ServerContext,
  exchange: SdkExchange,
  options: CallOptions & Pick<McpServerOptions, 'pendingTasks'>,
): Promise<CallResult | CreatedTask> => {
  const { ending } = exchange;
  const asked = { name: params.name, declares: declaresTasks(envelope) };
  // Earlier revisions have no envelope. What the executor says of a tool that only runs as a task is their result.
  const hasTasks = options.pendingTasks !== undefined && envelope !== undefined;
  const isTask = hasTasks && isTaskCall(asked, exchange, options.findTool);
  const progress = createProgressNotifier(params._meta?.progressToken, notify);
  const forget = nameCall(id, exchange, () => ending.abort(), options);
  try {
    const args = params.arguments ?? exchange.argumentsAside;
    const client = createClient(AbortSignal.any([ending.signal, signal]));
    const call = createCallBatch({ params, args, client, onProgress: progress.onProgress }, exchange, options);
    const batch = isTask ? createTaskBatch(call, exchange, options.toRequestKey) : call;
    const answer = readCallAnswer(await leaseUntil(batch, options.executeBatch(batch)), exchange);
    if (answer.kind === 'error') throw new ProtocolError(answer.error.code, answer.error.message, answer.error.data);
    const task = isTask ? readCreatedTask(answer.result) : null;
    exchange.hasTask = task !== null;
    return task ?? toCallResult(JSON.parse(answer.result.json), describeCall(params, exchange, options));
  } finally {
    progress.end();
    forget();
  }
};

const createClient = (signal: AbortSignal): Client => ({
  isGone: () => signal.aborted,
  whenGone: (listener) => {
    if (signal.aborted) listener();
    signal.addEventListener('abort', listener, { once: true });
    return () => signal.removeEventListener('abort', listener);
  },
});

/**
 * What stands in an answer of the SDK for the tools, which are put there as the text that they are kept as: to check and
 * write a thousand of them takes it 15 ms. In a text of the client the quotes would be escaped.
 */
const NO_TOOLS = '"tools":[]';

type McpServerOptions = CallOptions &
  Pick<RouteHost, 'describeTools' | 'version' | 'onBug' | 'pendingTasks' | 'isUnavailable'> & {
    readonly catalogueTexts: CatalogueTexts;
  };

/** The tools that a caller is shown, as the member of `tools/list`. */
const writeCatalogue = (
  { mayUse }: Pick<Exchange, 'mayUse'>,
  { describeTools, catalogueTexts }: Pick<McpServerOptions, 'describeTools' | 'catalogueTexts'>,
): string => {
  const tools = describeTools().filter((tool) => isOffered(tool) && mayUse(tool.name));
  return catalogueTexts(tools, 'mcp', () => `"tools":${JSON.stringify(writeMcpTools(tools))}`);
};

// The SDK would make a JSON Schema compiler for answers of people, which are never asked for here.
const NO_VALIDATOR = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'Elicitation is not supported.' }) as const,
};

/**
 * The protocol's side of one HTTP request; nothing of it is left when that is answered. The low-level server of the
 * SDK: the other one wants each tool registered with a schema, and would check arguments in the executor's place.
 */
const createMcpServer = (exchange: SdkExchange, era: Era, options: McpServerOptions): Server => {
  const { running, toSessionKey, pendingTasks } = options;
  const { tenant, idSession } = exchange;
  const hasTasks = era === 'modern' && pendingTasks !== undefined;
  const extensions = hasTasks ? { extensions: { [TASKS]: {} } } : {};
  const server = new Server(
    { name: 'recourse', version: options.version },
    // Earlier revisions tell of changes on a stream of the session, which GET would open: here no session holds one.
    { capabilities: { tools: { listChanged: era === 'modern' }, ...extensions }, jsonSchemaValidator: NO_VALIDATOR },
  );
  if (hasTasks) addTaskMethods(server, exchange, { ...options, pendingTasks });
  server.setRequestHandler('tools/list', () => {
    exchange.catalogue = writeCatalogue(exchange, options);
    return { tools: [] };
  });
  server.setRequestHandler('tools/call', { params: CallParams }, (params, context) =>
    answerMethod(callTool(params, context, exchange, options), exchange, options),
  );
  server.setNotificationHandler('notifications/cancelled', ({ params: { requestId } }) => {
    if (idSession !== null && requestId !== undefined)
      running.cancel({ sessionKey: toSessionKey(tenant, idSession), requestId });
  });
  return server;
};

/** The methods of the Tasks extension, for requests that declare it. */
const addTaskMethods = (server: Server, exchange: SdkExchange, options: McpServerOptions & TaskOptions): void => {
  for (const [method, answer] of createTaskMethods(options))
    server.setRequestHandler(method, { params: TaskParams }, async ({ taskId }, { mcpReq: { envelope } }) => {
      const answered = declaresTasks(envelope) ? answer(exchange, taskId) : Promise.reject(createMissingTasksProblem());
      return answerMethod(answered, exchange, options);
    });
};

/** As the problem handler does for other routes: a problem is told as one; a bug is reported, and its text goes to no client. */
const answerMethod = async (
  answering: Promise<object>,
  exchange: SdkExchange,
  options: Pick<McpServerOptions, 'onBug'>,
): Promise<Record<string, unknown>> => {
  try {
    return { ...(await answering) };
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const failure = explainRpcFailure(error, exchange.requestId);
    if (failure.isBug) options.onBug(error, exchange.requestId);
    const { code, message, data } = failure.error;
    throw new ProtocolError(code, message, data);
  }
};

export type AnswerMcpOptions = Omit<McpServerOptions, 'catalogueTexts'> & ListenOptions;

type ListenOptions = Pick<RouteHost, 'watchTools' | 'draining' | 'readings'>;

/** `modern`: 2026-07-28. */
type Era = Parameters<McpServerFactory>[0]['era'];

type Fetch = (request: Request, body: unknown, exchange: SdkExchange) => Promise<Response>;

// Measured: a stream that waits takes 21 KB of memory. Doubled.
const STREAM_BYTES = 40_000;

/**
 * Answers `subscriptions/listen` by a stream that tells of changes of the tools that its caller may use, until its client or the
 * service ends it. Each has a handler of the SDK of its own, through which it is ended as the protocol has it, by a result.
 */
const createListen = (create: McpServerFactory, options: McpServerOptions & ListenOptions): Fetch => {
  const changes = createToolChanges(options.watchTools);
  const open = new Set<() => Promise<void>>();
  options.draining.addEventListener('abort', () => {
    for (const close of open) void close();
  });
  return async (request, parsedBody, exchange) => {
    const { caller, hold } = exchange;
    refuseTaskIds(parsedBody, options);
    if (options.draining.aborted) throw draining('other');
    if (!changes.hasRoom(caller))
      throw new ProblemError(429, 'too_many_subscriptions', TOO_MANY, { 'retry-after': '60' });
    const tagOf = (): string => hash('sha256', writeCatalogue(exchange, options), 'base64url');
    const bus: ServerEventBus = {
      publish: () => undefined,
      subscribe: (listener) => {
        // For as long as it is open: what its answer might have taken it never will.
        hold?.set(STREAM_BYTES);
        open.add(close);
        void exchange.whenOver().then(close);
        const remove = changes.add({ caller, tagOf, tell: () => listener({ kind: 'tools_list_changed' }) });
        return () => {
          open.delete(close);
          remove();
        };
      },
    };
    const { fetch, close } = createMcpHandler(create, { bus });
    return fetch(request, { parsedBody });
  };
};

/** Changes of tasks are not told: a filter for them is not granted, and is refused to a client that does not know tasks. */
const refuseTaskIds = (body: unknown, { pendingTasks }: Pick<McpServerOptions, 'pendingTasks'>): void => {
  const params = memberOf(body, 'params');
  if (pendingTasks === undefined || memberOf(memberOf(params, 'notifications'), 'taskIds') === undefined) return;
  if (!declaresTasks(memberOf(params, '_meta'))) throw createMissingTasksProblem();
};

const TOO_MANY =
  'Too many streams of subscriptions/listen are open. Close one, or ask tools/list again from time to time.';

/** Answers one POST of the protocol, whatever it asks for. */
type AnswerMcp = (body: unknown, exchange: Exchange, reply: FastifyReply) => Promise<FastifyReply>;

/** The protocol as the SDK speaks it. Calls that run are all that is kept between two requests. */
export const createAnswerMcp = (options: AnswerMcpOptions): AnswerMcp => {
  const serverOptions = { ...options, catalogueTexts: createCatalogueTexts(options.describeTools) };
  const exchanges = new WeakMap<Request, SdkExchange>();
  const create: McpServerFactory = ({ requestInfo, era }) => {
    const exchange = requestInfo === undefined ? undefined : exchanges.get(requestInfo);
    if (exchange === undefined) throw new Error('An MCP server was requested outside of a request.');
    return createMcpServer(exchange, era, serverOptions);
  };
  const handler = createMcpHandler(create);
  const listen = createListen(create, serverOptions);
  const ask: Fetch = (request, body, exchange) =>
    memberOf(body, 'method') === 'subscriptions/listen'
      ? listen(request, body, exchange)
      : handler.fetch(request, { parsedBody: body });
  return async (message, opened, reply) => {
    refuseMessage(message);
    const { body, argumentsAside } = putArgumentsAside(message);
    const exchange: SdkExchange = {
      ...opened,
      argumentsAside,
      catalogue: null,
      hasTask: false,
      ending: createEnding(reply),
      whenOver: () => options.readings.watch(reply).over,
    };
    const webRequest = toWebRequest(reply.request, exchange.ending.signal);
    exchanges.set(webRequest, exchange);
    const response = await ask(webRequest, body, exchange);
    if (response.status === 500) options.onBug(new Error('The MCP SDK answered 500.'), exchange.requestId);
    if (response.ok && isInitializeRequest(body)) void reply.header('mcp-session-id', randomUUID());
    return sendResponse(reply, response, exchange, requestIdOf(body));
  };
};

const createEnding = ({ raw }: FastifyReply): AbortController => {
  const ending = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) ending.abort();
  });
  // It may have gone while its body was being read.
  if (raw.destroyed) ending.abort();
  return ending;
};

type RequestId = ReturnType<typeof requestIdOf>;

// A stream goes on as one; anything else is whole already, and is cheaper sent so.
const sendResponse = async (
  reply: FastifyReply,
  response: Response,
  { catalogue, hasTask }: Pick<SdkExchange, 'catalogue' | 'hasTask'>,
  id: RequestId,
): Promise<FastifyReply> => {
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  if (!isJson && catalogue === null) return reply.send(response);
  const text = await response.text();
  const body = catalogue === null ? text : text.replace(NO_TOOLS, () => catalogue);
  if (catalogue !== null) requireRoom(reply, body);
  const payload = response.ok ? (hasTask ? withoutContent(body) : body) : completed(body, id, reply.request.id);
  return reply.code(response.status).headers(Object.fromEntries(response.headers)).send(toPayload(reply, payload));
};

/** Up to 2.4 the SDK gives every result of `tools/call` a `content`, also the handle of a task, which has none. */
const withoutContent = (json: string): string => {
  const message: unknown = JSON.parse(json);
  const { content: _content, ...result } = { ...Object(memberOf(message, 'result')) };
  return JSON.stringify({ ...Object(message), result });
};

/** The SDK leaves out whose request it refuses, in earlier revisions, and what the `data` of each refusal of the door has. */
const completed = (json: string, id: RequestId, requestId: string): string => {
  const message: unknown = JSON.parse(json);
  if (!isRecord(message)) return json;
  const { id: _id, error, ...rest } = message;
  if (!isRecord(error)) return JSON.stringify({ ...message, ...toIdMember(id) });
  const { data } = error;
  const own = { code: toDataCode(error['code']), request_id: requestId };
  return JSON.stringify({
    ...rest,
    ...toIdMember(id),
    error: { ...error, data: isRecord(data) ? { ...own, ...data } : own },
  });
};

// What the SDK reads of a request. It sees no key, and no body: that is parsed already.
const HEADERS = ['content-type', 'mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;
const BOTH_TYPES = 'application/json, text/event-stream';

const toWebRequest = ({ headers }: FastifyRequest, signal: AbortSignal): Request => {
  const { accept = '*/*' } = headers;
  const read = new Headers({ accept: accept.includes('*/*') ? BOTH_TYPES : accept });
  for (const name of HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') read.set(name, value);
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers: read, signal });
};
