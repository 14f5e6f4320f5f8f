import type { FastifyReply, FastifyRequest } from 'fastify';
import type { MessageFormat } from '../contract/message-format.ts';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import type { AnswerMemory } from '../executor/batch-request.ts';
import type { ByteHold } from '../executor/byte-budget.ts';
import { toJsonString, toWellFormedJson } from '../json/json-text.ts';
import { overloaded } from './problems.ts';

/** What a request and its answer take of the memory for answers, until the connection has taken the answer. */
export type AnswerHold = ByteHold;

// A value is in memory as itself and as the answer, and for a conversation as text inside texts as well. What is streamed is
// on its way while its result is kept for the end of its batch.
const COPIES = { results: 2, messages: 4, 'streamed results': 3, 'streamed messages': 5 } as const;

/** What an answer is made of, and so how often its values are in memory. */
export type MemoryForm = keyof typeof COPIES;

// What is smaller is within what the request has taken at the door.
const SMALL = 32_768;

// Of a request that waits there is no answer yet; about so much is its connection.
const WAITING_BYTES = 8192;

/**
 * From now on a request waits: it holds next to nothing, so that thousands may wait beside those that are answered. Its own
 * answer is small, or asks for room when it is there.
 */
export const holdLittle = ({ request: { hold }, raw }: FastifyReply): void =>
  hold?.set(WAITING_BYTES + raw.writableLength);

/** Why a request finds no room for its answer. */
export const NO_ROOM = { reason: 'answers', retryAfterSeconds: 2 } as const;

/** The memory of a batch's values, as the copies of them will need it. */
export const toAnswerMemory = ({ hold }: FastifyRequest, form: MemoryForm): AnswerMemory | null =>
  hold === null ? null : new HeldMemory(hold, COPIES[form]);

class HeldMemory implements AnswerMemory {
  readonly hold: AnswerHold;
  readonly copies: number;

  constructor(hold: AnswerHold, copies: number) {
    this.hold = hold;
    this.copies = copies;
  }

  take(bytes: number): boolean {
    return this.hold.take(bytes * this.copies);
  }

  give(bytes: number): void {
    this.hold.give(bytes * this.copies);
  }
}

/** Keeps what a request has taken until the work that was begun is done, also where its client goes before. */
export const holdUntil = <Value>(hold: AnswerHold | null, work: Value | Promise<Value>): Value | Promise<Value> =>
  hold === null || !(work instanceof Promise) ? work : releaseAfter(hold, work);

const releaseAfter = async <Value>(hold: AnswerHold, work: Promise<Value>): Promise<Value> => {
  hold.retain();
  try {
    return await work;
  } finally {
    hold.release();
  }
};

/** The body as it is sent: where it is large, as bytes, which the request holds from now on in place of all else. */
export const toPayload = ({ request: { hold } }: FastifyReply, text: string): string | Buffer => {
  const json = toWellFormedJson(text);
  if (json.length < SMALL) return json;
  // Not the text: the heap would keep it, and the socket a copy of it.
  const bytes = Buffer.from(json);
  hold?.set(bytes.length);
  return bytes;
};

/** Throws a problem where there is no room for results that were kept: they did not run now, and can be asked for again. */
export const requireRoomForReplay = (
  { hold }: Pick<FastifyRequest, 'hold'>,
  results: readonly RenderedResult[],
  form: MemoryForm,
): void => {
  const bytes = results.reduce((sum, { json }) => sum + Buffer.byteLength(json), 0);
  if (hold === null || hold.take(bytes * COPIES[form])) return;
  throw overloaded(NO_ROOM);
};

/** Throws a problem where there is no room for a body of something that can be read again later. */
export const requireRoom = ({ request: { hold } }: FastifyReply, json: string): void => {
  if (json.length < SMALL || hold === null || hold.take(json.length)) return;
  throw overloaded(NO_ROOM);
};

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
  readonly turn?: { readonly format: MessageFormat; readonly messages: unknown };
};

/** What a body says behind its results, as JSON text. */
export const toResultsTail = ({ turn, warnings = [] }: Pick<ResultsBody, 'turn' | 'warnings'>): string => {
  const messages = turn === undefined ? '' : `,"format":"${turn.format}","messages":${JSON.stringify(turn.messages)}`;
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
    json += isFirst ? result.json : `,${result.json}`;
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

/** The answer to a batch whose calls may go on after it (RFC 7240): 202 as long as any does. */
export const sendAsyncAnswer = (
  reply: FastifyReply,
  json: string,
  how: { readonly origin: 'run' | 'replayed'; readonly status: 'pending' | 'done'; readonly preferred: boolean },
): void => {
  const isPending = how.status === 'pending';
  sendJson(reply, json, isPending ? 202 : 200, [
    ...(how.origin === 'replayed' ? REPLAYED : NO_HEADERS),
    ...(how.preferred ? ['preference-applied', 'respond-async'] : []),
    ...(how.preferred || isPending ? ['location', `/tool-calls/${reply.request.id}`] : []),
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
  raw.end(payload);
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
