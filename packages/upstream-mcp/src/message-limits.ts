import type { JSONRPCErrorResponse, JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { hasMoreNodes } from 'recourse-server/contract/json-record';
import * as z from 'zod';

/** A way to one server, and what the SDK's own transports do not tell. */
export type ServerTransport = {
  readonly transport: Transport;
  /** Why it ended, one clause for people; null before the end is known. */
  readonly reason: () => string | null;
  /** Ends it where it cannot be used any more: calls that wait for an answer end as lost. */
  readonly breakOff: (why: string) => void;
  /** Ends what it started, without waiting for it. */
  readonly kill: () => void;
};

// Values and names of members. An answer of the permitted size could hold eight million: parsing, checking and
// cutting those took thirteen seconds, in which the service answered nothing.
const MOST_PARTS = 200_000;
// Messages of one body. The SDK checks each of them, all in one turn of the event loop.
const MOST_MESSAGES = 100;

const [LINE_FEED, RETURN, QUOTE, COMMA, COLON, BACKSLASH] = [10, 13, 34, 44, 58, 92] as const;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125] as const;

/**
 * How much a JSON text, which may come in pieces, makes its parser do, counted before anything parses it: commas, colons
 * and opening brackets outside of strings. A line end ends a string: JSON holds none inside.
 */
export class JsonDensity {
  #place: 'outside' | 'string' | 'escape' = 'outside';
  #parts = 0;
  #messages = 0;
  #depth = 0;
  #isList = false;

  get isTooDense(): boolean {
    return this.#parts > MOST_PARTS || this.#messages > MOST_MESSAGES;
  }

  /** Counts the bytes from `from` up to `to`. */
  read(bytes: Uint8Array, from = 0, to = bytes.length): void {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.#place === 'outside') this.#readOutside(byte);
      else this.#readInside(byte);
    }
  }

  #readOutside(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#place = 'string';
        return;
      case COMMA:
        if (this.#depth === 1 && this.#isList) this.#messages += 1;
        this.#parts += 1;
        return;
      case COLON:
        this.#parts += 1;
        return;
      case OPEN_LIST:
      case OPEN_OBJECT:
        if (this.#depth === 0) this.#isList = byte === OPEN_LIST;
        this.#depth += 1;
        this.#parts += 1;
        return;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#depth -= 1;
    }
  }

  #readInside(byte: number): void {
    if (byte === LINE_FEED || byte === RETURN) this.#place = 'outside';
    else if (this.#place === 'escape') this.#place = 'string';
    else if (byte === BACKSLASH) this.#place = 'escape';
    else if (byte === QUOTE) this.#place = 'outside';
  }
}

// A busy server reports progress some hundred times a second; an event takes two to four lines.
const MOST_LINES_A_SECOND = 5_000;

/** Counts the lines of a connection: whether one more is too many of a second. */
export const createLineRate = (): (() => boolean) => {
  let second = { startedAt: 0, lines: 0 };
  return () => {
    const now = performance.now();
    if (now - second.startedAt > 1_000) second = { startedAt: now, lines: 0 };
    second.lines += 1;
    return second.lines > MOST_LINES_A_SECOND;
  };
};

export const FLOOD_REASON = 'it sends messages faster than the limit';

/** Why an answer of the server is replaced by one of our own. */
type StandIn = 'too_large' | 'lost' | 'unreadable';

// JSON-RPC 2.0 leaves -32000 to -32099 to whoever implements it.
const SERVER_ERROR = -32_000;
const StandInData = z.object({ recourseStandIn: z.enum(['too_large', 'lost', 'unreadable']) });

/**
 * An answer in the place of one that was not read: the call it belongs to ends with it, and no other. `text`: what the
 * server says is wrong, where that much can be read.
 */
export const toStandIn = (id: string | number, standIn: StandIn, text = ''): JSONRPCErrorResponse => ({
  jsonrpc: '2.0',
  id,
  error: { code: SERVER_ERROR, message: text, data: { recourseStandIn: standIn } },
});

/** Whether the data of a JSON-RPC error say that we made it. A server that says so of itself changes nothing. */
export const readStandIn = (data: unknown): StandIn | null => StandInData.safeParse(data).data?.recourseStandIn ?? null;

/** A line that was not kept: its beginning and its end, by which one may see whose answer it was. */
export type OversizeLine = { readonly head: string; readonly tail: string };

// Servers write the id first or last. Within other members it is followed, or preceded, by something else.
const FIRST = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/;
const LAST = /[\]}"\dle]\s*,\s*"id"\s*:\s*(\d+)\s*\}\s*$/;
const NO_ANSWER = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:/;

/** Which message was not read: the answer to the call of that id, no answer at all, or an unknown one. */
export const identifyOversize = ({ head, tail }: OversizeLine): number | 'no_answer' | 'unknown' => {
  if (NO_ANSWER.test(head)) return 'no_answer';
  const id = FIRST.exec(head)?.[1] ?? LAST.exec(tail)?.[1];
  return id === undefined ? 'unknown' : Number(id);
};

// The SDK checks what a message says with schemas that collect several problems for each bad item: 300 000 empty parts of
// a result took two gigabytes and fourteen seconds.
const MOST_NODES = 5_000;
// Passed on unread by the SDK, and judged elsewhere.
const PASSED_ON: ReadonlySet<string> = new Set(['answer']);

/** Hands a message on, unless the SDK would choke on it: then the call it answers ends as too large. */
export const handOn = (message: JSONRPCMessage, to: (message: JSONRPCMessage) => void): 'taken' | 'too_heavy' => {
  if (!hasMoreNodes(message, MOST_NODES, PASSED_ON)) {
    to(message);
    return 'taken';
  }
  if ('id' in message && !('method' in message) && message.id !== undefined) to(toStandIn(message.id, 'too_large'));
  return 'too_heavy';
};
