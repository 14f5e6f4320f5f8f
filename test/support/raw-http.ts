import { once } from 'node:events';
import { connect } from 'node:net';

/** An HTTP answer, read from the socket as it came. Header names are in lower case. */
export type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
};

/** A TCP connection to a service, on which anything may be sent: what no HTTP library would. */
export type RawConnection = Disposable & {
  readonly write: (data: string | Uint8Array) => void;
  /** The next whole answer. Rejects with what has come when the service closes before. */
  readonly answer: () => Promise<RawAnswer>;
  /** Resolves when the service has ended its side of the connection, or reset it. Ours stays open. */
  readonly ended: Promise<void>;
  /** Says that nothing more will be sent, and still listens. */
  readonly finish: () => void;
  /** Goes away without a word, as a client does that crashed. */
  readonly destroy: () => void;
};

export const openConnection = async (port: number): Promise<RawConnection> => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  let received = Buffer.alloc(0);
  let over = false;
  let wake = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const rouse = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  const finish = (): void => {
    over = true;
    ended.resolve();
    rouse();
  };
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    rouse();
  });
  // A reset is an end too: whoever waits for an answer sees that none came.
  socket.on('error', finish).on('end', finish).on('close', finish);
  const answer = async (): Promise<RawAnswer> => {
    for (;;) {
      const found = parseAnswer(received);
      if (found !== null) {
        received = received.subarray(found.length);
        return found.answer;
      }
      if (over) throw new Error(`The connection ended after ${JSON.stringify(received.toString())}.`);
      await wake.promise;
    }
  };
  return {
    write: (data) => void socket.write(data),
    answer,
    ended: ended.promise,
    finish: () => void socket.end(),
    destroy: () => void socket.destroy(),
    [Symbol.dispose]: () => void socket.destroy(),
  };
};

/** Sends one message on a connection of its own and gives the first answer. */
export const sendRaw = async (port: number, data: string | Uint8Array): Promise<RawAnswer> => {
  using connection = await openConnection(port);
  connection.write(data);
  return await connection.answer();
};

/** The text of a request: its first line, a Host unless `headers` name one, the headers in order, and the body. */
export const toRequestText = (
  firstLine: string,
  headers: readonly (readonly [name: string, value: string])[] = [],
  body = '',
): string => {
  const host = headers.some(([name]) => name.toLowerCase() === 'host') ? [] : [['Host', '127.0.0.1'] as const];
  const lines = [...host, ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${firstLine} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
};

/** The text of a POST /tool-calls with this body and its right length. */
export const toPostText = (body: string, headers: readonly (readonly [string, string])[] = []): string =>
  toRequestText(
    'POST /tool-calls',
    [['Content-Type', 'application/json'], ['Content-Length', String(Buffer.byteLength(body))], ...headers],
    body,
  );

const parseAnswer = (bytes: Buffer): { readonly answer: RawAnswer; readonly length: number } | null => {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Map(lines.map(toHeader));
  const start = end + 4;
  const length = start + Number(headers.get('content-length') ?? 0);
  if (bytes.length < length) return null;
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]);
  return { answer: { status, headers, body: bytes.subarray(start, length).toString() }, length };
};

const toHeader = (line: string): readonly [string, string] => {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
};
