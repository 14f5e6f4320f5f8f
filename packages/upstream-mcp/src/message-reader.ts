import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
} from '@modelcontextprotocol/client';
import { mayChangeNumbers, parseExactJson, parseJson } from '@recourse/toolkit-kit/egress/exact-json';
import { hasMoreNodes, isRecord, type JsonRecord, memberOf, textAt } from 'recourse-server/contract/json-record';
import * as z from 'zod';
import type { LongLine } from './line-reader.ts';

const StandInData = z.object({ recourseStandIn: z.enum(['too_large', 'lost', 'unreadable']) });

/** Why an answer of the server is replaced by an error of our own, which ends the call it belongs to and no other. */
type StandIn = z.infer<typeof StandInData>['recourseStandIn'];

// JSON-RPC 2.0 leaves -32000 to -32099 to implementations.
const SERVER_ERROR = -32_000;

/** The reason where the data of a JSON-RPC error mark it as ours. A server that marks its own errors so gains nothing. */
export const readStandIn = (data: unknown): StandIn | null => StandInData.safeParse(data).data?.recourseStandIn ?? null;

// Values and names of members. An answer of the permitted size could hold eight million: parsing, checking and
// cutting those took thirteen seconds, in which the service answered nothing.
const MOST_PARTS = 200_000;
// Messages of one body. The SDK checks each of them, all in one turn of the event loop.
const MOST_MESSAGES = 100;
// The SDK checks a message with schemas that collect several problems for each bad item: 300 000 empty parts of a result
// took two gigabytes and fourteen seconds.
const MOST_NODES = 5_000;

/** Whether parsing a JSON text would block the service: counts commas, colons and opening brackets outside of strings. */
const isTooDense = (text: string): boolean => {
  let parts = 0;
  for (let at = 0; at < text.length && parts <= MOST_PARTS; at += 1) {
    const sign = text[at] ?? '';
    if (sign === '"') at = findStringEnd(text, at + 1);
    else if (sign === ',' || sign === ':' || sign === '[' || sign === '{') parts += 1;
  }
  return parts > MOST_PARTS;
};

const findStringEnd = (text: string, from: number): number => {
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
};

// Servers write the id first or last. Within other members it is followed, or preceded, by something else.
const FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const LAST = /[\]}"\dle]\s*,\s*"id"\s*:\s*(\d+)\s*\}\s*$/;
const NO_ANSWER = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:/;

/** Which message was not read: the answer to the call of that id, no answer at all, or an unknown one. */
export const identifyMessage = ({ head, tail }: LongLine): number | 'no_answer' | 'unknown' => {
  if (NO_ANSWER.test(head)) return 'no_answer';
  const id = FIRST.exec(head)?.[1] ?? LAST.exec(tail)?.[1];
  return id === undefined ? 'unknown' : Number(id);
};

// Enough for the id of an answer, at its beginning or at its end.
const EDGE_LENGTH = 256;
const cutToEdges = (text: string): LongLine => ({ head: text.slice(0, EDGE_LENGTH), tail: text.slice(-EDGE_LENGTH) });

const CALL = 'tools/call';
// The SDK refuses an answer as a whole for one entry that it does not know. For these requests it gets a result without
// entries, and what the server said beside it, as `answer`.
const PLACEHOLDERS: ReadonlyMap<string | undefined, JsonRecord> = new Map([
  [CALL, { resultType: 'complete', content: [] }],
  ['tools/list', { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }],
]);
const PASSED_ON: ReadonlySet<string> = new Set(['answer']);

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.number() }),
});

/** The id of the request that a sent message cancels; null where it cancels none. */
export const readCancelledId = (message: unknown): number | null =>
  Cancelled.safeParse(message).data?.params.requestId ?? null;

/**
 * Reads what a server sends as messages that the SDK takes. Owns the requests that wait for an answer: `sent` opens one;
 * its answer, a cancellation, `forget` or `end` closes it. Whatever comes as the answer to an open request ends it: what
 * cannot be read as an error of our own, for the SDK would let the request wait. Numbers in answers of tools stay as they
 * were written.
 */
export class MessageReader {
  /** Id → method. */
  readonly #open = new Map<string | number, string>();
  readonly #breakOff: (why: string) => void;
  #lastId = -1;

  /** `breakOff` ends the connection, where a message that may have been any answer was not read. */
  constructor(breakOff: (why: string) => void) {
    this.#breakOff = breakOff;
  }

  /** Notes what is sent to the server. */
  sent(message: unknown): void {
    const cancelled = readCancelledId(message);
    if (cancelled !== null) this.forget(cancelled);
    // Other ids belong to streams, which the SDK attends to.
    if (!isJSONRPCRequest(message) || typeof message.id !== 'number') return;
    this.#open.set(message.id, message.method);
    this.#lastId = Math.max(this.#lastId, message.id);
  }

  forget(id: string | number): void {
    this.#open.delete(id);
  }

  /** The error that ends an open request; none where it is not open. `text`: what the server says is wrong. */
  end(id: string | number, standIn: StandIn, text = ''): readonly JSONRPCMessage[] {
    const error = { code: SERVER_ERROR, message: text, data: { recourseStandIn: standIn } };
    return this.#open.delete(id) ? [{ jsonrpc: '2.0', id, error }] : [];
  }

