import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { isRecord } from 'recourse-server/contract/json-record';
import type { BatchAnswer } from 'recourse-server/executor/batch-request';
import type { RouteHost } from 'recourse-server/extension';
import { toOneLineJson } from 'recourse-server/json/json-text';
import { leaseUntil, toPayload } from 'recourse-server/routes/request-memory';
import { sendAnswer } from 'recourse-server/routes/send-answer';
import { ReplyClient } from 'recourse-server/routes/tool-calls';
import { type CallOptions, CallParams, createCallBatch, describeCall, nameCall, readCallAnswer } from './call-batch.ts';
import { toCallResultJson } from './call-result.ts';
import { CURRENT_REVISION, type Exchange, explainRpcFailure, writeErrorMessage } from './rpc-exchange.ts';
import { declaresTasks } from './tasks.ts';

/** A `tools/call` that asks for its result and for nothing else of the protocol. */
export type PlainCall = {
  readonly id: string | number;
  /** `current`: 2026-07-28, whole in itself. `earlier`: one that `initialize` may stand before. */
  readonly revision: 'current' | 'earlier';
  readonly params: CallParams;
  /** Whether the client names event streams among what it takes: an answer that is long in coming may be one. */
  readonly takesEvents: boolean;
  /** Whether the client declares that its call may become a task, which only the SDK makes of it. */
  readonly takesTask: boolean;
};

const EARLIER_REVISIONS: ReadonlySet<string> = new Set([
  ...['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'],
]);

const ENVELOPE = 'io.modelcontextprotocol/';
const VERSION = `${ENVELOPE}protocolVersion`;
const CAPABILITIES = `${ENVELOPE}clientCapabilities`;
const CLIENT = `${ENVELOPE}clientInfo`;
const OWN = 'recourse/';

type Members = Readonly<Record<string, unknown>>;

/**
 * Reads a call that needs nothing of the SDK: no progress, no input of a person. null for every other message, and for
 * each that is not quite as the protocol has it: the SDK answers those, and says what is wrong.
 */
export const readPlainCall = (body: unknown, headers: IncomingHttpHeaders): PlainCall | null => {
  if (!isRecord(body) || body['method'] !== 'tools/call' || body['jsonrpc'] !== '2.0') return null;
  const { id, params } = body;
  const accepted = readAccept(headers.accept);
  if (!isId(id) || accepted === null || Object.keys(body).length !== 4 || !isRecord(params)) return null;
  const read = readParams(params);
  if (read === null) return null;
  const meta = params['_meta'] ?? NO_META;
  const revision = isRecord(meta) ? readRevision(read.name, meta, headers) : null;
  if (revision === null) return null;
  const takesTask = revision === 'current' && declaresTasks(meta);
  return { id, revision, params: read, takesEvents: accepted === 'both', takesTask };
};

const NO_META: Members = {};

const isId = (id: unknown): id is string | number => typeof id === 'string' || Number.isSafeInteger(id);

const readAccept = (accept = '*/*'): 'anything' | 'both' | null => {
  if (accept.includes('application/json') && accept.includes('text/event-stream')) return 'both';
  return accept.includes('*/*') ? 'anything' : null;
};

const readParams = (params: Members): CallParams | null => {
  for (const member in params) if (!PARAMS.has(member)) return null;
  const { name, arguments: args, _meta: meta } = params;
  if (typeof name !== 'string' || (meta !== undefined && !isRecord(meta))) return null;
  if (meta === undefined) return { name, arguments: args };
  if ('progressToken' in meta) return null;
  return hasOwn(meta) ? (CallParams.safeParse(params).data ?? null) : { name, arguments: args };
};

const hasOwn = (meta: Members): boolean => {
  for (const key in meta) if (key.startsWith(OWN)) return true;
  return false;
};

// `task` asked for tasks as 2025-11-25 had them, which servers that have none are to ignore.
const PARAMS: ReadonlySet<string> = new Set(['name', 'arguments', '_meta', 'task']);

const readRevision = (name: string, meta: Members, headers: IncomingHttpHeaders): PlainCall['revision'] | null => {
  const version = headers['mcp-protocol-version'];
  const isNamed = typeof version === 'string';
  if (!(VERSION in meta)) return !isNamed || EARLIER_REVISIONS.has(version) ? 'earlier' : null;
  const isCurrent =
    meta[VERSION] === CURRENT_REVISION &&
    version === CURRENT_REVISION &&
    headers['mcp-method'] === 'tools/call' &&
    headers['mcp-name'] === name;
  return isCurrent && isEnvelope(meta) ? 'current' : null;
};

const isEnvelope = (meta: Members): boolean => {
  for (const key in meta) if (key.startsWith(ENVELOPE) && !ENVELOPE_KEYS.has(key)) return false;
  return isCapabilities(meta[CAPABILITIES]) && isClient(meta[CLIENT]);
};

const ENVELOPE_KEYS: ReadonlySet<string> = new Set([VERSION, CAPABILITIES, CLIENT]);

// What clients declare is an object of objects, whose members are objects and truth values.
const isCapabilities = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  for (const name in value) {
    const capability = value[name];
    if (!isRecord(capability) || !Object.values(capability).every(isDetail)) return false;
  }
  return true;
};

const isDetail = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value);

