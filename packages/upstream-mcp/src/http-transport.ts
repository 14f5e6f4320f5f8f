import { setTimeout as afterMs } from 'node:timers/promises';
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
import { createPacedConnector } from '@recourse/toolkit-kit/egress/connector';
import { createGatheredBytes } from '@recourse/toolkit-kit/egress/gathered-bytes';
import { parseRetryAfter } from '@recourse/toolkit-kit/egress/response-status';
import { Agent, type Dispatcher } from 'undici';
import * as z from 'zod';
import { FIRST_SERVER_ERROR, HttpTroubleError, TOO_MANY_REQUESTS } from './call-failure.ts';
import { capEvents } from './event-stream.ts';
import {
  createLineRate,
  FLOOD_REASON,
  handOn,
  JsonDensity,
  type ServerTransport,
  toStandIn,
} from './message-limits.ts';
import { cancelledIdOf, MessageReader } from './message-reader.ts';

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
  const reader = new MessageReader();
  const { fetch, destroy } = createUpstreamFetch({ ...options, answersIn: 'response', reader, breakOff });
  const requestInit = { headers: options.headers };
  const inner = new StreamableHTTPClientTransport(new URL(options.url), { requestInit, fetch });
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
        handOn(message, (light) => transport.onmessage?.(light));
      };
      inner.onerror = (error) => transport.onerror?.(error);
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
      const forget = (): boolean => {
        reader.forget(id);
        return waiting.delete(id);
      };
      // Since MCP 2026-07-28 a call is cancelled by this alone.
      requestSignal?.addEventListener('abort', forget);
      const sending = inner.send(message, {
        onRequestStreamEnd: () => {
          onRequestStreamEnd?.();
          if (forget() && onRequestStreamEnd === undefined) transport.onmessage?.(toStandIn(id, 'lost'));
        },
        requestSignal: requestSignal === undefined ? ended.signal : AbortSignal.any([requestSignal, ended.signal]),
        ...(headers === undefined ? {} : { headers }),
      });
      await sending.catch((error: unknown) => {
        forget();
        throw error;
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

// The server was informed; whatever it still sends for this call is not read.
const endCancelled = (message: JSONRPCMessage, waiting: Map<string | number, AbortController>): void => {
  const requestId = cancelledIdOf(message);
  if (requestId === null) return;
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
  const reader = new MessageReader();
  const { fetch, destroy } = createUpstreamFetch({ ...options, answersIn: 'stream', reader, breakOff });
  const transport = new SSEClientTransport(new URL(options.url), { requestInit: { headers: options.headers }, fetch });
  transport.onerror = (error) => {
    if (error instanceof SseError) breakOff('its event stream has ended');
  };
  return { transport, reason: () => reason, breakOff, kill: destroy };
};

type FetchOptions = Pick<HttpOptions, 'maxMessageBytes'> & {
  /** Where the answer to a request comes: in the one to its POST, or in a stream for all. */
  readonly answersIn: 'response' | 'stream';
  readonly reader: MessageReader;
  /** Ends the connection: a stream that carries no awaited answer sent too much, or all of them too often. */
  readonly breakOff: (why: string) => void;
};

const CONNECT_TIMEOUT_MS = 10_000;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * `fetch` for an MCP server: each message of an answer is capped and read, `Retry-After` is kept, nothing is sent twice
 * (the fetch of the platform repeats a POST that was answered 421) and no redirect is followed: the SDK does so within the
 * origin, at most five times. The call's own deadline ends it.
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
    fetch: async (url, init) => {
      const request = toRequest(url, init);
      const message: unknown = typeof request.body === 'string' ? JSON.parse(request.body) : null;
      options.reader.sent(message);
      const askedId = options.answersIn === 'stream' ? null : (Asked.safeParse(message).data?.id ?? null);
      const { method } = request;
      const hasSession = new Headers(init?.headers).has('mcp-session-id');
      return toResponse(await agent.request(request), { ...options, isFlood, askedId, method, hasSession });
    },
    destroy: () => void agent.destroy().catch(() => undefined),
  };
};

const toRequest = (...[url, init = {}]: Parameters<FetchLike>): Dispatcher.RequestOptions => {
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    path: `${pathname}${search}`,
    method: init.method === 'POST' || init.method === 'DELETE' ? init.method : 'GET',
    headers: Object.fromEntries(new Headers(init.headers)),
    body: typeof init.body === 'string' ? init.body : null,
    signal: init.signal ?? null,
  };
};

const Asked = z.object({ id: z.number(), method: z.string() });

