import type { FastifyReply } from 'fastify';
import type { MessageFormat } from '../contract/message-format.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export type ResultsBody = {
  readonly requestId: string;
  readonly sessionId: string | null;
  /** JSON texts. */
  readonly results: readonly string[];
  /** The same for a conversation, where the calls came in another format than our own. */
  readonly turn?: { readonly format: MessageFormat; readonly messages: readonly unknown[] };
};

/** Sends results as they are: each is proved to be JSON, and one BigInt must not cost the whole batch its answer. */
export const sendResults = (
  reply: FastifyReply,
  { requestId, sessionId, results, turn }: ResultsBody,
): FastifyReply => {
  const head = `{"request_id":${JSON.stringify(requestId)},"session_id":${JSON.stringify(sessionId)},"results":[`;
  const tail = turn === undefined ? '' : `,"format":"${turn.format}","messages":${JSON.stringify(turn.messages)}`;
  return sendJson(reply, `${head}${results.join(',')}]${tail}}`);
};

/** Sends a JSON text as it is. */
export const sendJson = (reply: FastifyReply, json: string): FastifyReply => reply.type(JSON_TYPE).send(json);