  /** The messages of a JSON text, none where it holds none. `askedId`: the request that it was sent in answer to. */
  read(text: string, askedId?: number): readonly JSONRPCMessage[] {
    if (isTooDense(text)) return this.readLong(cutToEdges(text), askedId);
    const parsed = parseJson(text);
    const entries = parsed.ok ? [parsed.value].flat() : [];
    if (entries.length > MOST_MESSAGES) return this.readLong(cutToEdges(text), askedId);
    const isExact = mayChangeNumbers(text) && entries.some((entry) => this.#isOfCall(entry));
    const exact = isExact ? parseExactJson(text) : parsed;
    if (exact.ok) return [exact.value].flat().flatMap((entry) => this.#readEntry(entry, askedId));
    const id = identifyMessage(cutToEdges(text));
    return typeof id === 'number' ? this.end(id, 'unreadable') : [];
  }

  /** The same of a message that is too large to be read. */
  readLong(line: LongLine, askedId?: number): readonly JSONRPCMessage[] {
    const id = askedId ?? identifyMessage(line);
    if (id === 'unknown') this.#breakOff('it sent a message that is too large');
    return typeof id === 'number' ? this.end(id, 'too_large') : [];
  }

  /** The error that a refusal of this request holds; none where the status is all that is said. */
  readError(text: string, askedId: number): readonly JSONRPCMessage[] {
    const parsed = parseJson(text);
    if (!parsed.ok || !isRecord(parsed.value) || readOwnId(parsed.value) !== askedId) return [];
    const { error } = parsed.value;
    return isProtocolError(error) ? this.#readAnswer(askedId, { error }) : [];
  }

  #isOfCall(entry: unknown): boolean {
    const id = isRecord(entry) ? readOwnId(entry) : null;
    return id !== null && this.#open.get(id) === CALL;
  }

  #readEntry(entry: unknown, askedId: number | undefined): readonly JSONRPCMessage[] {
    if (!isRecord(entry)) return [];
    if ('method' in entry) return isMessage(entry) ? [entry] : [];
    // Between messages of stdio stand lines of logs, which have ids, results and errors of their own.
    const isSigned = entry['jsonrpc'] === '2.0';
    if (!isSigned && !('result' in entry) && !('error' in entry)) return [];
    const id = readOwnId(entry);
    if (this.#open.has(id ?? '')) return this.#readAnswer(Number(id), entry);
    return isSigned || askedId !== undefined ? this.#readForeign(entry, askedId) : [];
  }

  /** An answer under the id of no open request. */
  #readForeign(entry: JsonRecord, askedId: number | undefined): readonly JSONRPCMessage[] {
    const foreignId = memberOf(entry, 'id') ?? null;
    const isLate = typeof foreignId === 'number' && foreignId <= this.#lastId;
    // One that comes too late, or to a stream of the SDK's own.
    if (isLate || typeof foreignId === 'string') return isJSONRPCResponse(entry) ? [entry] : [];
    const id = askedId ?? this.#findOnlyCall();
    if (id === null || !this.#open.has(id)) return [];
    // JSON-RPC 2.0, section 5: the error of a request that could not be read has the id null.
    return foreignId === null ? this.#readAnswer(id, entry) : this.end(id, 'unreadable');
  }

  /** The only open request, where it is a call: some servers answer notifications, too, such as that of a handshake. */
  #findOnlyCall(): number | null {
    const [only] = this.#open.size === 1 ? this.#open : [];
    return only?.[1] === CALL && typeof only[0] === 'number' ? only[0] : null;
  }

  #readAnswer(id: number, entry: JsonRecord): readonly JSONRPCMessage[] {
    const [result, error] = [entry['result'] ?? null, entry['error'] ?? null];
    if (error !== null && (result !== null || !isProtocolError(error)))
      return this.end(id, 'unreadable', describeError(error));
    const placeholder = PLACEHOLDERS.get(this.#open.get(id));
    const shown = placeholder === undefined || !isRecord(result) ? result : { ...placeholder, answer: result };
    const message = { jsonrpc: '2.0', id, ...(error === null ? { result: shown } : { error: toSdkError(error) }) };
    if (hasMoreNodes(message, MOST_NODES, PASSED_ON)) return this.end(id, 'too_large');
    if (!isJSONRPCResponse(message)) return this.end(id, 'unreadable');
    this.forget(id);
    return [message];
  }
}

/** A request or notification of the server, unless it is so heavy that the SDK would choke on it. */
const isMessage = (entry: JsonRecord): entry is JSONRPCRequest | JSONRPCNotification =>
  !hasMoreNodes(entry, MOST_NODES) && (isJSONRPCRequest(entry) || isJSONRPCNotification(entry));

/** The id as we wrote it; some servers make a text of it. */
const readOwnId = ({ id }: JsonRecord): number | null => {
  if (typeof id === 'number') return id;
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : null;
};

const isProtocolError = (error: unknown): boolean => Number.isInteger(memberOf(error, 'code'));

const toSdkError = (error: unknown) => {
  const message = memberOf(error, 'message');
  return {
    code: memberOf(error, 'code'),
    message: typeof message === 'string' ? message : '',
    data: memberOf(error, 'data'),
  };
};

const describeError = (error: unknown): string => {
  if (typeof error === 'string') return error;
  return (isRecord(error) ? textAt(error, 'message') : undefined) ?? JSON.stringify(error);
};
