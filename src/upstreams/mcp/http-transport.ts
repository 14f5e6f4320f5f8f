import { setTimeout as afterMs, setImmediate as nextTurn } from 'node:timers/promises';
import {
  type FetchLike,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { Agent, type Dispatcher } from 'undici';
import * as z from 'zod';
import { createPacedConnector } from '../../egress/connector.ts';
import { parseRetryAfter } from '../../egress/response-status.ts';
import { createGatheredBytes } from '../../tools/gathered-bytes.ts';
import { HttpTroubleError } from './call-failure.ts';
import {
  createLineRate,
  FLOOD_REASON,
  handOn,
  JsonDensity,
  type ServerTransport,
  toStandIn,
} from './message-limits.ts';

type HttpOptions = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
};

const CLOSE_SESSION_MS = 1_000;
// Each costs the SDK a check against all messages there are.
const MOST_FAULTS_IN_A_ROW = 100;

/**
 * Streamable HTTP. Unlike the SDK's own: a stream that ends without the answer ends the call (else it would wait for its
 * deadline), a cancelled call gives its connection back, and the session is closed on the server when it is over.
 */
export const createHttpTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const breakOff = (why: string): void => {
    reason ??= why;
    void close();
  };
  const { fetch, destroy } = createUpstreamFetch({ ...options, thrownStatuses: 'busy', breakOff });
  const requestInit = { headers: options.headers };
  const inner = new StreamableHTTPClientTransport(new URL(options.url), { requestInit, fetch });
  let faults = 0;
  const waiting = new Map<string | number, AbortController>();
  let isClosed = false;
  const close = async (): Promise<void> => {
    isClosed = true;
    await inner.close();
    destroy();
  };
  const transport: Transport = {
    hasPerRequestStream: true,
    get sessionId() {
      return inner.sessionId;
    },
    start: async () => {
      inner.onmessage = (message: JSONRPCMessage) => {
        if (isJSONRPCResponse(message) && message.id !== undefined) waiting.delete(message.id);
        faults = 0;
        handOn(message, (light) => transport.onmessage?.(light));
      };
      inner.onerror = (error) => {
        faults += 1;
        if (faults > MOST_FAULTS_IN_A_ROW) breakOff('it keeps sending data that is not MCP messages');
        else transport.onerror?.(error);
      };
      inner.onclose = () => transport.onclose?.();
      await inner.start();
    },
    send: async (message, { requestSignal, onRequestStreamEnd, headers } = {}) => {
      if (!isJSONRPCRequest(message)) {
        await inner.send(message);
        endCancelled(message, waiting);
        return;
      }
      const { id } = message;
      const ended = new AbortController();
      waiting.set(id, ended);
      await inner.send(message, {
        onRequestStreamEnd: () => {
          onRequestStreamEnd?.();
          if (waiting.delete(id) && onRequestStreamEnd === undefined) transport.onmessage?.(toStandIn(id, 'lost'));
        },
        requestSignal: requestSignal === undefined ? ended.signal : AbortSignal.any([requestSignal, ended.signal]),
        ...(headers === undefined ? {} : { headers }),
      });
    },
    close: async () => {
      // Best effort: the server may release the session. A failure or a slow answer does not delay the close.
      const limit = afterMs(CLOSE_SESSION_MS, undefined, { ref: false });
      if (!isClosed) await Promise.race([inner.terminateSession().catch(() => undefined), limit]);
      await close();
    },
    setProtocolVersion: (version) => inner.setProtocolVersion(version),
  };
  return { transport, reason: () => reason, breakOff, kill: destroy };
};

const RequestId = z.union([z.string(), z.number()]);
const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: RequestId }),
});

// The server was informed; whatever it still sends for this call is not read.
const endCancelled = (message: JSONRPCMessage, waiting: Map<string | number, AbortController>): void => {
  const requestId = Cancelled.safeParse(message).data?.params.requestId;
  if (requestId === undefined) return;
  waiting.get(requestId)?.abort();
  waiting.delete(requestId);
};

