import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { BatchListener } from 'recourse-server/executor/batch-request';
import { toOneLineJson } from 'recourse-server/json/json-text';
import { toPayload } from 'recourse-server/routes/request-memory';
import { sendAnswer } from 'recourse-server/routes/send-answer';
import { ReplyClient } from 'recourse-server/routes/tool-calls';

type Progress = Parameters<NonNullable<BatchListener['progress']>>[1];

/**
 * The one answer to a call, and whether its client still waits for it: a JSON body, or a stream of events that begins with
 * the first progress or, where the call takes longer than `keepAliveMs` and its client takes events, with a comment that
 * keeps proxies from closing the connection.
 *
 * | state     | meaning                                            |
 * |-----------|----------------------------------------------------|
 * | waiting   | nothing was sent                                   |
 * | streaming | the head of a stream was sent, the answer was not  |
 * | over      | answered, or cancelled and ended without an answer |
 */
export class McpReply extends ReplyClient {
  #state: 'waiting' | 'streaming' | 'over' = 'waiting';
  #isCancelled = false;
  #timer: NodeJS.Timeout | undefined;
  #lastProgress = Number.NEGATIVE_INFINITY;
  readonly #reply: FastifyReply;
  readonly #answer: ServerResponse;
  readonly #listeners = new Set<() => void>();

  constructor(reply: FastifyReply) {
    super(reply.raw);
    this.#reply = reply;
    this.#answer = reply.raw;
  }

  override isGone(): boolean {
    return this.#isCancelled || super.isGone();
  }

  override whenGone(listener: () => void): () => void {
    if (this.#isCancelled && !super.isGone()) listener();
    const forget = super.whenGone(listener);
    this.#listeners.add(listener);
    return () => {
      forget();
      this.#listeners.delete(listener);
    };
  }

  keepAlive(everyMs: number): void {
    this.#timer = setInterval(() => this.#write(': the call is still running\n\n'), everyMs);
    this.#timer.unref();
  }

  /**
   * Reports how far the call is, under the token of its client. MCP wants values that rise, so others are left out; so are
   * those that a client does not read in time, and those of a handler that goes on after its call was answered.
   */
  reportProgress(progressToken: unknown, { progress, total, message }: Progress): void {
    if (this.#state === 'over' || this.#answer.writableNeedDrain || !(progress > this.#lastProgress)) return;
    this.#lastProgress = progress;
    const params = { progressToken, progress, total, message };
    this.#write(formatEvent(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })));
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
      this.#end(toPayload(this.#reply, formatEvent(json)));
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

const formatEvent = (json: string): string => `event: message\ndata: ${toOneLineJson(json)}\n\n`;

const EVENT_STREAM = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;
