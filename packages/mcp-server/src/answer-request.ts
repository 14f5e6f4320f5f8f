import { writeMcpTools } from '@recourse/dialects/catalogue/write-catalogue';
import type { FastifyReply } from 'fastify';
import { memberOf } from 'recourse-server/contract/json-record';
import { isOffered } from 'recourse-server/contract/tool-description';
import type { RenderedResult, ToolResult } from 'recourse-server/contract/tool-result';
import type { BatchAnswer, BatchListener, BatchRequest } from 'recourse-server/executor/batch-request';
import type { RouteHost } from 'recourse-server/extension';
import { leaseUntil } from 'recourse-server/routes/request-memory';
import { sendReading } from 'recourse-server/routes/send-answer';
import { createCatalogueTexts } from 'recourse-server/routes/tools';
import { createUrlError, takesUrls, toAsked, wasAsked, writeInputRequired } from './ask-person.ts';
import {
  type CallOptions,
  createCallBatch,
  describeCall,
  explainCallParams,
  nameCall,
  readCallAnswer,
  readCallParams,
} from './call-batch.ts';
import { createCallResult, writePlainResult } from './call-result.ts';
import { McpReply } from './mcp-reply.ts';
import type { McpRequest } from './read-request.ts';
import { type Exchange, explainRpcFailure, writeErrorMessage } from './rpc-exchange.ts';
import {
  answerTaskMethod,
  createMissingTasksProblem,
  createNoTaskError,
  createTaskBatch,
  declaresTasks,
  isTaskCall,
  readCreatedTask,
  type TaskMethod,
} from './tasks.ts';
import { createResultWriter, type ResultWriter } from './write-result.ts';

export type AnswerOptions = CallOptions &
  Pick<RouteHost, 'version' | 'onBug' | 'isUnavailable' | 'pendingTasks'> & {
    readonly writeCatalogue: CatalogueWriter;
    /** After how long a call that runs shows a sign of life, and then each time again. Left out: 10 s. */
    readonly keepAliveMs?: number;
  };

/** The tools that a caller is shown, as the member of `tools/list`. */
export type CatalogueWriter = (caller: Pick<Exchange, 'mayUse'>) => string;

/** Keeps catalogues as text: to write a thousand tools takes 15 ms. */
export const createCatalogueWriter = (describeTools: RouteHost['describeTools']): CatalogueWriter => {
  const textOf = createCatalogueTexts(describeTools);
  return ({ mayUse }) => {
    const tools = describeTools().filter((tool) => isOffered(tool) && mayUse(tool.name));
    return textOf(tools, 'mcp', () => `"tools":${JSON.stringify(writeMcpTools(tools))}`);
  };
};

/** What Fastify awaits: nothing where the answer was sent past it. */
export type Answer = undefined | FastifyReply | Promise<FastifyReply | undefined>;

/**
 * Answers the requests that concern tools past the SDK, which makes a server, a transport, a request and a response of
 * its own for each, and checks them all by schemas: five times what a call itself takes. What is there at once is sent at
 * once. Throws or rejects where the error handler has to answer.
 */
export const createAnswerRequest = (options: AnswerOptions) => {
  const writer = createResultWriter(options.version);
  return (request: McpRequest, exchange: Exchange, reply: FastifyReply): Answer => {
    const { id, method, revision } = request;
    if (method === 'tools/call') return answerCall(request, exchange, reply, writer, options);
    if (method !== 'tools/list') return answerTask(method, request, exchange, reply, writer, options);
    // The revision wants to know for how long a client may cache the list: it may not, but it can subscribe to changes.
    const hint = revision === 'current' ? ',"ttlMs":0,"cacheScope":"private"' : '';
    return sendReading(reply, writer.fromText(id, options.writeCatalogue(exchange) + hint, revision));
  };
};

