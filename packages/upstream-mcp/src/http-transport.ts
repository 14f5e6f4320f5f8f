import { setTimeout as afterMs } from 'node:timers/promises';
import {
  type FetchLike,
  isJSONRPCRequest,
  type JSONRPCMessage,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { createPacedConnector } from '@recourse/toolkit-kit/egress/connector';
import { createGatheredBytes } from '@recourse/toolkit-kit/egress/gathered-bytes';
import { parseRetryAfter } from '@recourse/toolkit-kit/egress/response-status';
import { Agent, type Dispatcher } from 'undici';
import { capEvents } from './event-stream.ts';
import { MessageReader, readCancelledId } from './message-reader.ts';
import { createLineRate, FLOOD_REASON, type ServerTransport } from './server-transport.ts';
import { FIRST_SERVER_ERROR, TOO_MANY_REQUESTS, TroubleError } from './trouble.ts';

type HttpOptions = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
};

/** Streamable HTTP. */
export const createHttpTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const breakOff = (why: string): void => {
    reason ??= why;
    void transport.endNow();
  };
  const reader = new MessageReader(breakOff);
  const upstream = createUpstreamFetch({ ...options, answersIn: 'response', reader, breakOff });
  const transport = new HttpTransport(options, reader, upstream);
  return { transport, reason: () => reason, breakOff, kill: upstream.destroy };
};

const CLOSE_SESSION_MS = 1_000;

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>;

/**
 * The SDK's transport, and what it leaves out: a stream that ends without the answer ends the call (else it would wait for
 * its deadline), a cancelled call gives its connection back, and the session is closed on the server when it is over.
 */
class HttpTransport extends StreamableHTTPClientTransport {
  readonly #reader: MessageReader;
  readonly #upstream: ReturnType<typeof createUpstreamFetch>;
  /** Ends the request of that id, while it waits. */
  readonly #waiting = new Map<string | number, AbortController>();
  #isOver = false;

  constructor({ url, headers }: HttpOptions, reader: MessageReader, upstream: ReturnType<typeof createUpstreamFetch>) {
    super(new URL(url), { requestInit: { headers }, fetch: upstream.fetch });
    this.#reader = reader;
    this.#upstream = upstream;
  }