/** HTTP with SSE, as servers of 2024 speak it. Its stream is the connection: where it breaks, all is lost. */
export const createSseTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const breakOff = (why: string): void => {
    if (reason !== null) return;
    reason = why;
    // Else it would open a new stream, in which the server does not know our calls.
    void transport.close().finally(destroy);
  };
  const { fetch, destroy } = createUpstreamFetch({ ...options, thrownStatuses: 'all', breakOff });
  const transport = new SSEClientTransport(new URL(options.url), { requestInit: { headers: options.headers }, fetch });
  transport.onerror = (error) => {
    if (error instanceof SseError) breakOff('its event stream has ended');
  };
  return { transport, reason: () => reason, breakOff, kill: destroy };
};

type FetchOptions = Pick<HttpOptions, 'maxMessageBytes'> & {
  /** `all`: every refused POST is thrown with its status, for a transport that would lose it. */
  readonly thrownStatuses: 'busy' | 'all';
  /** Ends the connection: a stream that carries no awaited answer sent too much, or all of them too often. */
  readonly breakOff: (why: string) => void;
};

const CONNECT_TIMEOUT_MS = 10_000;
const TOO_MANY_REQUESTS = 429;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * `fetch` for an MCP server: each message of an answer is capped, `Retry-After` is kept, nothing is sent twice (the
 * fetch of the platform repeats a POST that was answered 421) and no redirect is followed: the SDK does so within the origin, at
 * most five times. The call's own deadline ends it.
 */
const createUpstreamFetch = (
  options: FetchOptions,
): { readonly fetch: FetchLike /** Ends all its connections. */; readonly destroy: () => void } => {
  const connect = createPacedConnector({ timeout: CONNECT_TIMEOUT_MS });
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  const isTooFast = createLineRate();
  const isFlood = (): boolean => {
    const isBeyond = isTooFast();
    if (isBeyond) options.breakOff(FLOOD_REASON);
    return isBeyond;
  };
  return {
    fetch: async (url, init = {}) => {
      const { origin, pathname, search } = new URL(url);
      const request: Dispatcher.RequestOptions = {
        origin,
        path: `${pathname}${search}`,
        method: init.method === 'POST' || init.method === 'DELETE' ? init.method : 'GET',
        headers: Object.fromEntries(new Headers(init.headers)),
        body: typeof init.body === 'string' ? init.body : null,
        signal: init.signal ?? null,
      };
      return toResponse(await agent.request(request), request, { ...options, isFlood });
    },
    destroy: () => void agent.destroy().catch(() => undefined),
  };
};

const toResponse = async (
  answer: Dispatcher.ResponseData,
  request: Dispatcher.RequestOptions,
  options: FetchOptions & Pick<BodyCap, 'isFlood'>,
): Promise<Response> => {
  const { statusCode: status } = answer;
  const headers = toHeaders(answer.headers);
  if (request.method === 'POST' && isThrown(status, options.thrownStatuses)) {
    await answer.body.dump();
    const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? undefined, Date.now());
    throw new HttpTroubleError({ kind: 'status', status, retryAfterMs });
  }
  if (NO_BODY.has(status)) {
    await answer.body.dump();
    return new Response(null, { status, headers });
  }
  const { maxMessageBytes, isFlood } = options;
  const body = capBody(answer.body, { maxMessageBytes, isFlood, ...toForm(request, headers, options) });
  return new Response(ReadableStream.from(body), { status, headers });
};

const isThrown = (status: number, statuses: FetchOptions['thrownStatuses']): boolean =>
  status === TOO_MANY_REQUESTS || status >= (statuses === 'all' ? 400 : 500);

const toHeaders = (fields: Dispatcher.ResponseData['headers']): Headers => {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(fields)) for (const one of [value].flat()) headers.append(name, one);
  return headers;
};

