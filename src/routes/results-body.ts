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

/** The payload of results as they are: each is proved to be JSON, and one BigInt must not cost the whole batch its answer. */
export const toResultsPayload = (reply: FastifyReply, body: ResultsBody): string | Buffer =>
  toJsonPayload(reply, toJson(body));

/** The same for results that are kept. */
export const sendKeptResults = (reply: FastifyReply, body: ResultsBody): FastifyReply =>
  sendReading(reply, toJson(body));

const toJson = ({ requestId, sessionId, results, turn }: ResultsBody): string => {
  const session = sessionId === null ? 'null' : JSON.stringify(sessionId);
  let json = `{"request_id":${JSON.stringify(requestId)},"session_id":${session},"results":[`;
  let isFirst = true;
  for (const result of results) {
    json += isFirst ? result : `,${result}`;
    isFirst = false;
  }
  const tail = turn === undefined ? '' : `,"format":"${turn.format}","messages":${JSON.stringify(turn.messages)}`;
  return `${json}]${tail}}`;
};

/** A JSON text as the payload of a reply, which says from now on that it is one. */
export const toJsonPayload = (reply: FastifyReply, json: string): string | Buffer => {
  void reply.type(JSON_TYPE);
  return toPayload(reply, json);
};

/** The same for what changes nothing and can be read again: a problem where there is no room for it in memory. */
export const sendReading = (reply: FastifyReply, json: string): FastifyReply => {
  requireRoom(reply, json);
  return reply.send(toJsonPayload(reply, json));
};
