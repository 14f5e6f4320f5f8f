import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { stopReading } from './connections.ts';

// So many pipelined requests start in a turn of the event loop, of all connections together: then it is the turn of others.
const MOST_A_SLICE = 8;
// Node parses at once all of the 64 KiB that it has read of a connection: up to 3,600 requests, of which each takes 2 KB while it waits.
const MOST_WAITING = 32;

type Line = {
  readonly requests: (readonly [IncomingMessage, ServerResponse])[];
  /** To be done when none of it waits any more. */
  readonly whenEmpty: (() => void)[];
};

/**
 * Hands the requests of a server to `handle`: at once those that come alone, those that are pipelined behind others in turns that
 * all connections share. Nothing more is read of a connection while some of its wait; where too many do, the next is refused.
 */
export const handleInSlices = (
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): void => {
  const lines = new Map<Socket, Line>();
  let started = 0;
  let lastSocket: Socket | null = null;
  let lastBytes = 0;
  const start = (request: IncomingMessage, response: ServerResponse): void => {
    if (started === 0) setImmediate(onTurn);
    started += 1;
    handle(request, response);
  };
  const startNext = (socket: Socket, line: Line): void => {
    const next = line.requests.shift();
    lines.delete(socket);
    // At the end again: the loop below comes back to it.
    if (line.requests.length > 0) lines.set(socket, line);
    else for (const act of line.whenEmpty) act();
    if (next !== undefined && !socket.destroyed) start(...next);
  };
  const onTurn = (): void => {
    started = 0;
    for (const [socket, line] of lines) {
      startNext(socket, line);
      if (started === MOST_A_SLICE) return;
    }
  };
  const wait = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const line = lines.get(socket) ?? { requests: [], whenEmpty: [stopReading(socket)] };
    lines.set(socket, line);
    line.requests.push([request, response]);
    if (line.requests.length === MOST_WAITING) line.whenEmpty.push(refuseNext(socket));
  };
  server.removeAllListeners('request').on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const { bytesRead } = socket;
    // Node gives a response its socket when those before it are sent, which may be while it parses what it has read.
    const isAlone = response.socket !== null && (socket !== lastSocket || bytesRead !== lastBytes);
    lastSocket = socket;
    lastBytes = bytesRead;
    if (isAlone) handle(request, response);
    else if (lines.size === 0 && started < MOST_A_SLICE) start(request, response);
    else wait(request, response);
  });
};

/**
 * The next request of the connection ends it, as a malformed one would, until what this gives is called. Its parser says so to
 * Node: there is no other way to leave the rest of what has been read.
 */
export const refuseNext = (socket: Socket): (() => void) => {
  const parser: unknown = Reflect.get(socket, 'parser');
  if (typeof parser !== 'object' || parser === null) return () => undefined;
  const onIncoming: unknown = Reflect.get(parser, 'onIncoming');
  Reflect.set(parser, 'onIncoming', () => -1);
  return () => {
    // Node gives a parser to another connection when its own is closed.
    if (Reflect.get(socket, 'parser') === parser) Reflect.set(parser, 'onIncoming', onIncoming);
  };
};
