import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AnswerMemory } from '../executor/batch-request.ts';
import type { ByteHold } from '../executor/byte-budget.ts';
import { overloaded } from './access-problems.ts';

/** What a request and its answer take of the memory for answers, until the connection has taken the answer. */
export type AnswerHold = ByteHold;

// A value is in memory as itself and as the answer, and for a conversation as text inside texts as well.
const COPIES = { results: 2, messages: 4 } as const;

// What is smaller is within what the request has taken at the door.
const SMALL = 32_768;

const RETRY_SECONDS = 2;

/** Why a request finds no room for its answer. */
export const NO_ROOM = { reason: 'answers', retryAfterSeconds: RETRY_SECONDS } as const;

/** The memory of a batch's values, as the copies of them will need it. */
export const toAnswerMemory = ({ hold }: FastifyRequest, form: keyof typeof COPIES): AnswerMemory | null =>
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
export const toPayload = ({ request: { hold } }: FastifyReply, json: string): string | Buffer => {
  if (json.length < SMALL) return json;
  // Not the text: the heap would keep it, and the socket a copy of it.
  const bytes = Buffer.from(json);
  hold?.set(bytes.length);
  return bytes;
};

/** Throws a problem where there is no room for results that were kept: they did not run now, and can be asked for again. */
export const requireRoomForReplay = (
  { hold }: Pick<FastifyRequest, 'hold'>,
  results: readonly string[],
  form: keyof typeof COPIES,
): void => {
  const bytes = results.reduce((sum, result) => sum + Buffer.byteLength(result), 0);
  if (hold === null || hold.take(bytes * COPIES[form])) return;
  throw overloaded(NO_ROOM);
};

/** Throws a problem where there is no room for a body of something that can be read again later. */
export const requireRoom = ({ request: { hold } }: FastifyReply, json: string): void => {
  if (json.length < SMALL || hold === null || hold.take(json.length)) return;
  throw overloaded(NO_ROOM);
};
