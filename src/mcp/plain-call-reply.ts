import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Client } from '../executor/batch-request.ts';
import { toPayload } from '../routes/answer-hold.ts';
import { sendAnswer } from '../routes/results-body.ts';

/**
 * The one answer to a plain call, and whether somebody waits for it. A JSON body; where the call takes longer than `keepAliveMs` and
 * its client takes events, a stream, in which a comment now and then keeps proxies from closing the connection.
 *
 * | state     | meaning                                          |
 * |-----------|--------------------------------------------------|
 * | waiting   | nothing was sent                                 |
 * | streaming | the head of a stream was sent, the answer was not |
 * | over      | answered, or cancelled and ended without an answer |
 */
export class PlainCallReply implements Client {
  #state: 'waiting' | 'streaming' | 'over' = 'waiting';
  #isCancelled = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #reply: FastifyReply;
  readonly #answer: ServerResponse;
  readonly #listeners = new Set<() => void>();

  constructor(reply: FastifyReply) {
    this.#reply = reply;
    this.#answer = reply.raw;
  }

  isGone(): boolean {
    return this.#isCancelled || this.#answer.destroyed;
  }

  whenGone(listener: () => void): () => void {
    const answer = this.#answer;
    const onClose = (): void => {
      if (!answer.writableFinished) listener();
    };
    if (this.isGone()) listener();
    answer.once('close', onClose);
    this.#listeners.add(listener);
    return () => {
      answer.off('close', onClose);
      this.#listeners.delete(listener);
    };
  }

  keepAlive(everyMs: number): void {
    this.#timer = setInterval(() => this.#write(': the call is still running\n\n'), everyMs);
    this.#timer.unref();
  }

  /** The client has cancelled the call: nothing more is sent for it. */
  cancel(): void {
    this.#isCancelled = true;
    for (const listener of this.#listeners) listener();
    if (this.#state === 'over') return;
    this.#write('');
    this.#end('');
  }

  send(json: string, origin: 'run' | 'replayed'): void {
    if (this.#state === 'over') return;
    if (this.#state === 'streaming') {
      this.#end(toPayload(this.#reply, `event: message\ndata: ${json}\n\n`));
      return;
    }
    this.#close();
    sendAnswer(this.#reply, json, origin);
  }

  /** Leaves the answer to another, where none has begun; says whether that is so. */
  abandon(): boolean {
    clearInterval(this.#timer);
    return this.#state === 'waiting';
  }

  #write(text: string): void {
    if (this.#state === 'waiting') {
      this.#state = 'streaming';
      this.#reply.hijack();
      this.#answer.writeHead(200, { ...EVENT_STREAM, 'x-request-id': this.#reply.request.id });
    }
    if (text !== '') this.#answer.write(text);
  }

  #end(text: string | Buffer): void {
    this.#close();
    this.#answer.end(text);
  }

  #close(): void {
    this.#state = 'over';
    clearInterval(this.#timer);
  }
}

const EVENT_STREAM = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;
