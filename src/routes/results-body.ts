import type { FastifyReply } from 'fastify';
import type { MessageFormat } from '../contract/message-format.ts';
import { requireRoom, toPayload } from './answer-hold.ts';

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
export const sendResults = (reply: FastifyReply, body: ResultsBody): FastifyReply => sendJson(reply, toJson(body));

/** The same for results that are kept. */
export const sendKeptResults = (reply: FastifyReply, body: ResultsBody): FastifyReply =>
  sendReading(reply, toJson(body));

const toJson = ({ requestId, sessionId, results, turn }: ResultsBody): string => {
  const head = `{"request_id":${JSON.stringify(requestId)},"session_id":${JSON.stringify(sessionId)},"results":[`;
  const tail = turn === undefined ? '' : `,"format":"${turn.format}","messages":${JSON.stringify(turn.messages)}`;
  return `${head}${results.join(',')}]${tail}}`;
};

/** Sends a JSON text as it is. */
export const sendJson = (reply: FastifyReply, json: string): FastifyReply =>
  reply.type(JSON_TYPE).send(toPayload(reply, json));

/** The same for what changes nothing and can be read again: a problem where there is no room for it in memory. */
export const sendReading = (reply: FastifyReply, json: string): FastifyReply => {
  requireRoom(reply, json);
  return sendJson(reply, json);
};
