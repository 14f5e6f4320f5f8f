import { connect } from 'node:net';

export type HttpAnswer = { readonly status: number; readonly body: string };

/** One connection that is kept alive, with one request at a time. */
export type HttpConnection = {
  readonly send: (request: string) => void;
  readonly close: () => void;
};

export type ConnectionEvents = {
  readonly onAnswer: (answer: HttpAnswer) => void;
  readonly onOpen?: () => void;
  /** It cannot be used any more. Not called after `close`. */
  readonly onBroken: (reason: string) => void;
};

/** The bytes of a POST with a JSON body of ASCII characters. */
export const toPost = (url: string, body: string, headers: Readonly<Record<string, string>> = {}): string => {
  const { pathname, host } = new URL(url);
  const lines = { host, 'content-type': 'application/json', 'content-length': String(body.length), ...headers };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname} HTTP/1.1\r\n${head.join('')}\r\n${body}`;
};

/** The bytes of a GET. */
export const toGet = (url: string, path: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n\r\n`;

const HEAD_END = '\r\n\r\n';
const STATUS_AT = 'HTTP/1.1 '.length;
const STATUS_DIGITS = 3;

/**
 * Opens a connection. A client of its own, on a bare socket: what the usual ones do for a request costs as much as what
 * is measured. Knows no chunks and no redirects, which the service does not send.
 */
export const openConnection = (
  url: string,
  { onAnswer, onBroken, onOpen = () => undefined }: ConnectionEvents,
): HttpConnection => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let received = '';
  let isOver = false;
  const giveUp = (reason: string): void => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    onBroken(reason);
  };
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text;
    const size = sizeOfAnswer(received);
    if (size === 'unknown') return giveUp('an answer without Content-Length');
    if (size === null || received.length < size.head + size.body) return undefined;
    const answer = {
      status: Number(received.slice(STATUS_AT, STATUS_AT + STATUS_DIGITS)),
      body: received.slice(size.head),
    };
    received = '';
    return onAnswer(answer);
  });
  socket.once('connect', onOpen);
  socket.on('error', (error) => giveUp(error.message));
  socket.on('close', () => giveUp('the connection was closed'));
  return {
    send: (request) => void socket.write(request, 'latin1'),
    close: () => {
      isOver = true;
      socket.destroy();
    },
  };
};

const sizeOfAnswer = (received: string): { readonly head: number; readonly body: number } | 'unknown' | null => {
  const end = received.indexOf(HEAD_END);
  if (end === -1) return null;
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, end))?.[1];
  return length === undefined ? 'unknown' : { head: end + HEAD_END.length, body: Number(length) };
};