  override async send(message: JSONRPCMessage | JSONRPCMessage[], options: SendOptions = {}): Promise<void> {
    if (!isJSONRPCRequest(message)) {
      await super.send(message, options);
      // The server was informed; whatever it still sends for this call is not read.
      const cancelledId = readCancelledId(message);
      if (cancelledId !== null) this.#waiting.get(cancelledId)?.abort();
      return;
    }
    const { id } = message;
    const { requestSignal } = options;
    const ended = new AbortController();
    const forget = (): void => {
      this.#waiting.delete(id);
      this.#reader.forget(id);
    };
    ended.signal.addEventListener('abort', forget);
    // Since MCP 2026-07-28 a call is cancelled by this alone.
    requestSignal?.addEventListener('abort', forget);
    this.#waiting.set(id, ended);
    const onRequestStreamEnd = (): void => {
      this.#waiting.delete(id);
      for (const lost of this.#reader.end(id, 'lost'))
        if (options.onRequestStreamEnd === undefined) this.onmessage?.(lost);
      options.onRequestStreamEnd?.();
    };
    const signal = requestSignal === undefined ? ended.signal : AbortSignal.any([requestSignal, ended.signal]);
    await super.send(message, { ...options, onRequestStreamEnd, requestSignal: signal }).catch((error: unknown) => {
      forget();
      throw error;
    });
  }

  override async close(): Promise<void> {
    // Best effort: the server may release the session. A failure or a slow answer does not delay the close.
    const limit = afterMs(CLOSE_SESSION_MS, undefined, { ref: false });
    if (!this.#isOver) await Promise.race([this.terminateSession().catch(() => undefined), limit]);
    await this.endNow();
  }

  async endNow(): Promise<void> {
    this.#isOver = true;
    await super.close();
    this.#upstream.destroy();
  }
}

/** HTTP with SSE, as servers of 2024 speak it. Its stream is the connection: where it breaks, all is lost. */
export const createSseTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const breakOff = (why: string): void => {
    if (reason !== null) return;
    reason = why;
    // Else it would open a new stream, in which the server does not know our calls.
    void transport.close().finally(destroy);
  };
  const reader = new MessageReader(breakOff);
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

/**
 * `fetch` for an MCP server: each message of an answer is capped and read, `Retry-After` is kept, nothing is sent twice
 * (the fetch of the platform repeats a POST that was answered 421) and no redirect is followed: the SDK does so within the
 * origin, at most five times. The call's own deadline ends it. `destroy` ends all its connections.
 */
const createUpstreamFetch = (options: FetchOptions) => {
  const { reader, breakOff, answersIn } = options;
  const connect = createPacedConnector({ timeout: CONNECT_TIMEOUT_MS });
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  const isTooFast = createLineRate();
  const isFlood = (): boolean => {
    const isBeyond = isTooFast();
    if (isBeyond) breakOff(FLOOD_REASON);
    return isBeyond;
  };
  const fetch: FetchLike = async (url, init = {}) => {
    const request = createRequest(url, init);
    const message: unknown = JSON.parse(request.body ?? 'null');
    reader.sent(message);
    const sentId = isJSONRPCRequest(message) ? message.id : null;
    return readAnswer(await agent.request(request), {
      ...{ ...options, isFlood, method: request.method, hasSession: 'mcp-session-id' in request.headers },
      askedId: answersIn === 'response' && typeof sentId === 'number' ? sentId : null,
    });
  };
  return { fetch, destroy: () => void agent.destroy().catch(() => undefined) };
};

const createRequest = (...[url, init = {}]: Parameters<FetchLike>) => {
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    path: `${pathname}${search}`,
    method: init.method === 'POST' || init.method === 'DELETE' ? init.method : 'GET',
    headers: Object.fromEntries(new Headers(init.headers)),
    body: typeof init.body === 'string' ? init.body : null,
    signal: init.signal ?? null,
  } as const;
};

type AnswerOptions = FetchOptions & {
  readonly isFlood: () => boolean;
  readonly method: string;
  /** The request that this answers, where it is one that does. */
  readonly askedId: number | null;
  /** Whether the request names a session, which the server may have forgotten. */
  readonly hasSession: boolean;
};

const ACCEPTED = 202;
const FIRST_REFUSAL = 400;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

const readAnswer = async (answer: Dispatcher.ResponseData, options: AnswerOptions): Promise<Response> => {
  const { statusCode: status, body } = answer;
  const headers = copyHeaders(answer.headers);
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  if (status >= FIRST_REFUSAL && options.method === 'POST') return readRefusal(answer, headers, options);
  if (type.startsWith('text/event-stream'))
    return new Response(ReadableStream.from(readEvents(body, options)), { status, headers });
  const text = await readWhole(body, options.maxMessageBytes);
  // HTTP 202 and 204 leave nothing to wait for.
  const isWhole = /^application\/json\s*(?:;|$)/.test(type) || status === ACCEPTED || NO_BODY.has(status);
  const { askedId, reader } = options;
  if (askedId !== null && isWhole)
    return createJson([...reader.read(text, askedId), ...reader.end(askedId, 'unreadable')], headers);
  return new Response(NO_BODY.has(status) ? null : text, { status, headers });
};

const copyHeaders = (fields: Dispatcher.ResponseData['headers']): Headers => {
  const headers = new Headers();
  for (const [name, value = ''] of Object.entries(fields)) for (const one of [value].flat()) headers.append(name, one);
  return headers;
};

const readEvents = (
  body: AsyncIterable<unknown>,
  { maxMessageBytes, isFlood, askedId, reader, breakOff }: AnswerOptions,
): AsyncIterable<Uint8Array> =>
  capEvents(body, {
    maxMessageBytes,
    isFlood,
    read: (data) => reader.read(data, askedId ?? undefined),
    onOversize: () => {
      // The event that was too large is broken off; the next one is the answer. So the SDK asks for no repeat of it.
      if (askedId !== null) return reader.end(askedId, 'too_large');
      breakOff('it sent a message that is too large');
      throw new TroubleError({ kind: 'too_large' });
    },
  });

const createJson = (messages: readonly JSONRPCMessage[], headers: Headers): Response => {
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(messages), { status: 200, headers });
};

// These say what is wrong before a JSON-RPC error does: with our credentials, our speed, or a server in front; 404 with our
// session.
const OWN_MEANING: ReadonlySet<number> = new Set([401, 403, 408, 425, TOO_MANY_REQUESTS]);
const SESSION_FORGOTTEN = 404;

const MOST_REFUSAL_BYTES = 65_536;

/** A refused POST. A server may put its JSON-RPC error into it; the SDK would take the status alone. */
const readRefusal = async (
  { statusCode: status, body }: Dispatcher.ResponseData,
  headers: Headers,
  { askedId, reader, answersIn, hasSession }: AnswerOptions,
): Promise<Response> => {
  const text = await readWhole(body, MOST_REFUSAL_BYTES).catch(() => '');
  const hasOwnMeaning = OWN_MEANING.has(status) || (status === SESSION_FORGOTTEN && hasSession);
  const mayHoldError = askedId !== null && status <= FIRST_SERVER_ERROR && !hasOwnMeaning;
  const errors = mayHoldError ? reader.readError(text, askedId) : [];
  if (errors.length > 0) return createJson(errors, headers);
  if (answersIn === 'stream' || status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR) {
    const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? undefined, Date.now());
    throw new TroubleError({ kind: 'status', status, retryAfterMs });
  }
  return new Response(text, { status, headers });
};

/** A body that is no event stream. Rejects where it is larger than the cap. */
const readWhole = async (body: AsyncIterable<unknown>, maxMessageBytes: number): Promise<string> => {
  const gathered = createGatheredBytes();
  let length = 0;
  for await (const part of body) {
    if (!(part instanceof Uint8Array)) continue;
    length += part.length;
    if (length > maxMessageBytes) throw new TroubleError({ kind: 'too_large' });
    gathered.add(part);
  }
  return gathered.toBuffer().toString('utf8');
};
