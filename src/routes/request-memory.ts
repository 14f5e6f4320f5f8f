import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RenderedResult } from '../contract/tool-result.ts';
import type { BatchMemory, BatchRequest } from '../executor/batch-request.ts';
import { toWellFormedJson } from '../json/json-text.ts';
import { weighJson } from '../json/weigh-json.ts';
import type { MemoryLease } from '../memory/byte-budget.ts';
import { type BatchText, LeasedMemory } from '../memory/leased-memory.ts';
import { overloaded } from './problems.ts';

/** What a request takes of the memory for requests: its body, and its answer until the connection has taken it. */
export type RequestLease = MemoryLease;

// A value is in memory as itself and as the answer, and for a conversation as text inside texts as well. What is streamed is
// on its way while its result is kept for the end of its batch.
const COPIES = { results: 2, messages: 4, 'streamed results': 3, 'streamed messages': 5 } as const;

/** What an answer is made of, and so how often its values are in memory. */
export type MemoryForm = keyof typeof COPIES;

// What is smaller is within what the request has taken at the door.
const SMALL = 32_768;

/** What a request takes at the door beside its body. Measured: a batch without large values takes 20 to 30 kB. */
export const FIRST_BYTES = 32_768;

/**
 * Of a body that is read: its text and its value, or a copy of the value on its way to a tool host. Measured with bodies of
 * one long string; what more the value takes is weighed when the text is there, before it is parsed.
 */
export const BODY_COPIES = 2;

// The value of such a body takes half a megabyte at most. A batch that ends at once frees it before the next request is read: only
// one that waits is weighed.
const SMALL_BODY = 16_384;

/**
 * Takes what a body and its value take of memory, before it is parsed. `length`: as announced, undefined where it was not.
 * Throws a problem where there is no room. Gives the bytes taken; 0: few, and weighed when its batch does not end at once.
 */
export const takeBody = (hold: RequestLease | null, text: string, length: string | undefined): number => {
  if (hold === null || (text.length <= SMALL_BODY && length !== undefined)) return 0;
  const bytes = text.length + weighJson(text);
  if (!hold.fit(FIRST_BYTES + bytes)) throw overloaded(NO_ROOM);
  return bytes;
};

// Of a request that waits there is no answer yet; about so much is its connection.
const WAITING_BYTES = 8192;

/** How many answers may wait or stream: so many as take half of the memory for requests, the rest is for those that are answered. */
export const toMostReadings = (limitBytes: number): number => Math.floor(limitBytes / 2 / WAITING_BYTES);

/**
 * From now on a request waits: it holds next to nothing, so that thousands may wait beside those that are answered. Its own
 * answer is small, or asks for room when it is there.
 */
export const leaseLittle = ({ request: { hold }, raw }: FastifyReply): void =>
  hold?.set(WAITING_BYTES + raw.writableLength);

/** Why a request finds no room for its body or its answer. */
export const NO_ROOM = { reason: 'request_memory', retryAfterSeconds: 2 } as const;

/** The memory of a batch: its values, as the copies of them will need it, and what its body takes. */
export const toBatchMemory = (
  { hold }: Pick<FastifyRequest, 'hold'>,
  form: MemoryForm,
  body: BatchText,
): BatchMemory | null => (hold === null ? null : new LeasedMemory(hold, COPIES[form], body));

/** Keeps what a batch has taken until it is done, also where its client goes before. */
export const leaseUntil = <Value>(
  { memory }: Pick<BatchRequest, 'memory'>,
  work: Value | Promise<Value>,
): Value | Promise<Value> => (memory && work instanceof Promise ? memory.keepUntil(work) : work);

/** The body as it is sent: where it is large, as bytes, which the request holds from now on in place of all else. */
export const toPayload = ({ request }: FastifyReply, text: string): string | Buffer => {
  const json = toWellFormedJson(text);
  if (json.length < SMALL) return json;
  // Not the text: the heap would keep it, and the socket a copy of it.
  const bytes = Buffer.from(json);
  request.body = undefined;
  request.hold?.set(bytes.length);
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