type ResponseOptions = FetchOptions & {
  readonly isFlood: () => boolean;
  readonly method: string;
  /** The request that this answers, where it is one that does. */
  readonly askedId: number | null;
  /** Whether the request names a session, which the server may have forgotten. */
  readonly hasSession: boolean;
};

const toResponse = async (answer: Dispatcher.ResponseData, options: ResponseOptions): Promise<Response> => {
  const { statusCode: status } = answer;
  const { askedId, reader } = options;
  const headers = toHeaders(answer.headers);
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  if (status >= FIRST_REFUSAL && options.method === 'POST') return toRefused(answer, headers, options);
  if (type.startsWith('text/event-stream')) {
    const events = capEvents(answer.body, toEventCap(options));
    return new Response(ReadableStream.from(events), { status, headers });
  }
  const body = await readWhole(answer.body, options.maxMessageBytes);
  // HTTP 202 and 204 leave nothing to wait for.
  if (askedId !== null && (isJson(type) || status === ACCEPTED || NO_BODY.has(status)))
    return toJson(reader.readWhole(body.toString('utf8'), askedId), headers);
  return new Response(NO_BODY.has(status) ? null : body.toString('utf8'), { status, headers });
};

const ACCEPTED = 202;
const FIRST_REFUSAL = 400;

const isJson = (type: string): boolean => /^application\/json\s*(?:;|$)/.test(type);

const toJson = (messages: readonly JSONRPCMessage[], given: Headers): Response => {
  const headers = new Headers(given);
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(messages), { status: 200, headers });
};

// These say what is wrong before a JSON-RPC error does: with our credentials, our speed, or a server in front; 404 with our
// session.
const OWN_MEANING: ReadonlySet<number> = new Set([401, 403, 408, 425, TOO_MANY_REQUESTS]);
const SESSION_FORGOTTEN = 404;

const MOST_REFUSAL_BYTES = 65_536;

/** A refused POST. A server may put its JSON-RPC error into it; the SDK would take the status alone. */
const toRefused = async (
  answer: Dispatcher.ResponseData,
  headers: Headers,
  { askedId, reader, answersIn, hasSession }: ResponseOptions,
): Promise<Response> => {
  const { statusCode: status } = answer;
  const text = await readWhole(answer.body, MOST_REFUSAL_BYTES).then(String, () => '');
  const error = askedId === null ? null : reader.readError(text, askedId);
  const hasOwnMeaning = OWN_MEANING.has(status) || (status === SESSION_FORGOTTEN && hasSession);
  if (error !== null && status <= FIRST_SERVER_ERROR && !hasOwnMeaning) return toJson([error], headers);
  if (answersIn === 'stream' || status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR) {
    const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? undefined, Date.now());
    throw new HttpTroubleError({ kind: 'status', status, retryAfterMs });
  }
  return new Response(text, { status, headers });
};

const toHeaders = (fields: Dispatcher.ResponseData['headers']): Headers => {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(fields)) for (const one of [value].flat()) headers.append(name, one);
  return headers;
};

const toEventCap = ({ maxMessageBytes, isFlood, reader, askedId, breakOff }: ResponseOptions) => ({
  maxMessageBytes,
  isFlood,
  read: createEventReader(reader, askedId, breakOff),
  onOversize: (): string => {
    // The event that was too large is broken off; the next one is the answer. So the SDK asks for no repeat of it.
    if (askedId !== null) return `data: ${JSON.stringify(toStandIn(askedId, 'too_large'))}\n\n`;
    breakOff('it sent a message that is too large');
    throw new HttpTroubleError({ kind: 'too_large' });
  },
});

const createEventReader = (reader: MessageReader, askedId: number | null, breakOff: FetchOptions['breakOff']) => {
  let faults = 0;
  return (data: string): readonly object[] => {
    const messages = reader.read(data, askedId ?? undefined);
    faults = messages.length > 0 ? 0 : faults + 1;
    if (faults > MOST_FAULTS_IN_A_ROW) breakOff('it keeps sending data that is not MCP messages');
    return messages;
  };
};

/** A body that is no event stream. Rejects where it is larger than the cap, or too dense to be parsed. */
export const readWhole = async (body: AsyncIterable<unknown>, maxMessageBytes: number): Promise<Buffer> => {
  const density = new JsonDensity();
  const gathered = createGatheredBytes();
  let length = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    length += part.length;
    density.read(part);
    if (length > maxMessageBytes || density.isTooDense) throw new HttpTroubleError({ kind: 'too_large' });
    gathered.add(part);
  }
  return gathered.toBuffer();
};
