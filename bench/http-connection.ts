import { connect } from 'node:net';
import { type AnswerEnd, findAnswerEnd } from './slices/read-answer.ts';

/** `text` is all of it, with its head. */
export type HttpAnswer = { readonly status: number; readonly body: string; readonly text: string };

/** One connection that is kept alive, with one request at a time. */
export type HttpConnection = {
  readonly send: (request: string | Buffer) => void;
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

const STATUS_AT = 'HTTP/1.1 '.length;
const STATUS_DIGITS = 3;

/**
 * Opens a connection. A client of its own, on a bare socket: what the usual ones do for a request costs as much as what
 * is measured.
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
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
    const found = endOf(received);
    if (found === 'unknown') return giveUp('an answer that does not tell its length');
    if (found === null) return undefined;
    const text = received;
    received = '';
    const status = Number(text.slice(STATUS_AT, STATUS_AT + STATUS_DIGITS));
    return onAnswer({ status, body: text.slice(found.body, found.end), text });
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

const endOf = (received: string): AnswerEnd | 'unknown' | null => {
  try {
    return findAnswerEnd(received);
  } catch (_unknown) {
    return 'unknown';
  }
};
