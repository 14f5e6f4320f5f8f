import { Agent, type IncomingMessage, request } from 'node:http';

export type Sending = {
  readonly url: string;
  readonly body: string | Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly connection: 'kept' | 'fresh';
  readonly hangUpAfterMs: number | null;
  /** After this long without a whole answer it is given up. */
  readonly patienceMs: number;
};

/** What became of one HTTP request, as its client saw it. */
export type Exchange =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly contentType: string;
      readonly retryAfter: string | null;
      /** The header `Idempotent-Replayed: true`. */
      readonly isReplayed: boolean;
      readonly requestId: string;
      readonly body: string;
      readonly tookMs: number;
    }
  /** Nobody listens. */
  | { readonly kind: 'refused' }
  /** The connection ended before the answer did. `received`: how much of the answer had come. */
  | { readonly kind: 'broken'; readonly reason: string; readonly received: 'nothing' | 'a part' }
  /** The client went away, as planned. */
  | { readonly kind: 'hung_up' }
  | { readonly kind: 'silent' };

export type Client = {
  /** Never rejects. */
  readonly exchange: (sending: Sending) => Promise<Exchange>;
  /** Closes the connections that are kept. */
  readonly close: () => void;
};

/** A client that keeps connections alive, all of `connections` in turn, and tells exactly how an exchange ended. */
export const createClient = (connections = Number.POSITIVE_INFINITY): Client => {
  const kept = new Agent({
    keepAlive: true,
    maxFreeSockets: Math.min(connections, 32),
    maxSockets: connections,
    scheduling: connections === Number.POSITIVE_INFINITY ? 'lifo' : 'fifo',
  });
  return {
    exchange: (sending) => exchangeOnce(sending, kept),
    close: () => kept.destroy(),
  };
};

const exchangeOnce = (sending: Sending, kept: Agent): Promise<Exchange> => {
  const { promise, resolve } = Promise.withResolvers<Exchange>();
  const startedAt = performance.now();
  let received: 'nothing' | 'a part' = 'nothing';
  const sent = request(sending.url, {
    method: 'POST',
    agent: sending.connection === 'kept' ? kept : false,
    headers: { ...sending.headers, 'content-length': String(Buffer.byteLength(sending.body)) },
  });
  const timers = [
    setTimeout(() => endWith({ kind: 'silent' }), sending.patienceMs),
    ...(sending.hangUpAfterMs === null ? [] : [setTimeout(() => endWith({ kind: 'hung_up' }), sending.hangUpAfterMs)]),
  ];
  const endWith = (end: Exchange): void => {
    for (const timer of timers) clearTimeout(timer);
    resolve(end);
    if (end.kind !== 'answered') sent.destroy();
  };
  const onError = (error: Error): void => endWith(toBroken(error, received));
  sent.on('error', onError);
  sent.on('response', (answer) => {
    received = 'a part';
    readWhole(answer, startedAt, endWith, onError);
  });
  sent.end(sending.body);
  return promise;
};

const toBroken = (error: Error, received: 'nothing' | 'a part'): Exchange => {
  const reason = 'code' in error ? String(error.code) : error.message;
  return reason === 'ECONNREFUSED' ? { kind: 'refused' } : { kind: 'broken', reason, received };
};

const readWhole = (
  answer: IncomingMessage,
  startedAt: number,
  endWith: (end: Exchange) => void,
  onError: (error: Error) => void,
): void => {
  const parts: Buffer[] = [];
  answer.on('data', (part: Buffer) => parts.push(part));
  answer.on('error', onError);
  answer.on('end', () =>
    endWith({
      kind: 'answered',
      status: answer.statusCode ?? 0,
      contentType: answer.headers['content-type'] ?? '',
      retryAfter: answer.headers['retry-after'] ?? null,
      isReplayed: answer.headers['idempotent-replayed'] === 'true',
      requestId: String(answer.headers['x-request-id'] ?? ''),
      body: Buffer.concat(parts).toString(),
      tookMs: performance.now() - startedAt,
    }),
  );
};
