import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MessageFormat } from '../contract/message-format.ts';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import { toJsonString } from '../json/json-text.ts';
import { requireRoom, toPayload } from './request-memory.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

export type ResultsBody = {
  readonly requestId: string;
  readonly sessionId: string | null;
  /** Only where calls may go on after the answer. */
  readonly status?: 'pending' | 'done' | undefined;
  readonly results: readonly RenderedResult[];
  /** Of the request, not of a call. */
  readonly warnings?: readonly Warning[];
  /** The same for a conversation, where the calls came in another format than our own. */
  readonly conversation?: { readonly format: MessageFormat; readonly messages: unknown } | undefined;
};

/** What a body says behind its results, as JSON text. */
export const toResultsTail = ({
  conversation,
  warnings = [],
}: Pick<ResultsBody, 'conversation' | 'warnings'>): string => {
  const messages =
    conversation === undefined
      ? ''
      : `,"format":"${conversation.format}","messages":${JSON.stringify(conversation.messages)}`;
  return warnings.length === 0 ? messages : `${messages},"warnings":${JSON.stringify(warnings)}`;
};

/** Results as they are: each is proved to be JSON, and one BigInt must not cost the whole batch its answer. */
export const toResultsJson = (body: ResultsBody): string => {
  const { requestId, sessionId, status, results } = body;
  const session = sessionId === null ? 'null' : toJsonString(sessionId);
  const shownStatus = status === undefined ? '' : `"status":"${status}",`;
  let json = `{"request_id":${toJsonString(requestId)},"session_id":${session},${shownStatus}"results":[`;
  let isFirst = true;
  for (const result of results) {
    if (!isFirst) json += ',';
    json += result.json;
    isFirst = false;
  }
  return `${json}]${toResultsTail(body)}}`;
};

/**
 * Sends the answer to a batch by one head and one write. It goes past Fastify's own sending, which looks for hooks and
 * serializers that this route does not have, for about two microseconds.
 */
export const sendAnswer = (reply: FastifyReply, json: string, origin: 'run' | 'replayed'): void =>
  sendJson(reply, json, 200, origin === 'replayed' ? REPLAYED : NO_HEADERS);

const REPLAYED = ['idempotent-replayed', 'true'];
const NO_HEADERS: readonly string[] = [];
const POLL_AFTER_SECONDS = '2';

/** The answer to a batch whose calls may go on after it (RFC 7240): 202 as long as any does. It names no place that knows nothing of it. */
export const sendAsyncAnswer = (
  reply: FastifyReply,
  json: string,
  how: {
    readonly origin: 'run' | 'replayed';
    readonly status: 'pending' | 'done';
    readonly preferred: boolean;
    readonly isFound: boolean;
  },
): void => {
  const isPending = how.status === 'pending';
  sendJson(reply, json, isPending ? 202 : 200, [
    ...(how.origin === 'replayed' ? REPLAYED : NO_HEADERS),
    ...(how.preferred ? ['preference-applied', 'respond-async'] : []),
    ...(how.isFound && (how.preferred || isPending) ? ['location', `/tool-calls/${reply.request.id}`] : []),
    ...(isPending ? ['retry-after', POLL_AFTER_SECONDS] : []),
  ]);
};

const sendJson = (reply: FastifyReply, json: string, code: 200 | 202, headers: readonly string[]): void => {
  const { raw, request } = reply;
  const payload = toPayload(reply, json);
  const length = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length;
  const head = ['content-type', JSON_TYPE, 'content-length', String(length), 'x-request-id', request.id];
  if (headers.length > 0) head.push(...headers);
  reply.hijack();
  raw.writeHead(code, head);
  // Of ASCII alone: one byte a character, which Node writes without looking at each.
  if (length === payload.length) raw.end(payload, 'latin1');
  else raw.end(payload);
};

/** Sends what changes nothing and can be read again: a problem where there is no room for it in memory. */
export const sendReading = (reply: FastifyReply, json: string): FastifyReply => {
  requireRoom(reply, json);
  return reply.type(JSON_TYPE).send(toPayload(reply, json));
};

/** Whether `If-None-Match` names the tag, or anything. Compared as RFC 9110 section 13.1.2 has it: weakly. */
const isKnown = (header: string | undefined, entityTag: string): boolean =>
  (header ?? '').split(',').some((known) => [entityTag, '*'].includes(known.trim().replace(/^W\//, '')));

/** Sets the tag, and answers 304 without a body where the client has what it stands for; else `send` answers. */
export const sendUnlessKnown = (
  request: FastifyRequest,
  reply: FastifyReply,
  entityTag: string,
  send: () => FastifyReply,
): FastifyReply => {
  void reply.header('etag', entityTag);
  return isKnown(request.headers['if-none-match'], entityTag) ? reply.code(304).send() : send();
};
