import { Pool } from 'undici';
import type { FuzzRequest } from './openapi-requests.ts';
import { openConnection, type RawAnswer } from './raw-http.ts';

/** Sends requests over real sockets, one after the other on one connection where the service keeps it. */
export type FuzzSender = AsyncDisposable & { readonly send: (request: FuzzRequest) => Promise<RawAnswer> };

// An answer that refuses so much closes the connection, and a client that is still writing may not see it.
const MAX_CLIENT_BYTES = 60_000;
const PLAIN_METHODS = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
]);
// What says where a message ends, or what becomes of its connection: the client's own affair.
const FRAMING = ['connection', 'content-length', 'expect', 'host', 'transfer-encoding', 'upgrade'];

const PLAIN_TARGET = /^\/[\x21-\x7e]*$/;
const PLAIN_NAME = /^[\w-]+$/;
const PLAIN_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether a client would send it. undici 8 would refuse it otherwise, and then send nothing ever again. */
const isPlain = ({ method, target, headers, body }: FuzzRequest): boolean =>
  PLAIN_METHODS.has(method) &&
  PLAIN_TARGET.test(target) &&
  (body ?? '').length <= MAX_CLIENT_BYTES &&
  FRAMING.every((name) => !Object.hasOwn(headers, name)) &&
  Object.entries(headers).every(([name, value]) => PLAIN_NAME.test(name) && PLAIN_VALUE.test(value));

export const createFuzzSender = (port: number): FuzzSender => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  const sendByClient = async ({ method, target, headers, body }: FuzzRequest): Promise<RawAnswer> => {
    const answer = await pool.request({ method, path: target, headers: { ...headers }, body });
    const received = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
    return { status: answer.statusCode, headers: new Map(received), body: await answer.body.text() };
  };
  return {
    send: (request) => (isPlain(request) ? sendByClient(request) : sendByHand(port, request)),
    [Symbol.asyncDispose]: () => pool.close(),
  };
};

const sendByHand = async (port: number, { method, target, headers, body }: FuzzRequest): Promise<RawAnswer> => {
  const bytes = Buffer.from(body ?? '');
  // An answer to HEAD looks like one whose body is still to come.
  const first = `${method === 'HEAD' ? 'GET' : method} ${target} HTTP/1.1`;
  const sized = 'content-length' in headers || 'transfer-encoding' in headers || body === null;
  const lines = Object.entries({
    ...('host' in headers ? {} : { host: '127.0.0.1' }),
    ...headers,
    ...(sized ? {} : { 'content-length': String(bytes.length) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  using connection = await openConnection(port);
  connection.write(Buffer.concat([Buffer.from(`${first}\r\n${lines.join('')}\r\n`), bytes]));
  // Less than was announced is all that comes.
  if (sized) connection.finish();
  for (;;) {
    const answer = await connection.answer();
    if (answer.status >= 200) return answer;
  }
};
