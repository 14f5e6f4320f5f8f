import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
} from '@modelcontextprotocol/client';
import { mayChangeNumbers, parseExactJson, parseJson } from '@recourse/toolkit-kit/egress/exact-json';
import { isRecord, type JsonRecord, memberOf, textAt } from 'recourse-server/contract/json-record';
import * as z from 'zod';
import { identifyOversize, toStandIn } from './message-limits.ts';

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.number() }),
});

/** The id of the request that a message which is sent cancels; null where it cancels none. */
export const cancelledIdOf = (message: unknown): number | null =>
  Cancelled.safeParse(message).data?.params.requestId ?? null;

const CALL = 'tools/call';

// The SDK refuses an answer as a whole for one entry that it does not know. For these requests it gets a result without
// entries, and what the server said beside it, as `answer`.
const PLACEHOLDERS: ReadonlyMap<string, JsonRecord> = new Map<string, JsonRecord>([
  [CALL, { resultType: 'complete', content: [] }],
  ['tools/list', { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }],
]);

// Enough for the id of an answer, at its beginning or at its end.
const EDGE_LENGTH = 256;

/**
 * Reads what a server sends as messages that the SDK takes. Whatever comes as the answer to an open request ends it: what
 * cannot be read as an error that says so, for the SDK would let the request wait. Numbers in answers of tools stay as
 * they were written.
 */
export class MessageReader {
  /** The methods of requests that wait for their answer. */
  readonly #open = new Map<string | number, string>();
  #lastId = -1;

  /** Notes what is sent to the server. */
  sent(message: unknown): void {
    const cancelled = cancelledIdOf(message);
    if (cancelled !== null) this.forget(cancelled);
    // Other ids belong to streams, which the SDK attends to.
    if (!isJSONRPCRequest(message) || typeof message.id !== 'number') return;
    this.#open.set(message.id, message.method);
    this.#lastId = Math.max(this.#lastId, message.id);
  }

  /** A request is not waited for any more. */
  forget(id: string | number): void {
    this.#open.delete(id);
  }

  /** The messages of a JSON text, none where it holds none. `askedId`: the request that it was sent in answer to. */
  read(text: string, askedId?: number): readonly JSONRPCMessage[] {
    const parsed = parseJson(text);
    if (!parsed.ok) return this.#readBroken(text);
    const entries = toEntries(parsed.value);
    const isExact = mayChangeNumbers(text) && entries.some((entry) => this.#isOfCall(entry));
    if (!isExact) return entries.flatMap((entry) => this.#readEntry(entry, askedId));
    const exact = parseExactJson(text);
    return exact.ok
      ? toEntries(exact.value).flatMap((entry) => this.#readEntry(entry, askedId))
      : this.#readBroken(text);
  }

  /** The same of the whole answer to a request, which is over with it. */
  readWhole(text: string, askedId: number): readonly JSONRPCMessage[] {
    const messages = this.read(text, askedId);
    return this.#open.has(askedId) ? [...messages, this.#end(askedId, '')] : messages;
  }

  /** The error that a refusal of this request holds; null where it holds none, and the status is all that is said. */
  readError(text: string, askedId: number): JSONRPCMessage | null {
    const parsed = parseJson(text);
    if (!parsed.ok || !isRecord(parsed.value) || toOwnId(parsed.value['id']) !== askedId) return null;
    const error = toError(askedId, parsed.value['error']);
    if (error !== null) this.forget(askedId);
    return error;
  }

  #isOfCall(entry: unknown): boolean {
    const id = isRecord(entry) ? toOwnId(entry['id']) : null;
    return id !== null && this.#open.get(id) === CALL;
  }

  #readBroken(text: string): readonly JSONRPCMessage[] {
    const id = identifyOversize({ head: text.slice(0, EDGE_LENGTH), tail: text.slice(-EDGE_LENGTH) });
    return typeof id === 'number' && this.#open.has(id) ? [this.#end(id, '')] : [];
  }

  #readEntry(entry: unknown, askedId: number | undefined): readonly JSONRPCMessage[] {
    if (!isRecord(entry)) return [];
    if ('method' in entry) return isJSONRPCRequest(entry) || isJSONRPCNotification(entry) ? [entry] : [];
    if (!isAnswer(entry)) return [];
    const id = toOwnId(entry['id']);
    return id !== null && this.#open.has(id) ? [this.#readAnswer(id, entry)] : this.#readForeign(entry, askedId);
  }

  /** An answer under the id of no open request. */
  #readForeign(entry: JsonRecord, askedId: number | undefined): readonly JSONRPCMessage[] {
    // Between messages of stdio stand lines of logs, which have results and errors of their own.
    if (askedId === undefined && entry['jsonrpc'] !== '2.0') return [];
    const given = memberOf(entry, 'id') ?? null;
    const isLate = typeof given === 'number' && given <= this.#lastId;
    // One that comes too late, or to a stream of the SDK's own.
    if (isLate || typeof given === 'string') return isJSONRPCResponse(entry) ? [entry] : [];
    const id = this.#requestOf(askedId);
    if (id === null) return [];
    // JSON-RPC 2.0, section 5: the error of a request that could not be read has the id null.
    return [given === null ? this.#readAnswer(id, entry) : this.#end(id, '')];
  }

  /** The request that an answer under no id of ours is for; null where that is not certain. */
  #requestOf(askedId: number | undefined): number | null {
    if (askedId !== undefined) return this.#open.has(askedId) ? askedId : null;
    const [only] = this.#open.size === 1 ? this.#open : [];
    // Some servers answer notifications, too, such as that of a handshake before the list is read.
    return only?.[1] === CALL && typeof only[0] === 'number' ? only[0] : null;
  }

  #readAnswer(id: number, { result, error }: JsonRecord): JSONRPCMessage {
    const method = this.#open.get(id) ?? '';
    const hasResult = result !== undefined && result !== null;
    if (error !== undefined && error !== null) {
      const message = hasResult ? null : toError(id, error);
      if (message === null) return this.#end(id, toErrorText(error));
      this.forget(id);
      return message;
    }
    const message = isRecord(result) ? toResult(id, result, PLACEHOLDERS.get(method)) : null;
    if (message === null) return this.#end(id, '');
    this.forget(id);
    return message;
  }

  #end(id: number, text: string): JSONRPCMessage {
    this.forget(id);
    return toStandIn(id, 'unreadable', text);
  }
}

const toEntries = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

/** The id as we give it; some servers make a text of it. */
const toOwnId = (id: unknown): number | null => {
  if (typeof id === 'number') return id;
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : null;
};

// Else it may be a line of a log with an `id` of its own.
const isAnswer = (entry: JsonRecord): boolean => entry['jsonrpc'] === '2.0' || 'result' in entry || 'error' in entry;

const toResult = (id: number, result: JsonRecord, placeholder: JsonRecord | undefined): JSONRPCMessage | null => {
  const message = {
    jsonrpc: '2.0',
    id,
    result: placeholder === undefined ? result : { ...placeholder, answer: result },
  };
  return isJSONRPCResponse(message) ? message : null;
};

const toError = (id: number, error: unknown): JSONRPCMessage | null => {
  if (!isRecord(error)) return null;
  const { code, message, data } = error;
  if (typeof code !== 'number' || !Number.isInteger(code)) return null;
  return { jsonrpc: '2.0', id, error: { code, message: typeof message === 'string' ? message : '', data } };
};

const toErrorText = (error: unknown): string => {
  if (typeof error === 'string') return error;
  return (isRecord(error) ? textAt(error, 'message') : undefined) ?? JSON.stringify(error);
};
