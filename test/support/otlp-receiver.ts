import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished } from 'vitest';
import { type ReceivedSpan, readExport } from './otlp-message.ts';
import { timeLimit } from './time-limit.ts';

/** How it answers an export: as it should, with an error, with bytes that are no answer, or not at all. */
export type Manner = 'accepts' | 'fails' | 'talks_garbage' | 'hangs';

/** A collector of OTLP over HTTP on 127.0.0.1 that keeps what it gets. Ends with the test. */
export type OtlpReceiver = {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly spans: () => readonly ReceivedSpan[];
  readonly exports: () => readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** Resolves with the spans when at least this many have come. */
  readonly received: (spans: number) => Promise<readonly ReceivedSpan[]>;
  readonly behave: (manner: Manner) => void;
};

const GARBAGE = Buffer.from('\xff\xff\xff<html>', 'latin1');

const answer = (response: ServerResponse, manner: Manner): void => {
  if (manner === 'accepts') response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  if (manner === 'fails') response.writeHead(500).end('sk-collector0123456789abcdef is not allowed');
  if (manner === 'talks_garbage') response.writeHead(200).end(GARBAGE);
};

export const startOtlpReceiver = async (first: Manner = 'accepts'): Promise<OtlpReceiver> => {
  let manner = first;
  const spans: ReceivedSpan[] = [];
  const exports: { path: string; headers: IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    exports.push({ path: request.url ?? '', headers: request.headers });
    if (manner === 'accepts')
      spans.push(...readExport(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    answer(response, manner);
  });
  server.on('connection', (socket: Socket) => sockets.add(socket).add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The receiver has no port.');
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    spans: () => spans,
    exports: () => exports,
    received: async (count) => {
      await expect.poll(() => spans.length, { timeout: timeLimit(20_000) }).toBeGreaterThanOrEqual(count);
      return spans;
    },
    behave: (next) => {
      manner = next;
    },
  };
};

/** The only span of this name; fails where there is none, or more than one. */
export const onlySpan = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const [span, ...others] = spans.filter((candidate) => candidate.name === name);
  if (span === undefined || others.length > 0)
    throw new Error(`Of the name '${name}' there is not one span among: ${spans.map((one) => one.name).join(', ')}`);
  return span;
};
