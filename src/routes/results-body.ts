import type { FastifyReply } from 'fastify';
import type { MessageFormat } from '../contract/message-format.ts';
import type { Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import { requireRoom, toPayload } from './answer-hold.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export type ResultsBody = {
  readonly requestId: string;
  readonly sessionId: string | null;
  /** JSON texts. */
  readonly results: readonly string[];
  /** Of the request, not of a call. */
  readonly warnings?: readonly Warning[];
  /** The same for a conversation, where the calls came in another format than our own. */
  readonly turn?: { readonly format: MessageFormat; readonly messages: readonly unknown[] };
};

/** Results as they are: each is proved to be JSON, and one BigInt must not cost the whole batch its answer. */
export const toResultsJson = ({ requestId, sessionId, results, turn, warnings = [] }: ResultsBody): string => {
  const session = sessionId === null ? 'null' : toJsonString(sessionId);
  let json = `{"request_id":${toJsonString(requestId)},"session_id":${session},"results":[`;
  let isFirst = true;
  for (const result of results) {
    json += isFirst ? result : `,${result}`;
    isFirst = false;
  }
  const tail = turn === undefined ? '' : `,"format":"${turn.format}","messages":${JSON.stringify(turn.messages)}`;
  const said = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`;
  return `${json}]${tail}${said}}`;
};

/** Sends results that were kept; see `sendReading`. */
export const sendKeptResults = (reply: FastifyReply, body: ResultsBody): FastifyReply =>
  sendReading(reply, toResultsJson(body));

/**
 * Sends the answer to a batch by one head and one write. It goes past Fastify's own sending, which looks for hooks and
 * serializers that this route does not have, for about two microseconds.
 */
export const sendAnswer = (reply: FastifyReply, json: string, origin: 'run' | 'replayed'): void => {
  const { raw, request } = reply;
  const payload = toPayload(reply, json);
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
  const head = ['content-type', JSON_TYPE, 'content-length', String(length), 'x-request-id', request.id];
  if (origin === 'replayed') head.push('idempotent-replayed', 'true');
  reply.hijack();
  raw.writeHead(200, head);
  raw.end(payload);
};

/** Sends what changes nothing and can be read again: a problem where there is no room for it in memory. */
export const sendReading = (reply: FastifyReply, json: string): FastifyReply => {
  requireRoom(reply, json);
  return reply.type(JSON_TYPE).send(toPayload(reply, json));
};
