import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { toOneLineJson, toWellFormedJson } from '../json/json-text.ts';
import type { RequestLease } from './request-memory.ts';

/** Server-sent events (WHATWG HTML, section 9.2), or one JSON object a line. */
export type StreamFormat = 'sse' | 'ndjson';

// What a reader that is slow misses, and what it never does: one list for all streams of the service.
const DELIVERY = {
  accepted: 'always',
  result: 'always',
  progress: 'droppable',
  part: 'droppable',
  snapshot: 'always',
  done: 'always',
} as const satisfies Readonly<Record<string, 'always' | 'droppable'>>;

export type StreamEvent = keyof typeof DELIVERY;
export type DroppableEvent = {
  [Event in StreamEvent]: (typeof DELIVERY)[Event] extends 'always' ? never : Event;
}[StreamEvent];

export type StreamOptions = {
  /** A stream on which nothing waits to be sent gets a sign of life this often, in milliseconds. */
  readonly heartbeatMs: number;
  readonly observer: {
    readonly opened: () => void;
    readonly closed: () => void;
    readonly dropped: (event: DroppableEvent) => void;
  };
};

/** Proxies and load balancers close what is silent, most of them after 60 s, some after 30 s. */
export const HEARTBEAT_MS = 15_000;

const MEDIA_TYPES = { sse: 'text/event-stream', ndjson: 'application/x-ndjson' } as const satisfies Readonly<
  Record<StreamFormat, string>
>;

/**
 * Which stream an `Accept` header prefers to JSON (RFC 9110, section 12.5.1); null: JSON. A type that is named wins over one
 * that only a wildcard allows; where JSON and a stream are named alike, JSON does.
 */
export const negotiateStream = (accept: string | undefined): StreamFormat | null => {
  if (accept === undefined || !/event-stream|ndjson/i.test(accept)) return null;
  const qualities = readQualities(accept);
  const named = qualities.get('application/json');
  const json = named ?? qualities.get('application/*') ?? qualities.get('*/*') ?? 0;
  const sse = qualities.get(MEDIA_TYPES.sse) ?? 0;
  const ndjson = qualities.get(MEDIA_TYPES.ndjson) ?? 0;
  const best = Math.max(sse, ndjson);
  if (best === 0 || best < json || (best === json && named !== undefined)) return null;
  return sse === best ? 'sse' : 'ndjson';
};

const readQualities = (accept: string): ReadonlyMap<string, number> => {
  const qualities = new Map<string, number>();
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((text) => text.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    qualities.set(type, /^[01](\.\d{0,3})?$/.test(quality) ? Number(quality) : 0);
  }
  return qualities;
};

// What may wait for a reader before it misses parts and progress, in bytes. A part may be as large alone.
const MOST_UNSENT = 262_144;
// Larger texts are sent as bytes: the heap would keep the text, and the socket a copy of it.
const LARGE = 32_768;
// How long a browser waits before it opens a stream again that broke, in milliseconds.
const RETRY = 'retry: 2000\n\n';

/** One answer that is sent event by event. What is sent once it has ended, or its reader has gone, is dropped. Never throws. */
export class EventStream {
  readonly #raw: ServerResponse;
  readonly #hold: RequestLease | null;
  readonly #format: StreamFormat;
  readonly #observer: StreamOptions['observer'];
  readonly #heartbeat: NodeJS.Timeout;
  /** Bytes of parts and progress that the hold has been charged for since the reader had last taken everything. */
  #droppableBytes = 0;
  #isOver: boolean;

  /** Sends the head, 200, with more `headers` as name, value, name, value; from here on the answer has no status any more. */
  constructor(
    reply: FastifyReply,
    format: StreamFormat,
    { heartbeatMs, observer }: StreamOptions,
    headers: readonly string[],
  ) {
    const { raw, request } = reply;
    this.#raw = raw;
    this.#hold = request.hold;
    this.#format = format;
    this.#observer = observer;
    // It may have gone while its body was being read.
    this.#isOver = raw.destroyed;
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs).unref();
    reply.hijack();
    if (this.#isOver) {
      clearInterval(this.#heartbeat);
      return;
    }
    const head = ['content-type', MEDIA_TYPES[format], 'cache-control', 'no-store', 'x-accel-buffering', 'no'];
    raw.writeHead(200, [...head, 'x-request-id', request.id, ...headers]);
    observer.opened();
    raw.once('close', () => {
      this.#isOver = true;
      clearInterval(this.#heartbeat);
      observer.closed();
    });
    if (format === 'sse') raw.write(RETRY);
  }

  /** `dataJson`: JSON text. `id`: rising within a stream, without line breaks or quotes. */
  send(event: StreamEvent, id: string, dataJson: string): void {
    if (!this.#canWrite()) return;
    const data = toOneLineJson(toWellFormedJson(dataJson));
    const text =
      this.#format === 'sse'
        ? `event: ${event}\nid: ${id}\ndata: ${data}\n\n`
        : `{"event":"${event}","id":"${id}","data":${data}}\n`;
    if (isDroppable(event) && !this.#hasRoom(text.length)) this.#observer.dropped(event);
    else this.#raw.write(text.length < LARGE ? text : Buffer.from(text));
  }

  /** Nothing more is sent; what was is sent to its last byte. */
  close(): void {
    clearInterval(this.#heartbeat);
    if (!this.#canWrite()) return;
    this.#isOver = true;
    this.#raw.end();
    // What is still to be sent is all that is left of the answer.
    this.#hold?.set(this.#raw.writableLength);
  }

  /** Ends the connection: its reader must not take what it has for the whole. */
  abort(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
    this.#raw.destroy();
  }

  #canWrite(): boolean {
    return !this.#isOver && !this.#raw.destroyed;
  }

  #hasRoom(bytes: number): boolean {
    const hold = this.#hold;
    const unsent = this.#raw.writableLength;
    if (unsent === 0) {
      hold?.give(this.#droppableBytes);
      this.#droppableBytes = 0;
    }
    if (unsent > 0 && unsent + bytes > MOST_UNSENT) return false;
    if (hold?.take(bytes) === false) return false;
    this.#droppableBytes += bytes;
    return true;
  }

  #beat(): void {
    // Where something waits to be sent, the connection is not silent, or its reader is not there.
    if (!this.#canWrite() || this.#raw.writableLength > 0) return;
    this.#raw.write(this.#format === 'sse' ? ':\n\n' : '{"event":"heartbeat"}\n');
  }
}

const isDroppable = (event: StreamEvent): event is DroppableEvent => DELIVERY[event] === 'droppable';

/** Resolves when the connection of an answer has ended. */
export const whenClosed = ({ raw }: FastifyReply): Promise<void> =>
  raw.destroyed ? Promise.resolve() : new Promise((resolve) => void raw.once('close', () => resolve()));
