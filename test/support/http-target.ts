import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { RetryClock } from '@recourse/toolkit-kit/egress/transport-retries';
import { onTestFinished } from 'vitest';

export type SeenRequest = { readonly method: string; readonly path: string; readonly headers: IncomingHttpHeaders };

/** A server on 127.0.0.1 that answers by script and remembers what came. Ends with the test. */
export type HttpTarget = {
  readonly origin: string;
  readonly port: number;
  /** Connections accepted so far: 0 proves that no packet of a handshake was answered. */
  readonly connections: () => number;
  /** Connections open now. */
  readonly open: () => number;
  readonly requests: readonly SeenRequest[];
};

/** Answers one request; `count` is how many this target has had with this one. */
export type Answerer = (response: ServerResponse, request: SeenRequest, count: number) => void;

const LOOPBACK = '127.0.0.1';

const listen = async (server: Server, scheme: string, requests: readonly SeenRequest[]): Promise<HttpTarget> => {
  const open = new Set<Socket>();
  let accepted = 0;
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    open.add(socket);
    socket.on('error', () => undefined).on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The target has no port.');
  const { port } = address;
  const origin = `${scheme}://${LOOPBACK}:${port}`;
  return { origin, port, connections: () => accepted, open: () => open.size, requests };
};

const toListener =
  (answer: Answerer, requests: SeenRequest[]): RequestListener =>
  (request, response) => {
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers };
    requests.push(seen);
    answer(response, seen, requests.length);
  };

export const startHttpTarget = (answer: Answerer): Promise<HttpTarget> => {
  const requests: SeenRequest[] = [];
  return listen(createServer(toListener(answer, requests)), 'http', requests);
};

/** The same over TLS, with a certificate of its own. */
export const startHttpsTarget = (answer: Answerer, certificate: Certificate): Promise<HttpTarget> => {
  const requests: SeenRequest[] = [];
  return listen(createSecureServer(certificate, toListener(answer, requests)), 'https', requests);
};

/** A server that need not speak HTTP at all. */
export const startTcpTarget = (onSocket: (socket: Socket) => void): Promise<HttpTarget> =>
  listen(createTcpServer(onSocket), 'http', []);

/** A port of 127.0.0.1 on which nobody listens. */
export const findClosedPort = async (): Promise<number> => {
  const server = createTcpServer();
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The server had no port.');
  return address.port;
};

/** An answerer with one status, headers and body. */
export const answering =
  (status: number, headers: Readonly<Record<string, string>> = {}, body: string | Uint8Array = ''): Answerer =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };

/** A clock whose pauses are over at once and remembered; time passes only in them. */
export const createInstantClock = (random = 0): RetryClock & { readonly pauses: readonly number[] } => {
  const pauses: number[] = [];
  let nowMs = Date.parse('2026-11-21T12:00:00Z');
  return {
    pauses,
    now: () => nowMs,
    random: () => random,
    pause: async (ms) => {
      pauses.push(ms);
      nowMs += ms;
    },
  };
};

/** What the handler throws; fails where it returns. */
export const failureOf = (running: Promise<unknown>): Promise<unknown> =>
  running.then(
    (value) => {
      throw new Error(`Expected a failure, got ${JSON.stringify(value)}.`);
    },
    (thrown: unknown) => thrown,
  );

export type Certificate = { readonly key: string; readonly cert: string };

/** A self-signed certificate for 127.0.0.1, written as DER by hand (RFC 5280): Node makes keys but no certificates. */
export const createCertificate = (): Certificate => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, oid('2a8648ce3d040302'));
  const name = der(0x30, der(0x31, der(0x30, oid('550403'), der(0x0c, Buffer.from('recourse test')))));
  const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z')));
  const subjectAltName = der(0x30, oid('551d11'), der(0x04, der(0x30, der(0x87, Buffer.from([127, 0, 0, 1])))));
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, subjectAltName)),
  );
  const signature = createSign('sha256').update(body).sign(privateKey);
  const whole = der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
};

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