const isClient = (value: unknown): boolean => {
  if (value === undefined) return true;
  if (!isRecord(value) || typeof value['name'] !== 'string' || typeof value['version'] !== 'string') return false;
  for (const member in value) if (!CLIENT_MEMBERS.has(member) || typeof value[member] !== 'string') return false;
  return true;
};

const CLIENT_MEMBERS: ReadonlySet<string> = new Set(['name', 'version', 'title', 'description', 'websiteUrl']);

/**
 * The one answer to a plain call, and whether somebody waits for it. A JSON body; where the call takes longer than `keepAliveMs` and
 * its client takes events, a stream, in which a comment now and then keeps proxies from closing the connection.
 *
 * | state     | meaning                                          |
 * |-----------|--------------------------------------------------|
 * | waiting   | nothing was sent                                 |
 * | streaming | the head of a stream was sent, the answer was not |
 * | over      | answered, or cancelled and ended without an answer |
 */
class PlainCallReply extends ReplyClient {
  #state: 'waiting' | 'streaming' | 'over' = 'waiting';
  #isCancelled = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #reply: FastifyReply;
  readonly #answer: ServerResponse;
  readonly #listeners = new Set<() => void>();

  constructor(reply: FastifyReply) {
    super(reply.raw);
    this.#reply = reply;
    this.#answer = reply.raw;
  }

  override isGone(): boolean {
    return this.#isCancelled || super.isGone();
  }

  override whenGone(listener: () => void): () => void {
    if (this.#isCancelled && !super.isGone()) listener();
    const forget = super.whenGone(listener);
    this.#listeners.add(listener);
    return () => {
      forget();
      this.#listeners.delete(listener);
    };
  }

  keepAlive(everyMs: number): void {
    this.#timer = setInterval(() => this.#write(': the call is still running\n\n'), everyMs);
    this.#timer.unref();
  }

  /** The client has cancelled the call: nothing more is sent for it. */
  cancel(): void {
    this.#isCancelled = true;
    for (const listener of this.#listeners) listener();
    if (this.#state === 'over') return;
    this.#write('');
    this.#end('');
  }

  send(json: string, origin: 'run' | 'replayed'): void {
    if (this.#state === 'over') return;
    if (this.#state === 'streaming') {
      this.#end(toPayload(this.#reply, `event: message\ndata: ${toOneLineJson(json)}\n\n`));
      return;
    }
    this.#close();
    sendAnswer(this.#reply, json, origin);
  }

  /** Leaves the answer to another, where none has begun; says whether that is so. */
  abandon(): boolean {
    clearInterval(this.#timer);
    return this.#state === 'waiting';
  }

  #write(text: string): void {
    if (this.#state === 'waiting') {
      this.#state = 'streaming';
      this.#reply.hijack();
      this.#answer.writeHead(200, { ...EVENT_STREAM, 'x-request-id': this.#reply.request.id });
    }
    if (text !== '') this.#answer.write(text);
  }

  #end(text: string | Buffer): void {
    this.#close();
    this.#answer.end(text);
  }

  #close(): void {
    this.#state = 'over';
    clearInterval(this.#timer);
  }
}

const EVENT_STREAM = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;

export type PlainCallOptions = CallOptions &
  Pick<RouteHost, 'version' | 'onBug'> & {
    /** After how long a call that runs shows a sign of life, and then each time again. Left out: 10 s. */
    readonly keepAliveMs?: number;
  };

// Proxies close a connection that is silent for a minute; some earlier.
const KEEP_ALIVE_MS = 10_000;

/**
 * Answers plain calls past the SDK, which makes a server, a transport, a request and a response of its own for each, and
 * checks them all by schemas: five times what the call itself takes. A call is answered at once where its result is there at once.
 */
export const createAnswerPlainCall = (options: PlainCallOptions) => {
  const serverInfo = JSON.stringify({ name: 'recourse', version: options.version });
  return (call: PlainCall, exchange: Exchange, reply: FastifyReply): undefined | Promise<void> => {
    const { id, params, revision } = call;
    const client = new PlainCallReply(reply);
    const batch = createCallBatch({ params, args: params.arguments, client, onProgress: null }, exchange, options);
    const about = describeCall(params, exchange, options);
    const send = (batchAnswer: BatchAnswer): void => {
      const answer = readCallAnswer(batchAnswer, exchange);
      if (answer.kind === 'error') {
        client.send(writeErrorMessage(id, answer.error), 'run');
        return;
      }
      const result = toCallResultJson(answer.result, about, revision === 'current' ? serverInfo : null);
      client.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`, answer.origin);
    };
    const work = leaseUntil(batch, options.executeBatch(batch));
    if (work instanceof Promise) return answerLater(call, exchange, client, work.then(send), options);
    send(work);
    return undefined;
  };
};

const answerLater = async (
  call: PlainCall,
  exchange: Exchange,
  client: PlainCallReply,
  sent: Promise<void>,
  options: PlainCallOptions,
): Promise<void> => {
  if (call.takesEvents) client.keepAlive(options.keepAliveMs ?? KEEP_ALIVE_MS);
  const forget = nameCall(call.id, exchange, () => client.cancel(), options);
  try {
    await sent;
  } catch (error) {
    if (client.abandon()) throw error;
    // The head of a stream was sent: there is no status any more.
    const failure = explainRpcFailure(error, exchange.requestId);
    client.send(writeErrorMessage(call.id, failure.error), 'run');
    if (failure.isBug) options.onBug(error, exchange.requestId);
  } finally {
    forget();
  }
};
