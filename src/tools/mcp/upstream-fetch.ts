import type { FetchLike } from '@modelcontextprotocol/client';
import { Agent, type Dispatcher } from 'undici';
import * as z from 'zod';
import { createPacedConnector } from '../http/paced-connector.ts';
import { parseRetryAfter } from '../http/retry-after.ts';
import { type BodyCap, capBody } from './capped-body.ts';
import { createLineRate } from './line-rate.ts';
import { toStandIn } from './stand-in-answers.ts';
import { toHttpError } from './upstream-http-error.ts';

export type UpstreamFetch = {
  readonly fetch: FetchLike;
  /** Ends all its connections. */
  readonly destroy: () => void;
};

export type UpstreamFetchOptions = {
  readonly maxMessageBytes: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** `all`: every refused POST is thrown with its status, for a transport that would lose it. */
  readonly thrownStatuses: 'busy' | 'all';
  /** Ends the connection: a stream that nobody waits for a single answer of sent too much, or all of them too often. */
  readonly breakOff: (why: string) => void;
};

const CONNECT_TIMEOUT_MS = 10_000;
const FIRST_ERROR = 400;
const FIRST_SERVER_ERROR = 500;
const TOO_MANY_REQUESTS = 429;
const NO_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * `fetch` for an MCP server: each message of an answer is capped, `Retry-After` is kept, nothing is sent twice (the
 * fetch of the platform repeats a POST that was answered 421) and no redirect is followed: the SDK does so within the origin, at
 * most five times. The call's own deadline ends it.
 */
export const createUpstreamFetch = (options: UpstreamFetchOptions): UpstreamFetch => {
  const connect = createPacedConnector({ timeout: CONNECT_TIMEOUT_MS });
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  const rate = createLineRate(() => options.breakOff('it sends more messages than can be read'));
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
      return toResponse(await agent.request(request), request, { ...options, rate });
    },
    destroy: () => void agent.destroy().catch(() => undefined),
  };
};

const toResponse = async (
  answer: Dispatcher.ResponseData,
  request: Dispatcher.RequestOptions,
  options: UpstreamFetchOptions & Pick<BodyCap, 'rate'>,
): Promise<Response> => {
  const { statusCode: status } = answer;
  const headers = toHeaders(answer.headers);
  if (request.method === 'POST' && isThrown(status, options.thrownStatuses)) {
    await answer.body.dump();
    const retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? undefined, options.now());
    throw toHttpError({ kind: 'status', status, retryAfterMs });
  }
  if (NO_BODY.has(status)) {
    await answer.body.dump();
    return new Response(null, { status, headers });
  }
  const { maxMessageBytes, rate } = options;
  const body = capBody(answer.body, { maxMessageBytes, rate, ...toForm(request, headers, options) });
  return new Response(ReadableStream.from(body), { status, headers });
};

const isThrown = (status: number, statuses: UpstreamFetchOptions['thrownStatuses']): boolean =>
  status === TOO_MANY_REQUESTS || status >= FIRST_SERVER_ERROR || (statuses === 'all' && status >= FIRST_ERROR);

const toHeaders = (given: Dispatcher.ResponseData['headers']): Headers => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const one of Array.isArray(value) ? value : [value ?? '']) headers.append(name, one);
  return headers;
};

const toForm = (
  { body }: Dispatcher.RequestOptions,
  headers: Headers,
  { breakOff }: UpstreamFetchOptions,
): Pick<BodyCap, 'form' | 'onOversize'> => {
  if (headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return { form: 'whole', onOversize: () => null };
  const id = typeof body === 'string' ? idOf(body) : null;
  if (id !== null)
    // The event that was too large is broken off; the next one is the answer. So the SDK asks for no repeat of it.
    return { form: 'events', onOversize: () => `\n\ndata: ${JSON.stringify(toStandIn(id, 'too_large'))}\n\n` };
  const stop = (): null => {
    breakOff('it sent a message that is too large');
    return null;
  };
  return { form: 'events', onOversize: stop };
};

const Request = z.object({ id: z.union([z.string(), z.number()]) });

const idOf = (body: string): string | number | null => {
  const request = Request.safeParse(JSON.parse(body));
  return request.success ? request.data.id : null;
};
