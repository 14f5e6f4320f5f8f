import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  SSEClientTransport,
  SseError,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import * as z from 'zod';
import { handOn } from './message-weight.ts';
import type { ServerTransport } from './server-transport.ts';
import { toStandIn } from './stand-in-answers.ts';
import { createUpstreamFetch } from './upstream-fetch.ts';

export type HttpOptions = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

const GOODBYE_MS = 1_000;
// Each costs the SDK a check against all messages there are.
const MOST_FAULTS_IN_A_ROW = 100;

/**
 * Streamable HTTP. Unlike the SDK's own: a stream that ends without the answer ends the call (else it would wait for its
 * deadline), a cancelled call gives its connection back, and the server hears when its session is over.
 */
export const createHttpTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const { fetch, destroy } = createUpstreamFetch({
    ...options,
    thrownStatuses: 'busy',
    breakOff: (why) => breakOff(why),
  });
  const inner = new StreamableHTTPClientTransport(new URL(options.url), {
    requestInit: { headers: options.headers },
    fetch,
  });
  let faults = 0;
  const waiting = new Map<string | number, AbortController>();
  let isClosed = false;
  const close = async (): Promise<void> => {
    isClosed = true;
    await inner.close();
    destroy();
  };
  const breakOff = (why: string): void => {
    reason ??= why;
    void close();
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
        if (faults > MOST_FAULTS_IN_A_ROW) breakOff('it keeps sending something else than messages');
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
      const toldEnd = (): void => {
        onRequestStreamEnd?.();
        if (waiting.delete(id) && onRequestStreamEnd === undefined) transport.onmessage?.(toStandIn(id, 'lost'));
      };
      await inner.send(message, {
        onRequestStreamEnd: toldEnd,
        requestSignal: requestSignal === undefined ? ended.signal : AbortSignal.any([requestSignal, ended.signal]),
        ...(headers === undefined ? {} : { headers }),
      });
    },
    close: async () => {
      // A courtesy: the server may forget the session. One that is not there does not hold us up.
      if (!isClosed) await Promise.race([inner.terminateSession().catch(() => undefined), afterMs(GOODBYE_MS)]);
      await close();
    },
    setProtocolVersion: (version) => inner.setProtocolVersion(version),
  };
  return { transport, reason: () => reason, breakOff, kill: destroy };
};

const Cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

// The server has been told; whatever it still sends for this call is read by nobody.
const endCancelled = (message: JSONRPCMessage, waiting: Map<string | number, AbortController>): void => {
  const cancelled = Cancelled.safeParse(message);
  if (!cancelled.success) return;
  const { requestId } = cancelled.data.params;
  waiting.get(requestId)?.abort();
  waiting.delete(requestId);
};

const afterMs = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

/** HTTP with SSE, as servers of 2024 speak it. Its stream is the connection: where it breaks, all is lost. */
export const createSseTransport = (options: HttpOptions): ServerTransport => {
  let reason: string | null = null;
  const { fetch, destroy } = createUpstreamFetch({
    ...options,
    thrownStatuses: 'all',
    breakOff: (why) => breakOff(why),
  });
  const transport = new SSEClientTransport(new URL(options.url), { requestInit: { headers: options.headers }, fetch });
  const breakOff = (why: string): void => {
    if (reason !== null) return;
    reason = why;
    // Else it would open a new stream, in which the server knows nothing of our calls.
    void transport.close().finally(destroy);
  };
  transport.onerror = (error) => {
    if (error instanceof SseError) breakOff('its event stream has ended');
  };
  return { transport, reason: () => reason, breakOff, kill: destroy };
};