const answerTask = async (
  method: TaskMethod,
  { id, params, revision }: McpRequest,
  exchange: Exchange,
  reply: FastifyReply,
  writer: ResultWriter,
  options: AnswerOptions,
): Promise<FastifyReply> => {
  if (!declaresTasks(params['_meta'])) throw createMissingTasksProblem();
  const inputs = takesUrls(revision, params['_meta'], exchange) ? 'shown' : 'told';
  const about = { ...exchange, inputs } as const;
  const result = await answerTaskMethod(method, String(params['taskId']), about, options);
  const json =
    result === null ? writeErrorMessage(id, createNoTaskError(exchange)) : writer.fromObject(id, result, revision);
  return sendReading(reply, json);
};

const answerCall = (
  { id, params, revision, accepts }: McpRequest,
  exchange: Exchange,
  reply: FastifyReply,
  writer: ResultWriter,
  options: AnswerOptions,
): Answer => {
  const client = new McpReply(reply);
  const callParams = readCallParams(params);
  if (callParams === null) {
    client.send(writeErrorMessage(id, explainCallParams(params)), 'run');
    return undefined;
  }
  const { _meta: meta } = params;
  const token = memberOf(meta, 'progressToken');
  const isWatched = token !== undefined && accepts !== 'json';
  const onProgress: BatchListener['progress'] | null = isWatched
    ? (_index, progress) => client.reportProgress(token, progress)
    : null;
  const isTask = revision === 'current' && isTaskCall(callParams.name, meta, exchange, options);
  const call = createCallBatch(callParams, client, onProgress, exchange, options);
  const batch = isTask ? createTaskBatch(call, exchange, options.toRequestKey) : call;
  const about = describeCall(callParams, exchange, options);
  const writeOther = ({ json }: RenderedResult, task: object | null): string => {
    if (task !== null) return writer.fromObject(id, task, revision);
    const result: ToolResult = JSON.parse(json);
    const asked = toAsked(result.error?.approval);
    if (asked === null || !takesUrls(revision, meta, exchange) || wasAsked(params, asked))
      return writer.fromObject(id, createCallResult(result, about), revision);
    return revision === 'current'
      ? writer.fromObject(id, writeInputRequired(asked), revision)
      : writeErrorMessage(id, createUrlError(asked, exchange));
  };
  const send = (batchAnswer: BatchAnswer): void => {
    const answer = readCallAnswer(batchAnswer, exchange);
    if (answer.kind === 'error') {
      client.send(writeErrorMessage(id, answer.error), 'run');
      return;
    }
    const { result } = answer;
    const task = isTask ? readCreatedTask(result) : null;
    const plain = task === null ? writePlainResult(result, about) : null;
    client.send(plain === null ? writeOther(result, task) : writer.fromText(id, plain, revision), answer.origin);
  };
  // A call that reports progress may have begun a stream before it fails: there is no status any more.
  const work = leaseUntil(batch, isWatched ? runLater(batch, options) : options.executeBatch(batch));
  if (!(work instanceof Promise)) {
    send(work);
    return undefined;
  }
  if (accepts === 'both') client.keepAlive(options.keepAliveMs ?? KEEP_ALIVE_MS);
  return answerLater(id, exchange, client, work.then(send), options);
};

const runLater = async (
  batch: BatchRequest,
  { executeBatch }: Pick<AnswerOptions, 'executeBatch'>,
): Promise<BatchAnswer> => executeBatch(batch);

// Proxies close a connection that is silent for a minute; some earlier.
const KEEP_ALIVE_MS = 10_000;

const answerLater = async (
  id: string | number,
  exchange: Exchange,
  client: McpReply,
  sent: Promise<void>,
  options: AnswerOptions,
): Promise<undefined> => {
  const forget = nameCall(id, exchange, () => client.cancel(), options);
  try {
    await sent;
  } catch (error) {
    if (client.abandon()) throw error;
    const failure = explainRpcFailure(error, exchange.requestId);
    client.send(writeErrorMessage(id, failure.error), 'run');
    if (failure.isBug) options.onBug(error, exchange.requestId);
  } finally {
    forget();
  }
};