const toForm = (
  { body }: Dispatcher.RequestOptions,
  headers: Headers,
  { breakOff }: FetchOptions,
): Pick<BodyCap, 'form' | 'onOversize'> => {
  if (headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return { form: 'whole', onOversize: () => null };
  const id =
    typeof body === 'string' ? (z.object({ id: RequestId }).safeParse(JSON.parse(body)).data?.id ?? null) : null;
  if (id !== null)
    // The event that was too large is broken off; the next one is the answer. So the SDK asks for no repeat of it.
    return { form: 'events', onOversize: () => `\n\ndata: ${JSON.stringify(toStandIn(id, 'too_large'))}\n\n` };
  const stop = (): null => {
    breakOff('it sent a message that is too large');
    return null;
  };
  return { form: 'events', onOversize: stop };
};

type BodyCap = {
  /** Of one message: of the whole body, or of what an event stream sends between two blank lines. */
  readonly maxMessageBytes: number;
  readonly form: 'whole' | 'events';
  /** Called once a message is larger, or too dense to be parsed: what the stream ends with then; null = with an error. */
  readonly onOversize: () => string | null;
  /** Counts one more line of all event streams of a connection. A stream ends where they are too many. */
  readonly isFlood: () => boolean;
};

// Of an event stream, in one turn of the event loop.
const LINES_A_TURN = 50;
const PIECES_A_TURN = 50;
const [LINE_FEED, RETURN] = [10, 13] as const;

/**
 * A body as it comes, as long as no message in it is larger than the cap. Events come a few lines at a time, and other
 * work has its turn between them: the SDK takes all messages of a piece at once, a third of a millisecond for a bad one.
 */
export async function* capBody(body: AsyncIterable<unknown>, cap: BodyCap): AsyncGenerator<Uint8Array> {
  if (cap.form === 'whole') yield await readWhole(body, cap);
  else yield* readEvents(body, cap);
}

const readWhole = async (body: AsyncIterable<unknown>, cap: BodyCap): Promise<Uint8Array> => {
  const density = new JsonDensity();
  const gathered = createGatheredBytes();
  let length = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    length += part.length;
    density.read(part);
    if (length > cap.maxMessageBytes || density.isTooDense) return Buffer.from(toLastEvent(cap));
    gathered.add(part);
  }
  return gathered.toBuffer();
};

async function* readEvents(body: AsyncIterable<unknown>, cap: BodyCap): AsyncGenerator<Uint8Array> {
  let pieces = 0;
  for await (const { piece, isLast } of toPieces(body, cap)) {
    if (piece === 'flood') return;
    if (piece === 'oversize') return yield Buffer.from(toLastEvent(cap));
    yield piece;
    pieces += 1;
    // What comes meanwhile is one piece, in however many it was sent.
    if (!isLast || pieces % PIECES_A_TURN === 0) await nextTurn();
  }
}

async function* toPieces(body: AsyncIterable<unknown>, cap: BodyCap) {
  const measure = createEventMeasure(cap);
  for await (const part of body) {
    for (let rest = part instanceof Uint8Array ? part : new Uint8Array(0); rest.length > 0; ) {
      const { to, verdict } = measure(rest);
      const piece = verdict === 'fine' ? rest.subarray(0, to) : verdict;
      rest = rest.subarray(to);
      yield { piece, isLast: rest.length === 0 };
    }
  }
}

const toLastEvent = ({ onOversize }: BodyCap): string => {
  const lastEvent = onOversize();
  if (lastEvent === null) throw new HttpTroubleError({ kind: 'too_large' });
  return lastEvent;
};

/** Measures up to some lines of a part, event by event: the place after them. */
const createEventMeasure = ({ maxMessageBytes, isFlood }: BodyCap) => {
  let density = new JsonDensity();
  let length = 0;
  let isLineEmpty = true;
  // A line may end with both signs, which are then one end.
  let wasReturn = false;
  /** Whether this byte ends a line: the second sign of an end does not end another one. */
  const endsLine = (byte: number | undefined): boolean => {
    const isSecondSign = wasReturn && byte === LINE_FEED;
    wasReturn = byte === RETURN;
    const isEnd = !isSecondSign && (byte === LINE_FEED || byte === RETURN);
    if (!isEnd && !isSecondSign) isLineEmpty = false;
    return isEnd;
  };
  /** The place after the next line end, or the end of the part. */
  const readLine = (part: Uint8Array, from: number): number => {
    let at = from;
    while (at < part.length && !endsLine(part[at])) at += 1;
    const to = Math.min(part.length, at + 1);
    length += to - from;
    density.read(part, from, to);
    if (at === part.length) return to;
    if (isLineEmpty) {
      length = 0;
      density = new JsonDensity();
    }
    isLineEmpty = true;
    return to;
  };
  return (part: Uint8Array): { readonly to: number; readonly verdict: 'fine' | 'oversize' | 'flood' } => {
    let to = 0;
    for (let lines = 0; lines < LINES_A_TURN && to < part.length; lines += 1) {
      to = readLine(part, to);
      if (length > maxMessageBytes || density.isTooDense) return { to, verdict: 'oversize' };
      if (isFlood()) return { to, verdict: 'flood' };
    }
    return { to, verdict: 'fine' };
  };
};
