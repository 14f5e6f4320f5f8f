import type { FastifyReply } from 'fastify';
import type { BatchAnswer } from '../executor/batch-request.ts';
import { holdUntil } from '../routes/answer-hold.ts';
import { toCallAnswer } from './call-answer.ts';
import { type CallOptions, nameCall, promisesOf, toCallBatch } from './call-batch.ts';
import type { Exchange } from './exchange.ts';
import { PlainCallReply } from './plain-call-reply.ts';
import type { PlainCall } from './read-plain-call.ts';
import { toErrorMessage, toRpcFailure } from './rpc-errors.ts';
import { type CallAbout, toCallResultJson } from './to-call-result.ts';

export type PlainCallOptions = CallOptions & {
  readonly version: string;
  readonly onBug: (error: unknown, requestId: string) => void;
  /** After how long a call that runs shows a sign of life, and then each time again. Left out: 10 s. */
  readonly keepAliveMs?: number;
};

/** Answers a plain call, at once where its result is there at once. */
export type AnswerPlainCall = (call: PlainCall, exchange: Exchange, reply: FastifyReply) => undefined | Promise<void>;

// Proxies close a connection that is silent for a minute; some earlier.
const KEEP_ALIVE_MS = 10_000;

/** One plain call on its way. */
type Answering = {
  readonly call: PlainCall;
  readonly exchange: Exchange;
  readonly client: PlainCallReply;
  readonly about: CallAbout;
  /** JSON text. */
  readonly serverInfo: string | null;
};

/**
 * Answers plain calls past the SDK, which makes a server, a transport, a request and a response of its own for each, and
 * checks them all by schemas: five times what the call itself takes.
 */
export const createAnswerPlainCall = (options: PlainCallOptions): AnswerPlainCall => {
  const serverInfo = JSON.stringify({ name: 'recourse', version: options.version });
  return (call, exchange, reply) => {
    const { params, revision } = call;
    const client = new PlainCallReply(reply);
    const batch = toCallBatch({ params, given: params.arguments, client, onProgress: null }, exchange, options);
    const about = {
      requestId: exchange.requestId,
      promises: promisesOf(params.name, options),
      isKeyed: batch.idempotency !== null,
      links: exchange.links,
    };
    const answering = { call, exchange, client, about, serverInfo: revision === 'current' ? serverInfo : null };
    const work = holdUntil(exchange.hold, options.executeBatch(batch));
    if (work instanceof Promise) return answerLater(work, answering, options);
    send(work, answering);
    return undefined;
  };
};

const answerLater = async (
  work: Promise<BatchAnswer>,
  answering: Answering,
  options: PlainCallOptions,
): Promise<void> => {
  const { call, exchange, client } = answering;
  if (call.takesEvents) client.keepAlive(options.keepAliveMs ?? KEEP_ALIVE_MS);
  const forget = nameCall(call.id, exchange, () => client.cancel(), options);
  try {
    send(await work, answering);
  } catch (error) {
    if (client.abandon()) throw error;
    // The head of a stream was sent: there is no status any more.
    const failure = toRpcFailure(error, exchange.requestId);
    client.send(toErrorMessage(call.id, failure.error), 'run');
    if (failure.isBug) options.onBug(error, exchange.requestId);
  } finally {
    forget();
  }
};

const send = (answer: BatchAnswer, { call, exchange, client, about, serverInfo }: Answering): void => {
  const { id } = call;
  const known = toCallAnswer(answer, exchange);
  if (known.kind === 'error') {
    client.send(toErrorMessage(id, known.error), 'run');
    return;
  }
  const result = toCallResultJson(known.json, about, serverInfo);
  client.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`, known.origin);
};
