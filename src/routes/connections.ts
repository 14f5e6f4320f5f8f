import { once } from 'node:events';
import type { ServerResponse as Answer, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ServerResponse } from './problems.ts';

/**
 * The response that is still owed to an earlier, whole request of the connection. Node has no public way to ask.
 */
export const findOwedAnswer = (socket: Duplex): Answer | null => {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse && response.req.complete && !response.closed ? response : null;
};

/** Reads nothing more of a connection until what it gives is called. */
export const stopReading = (socket: Duplex): (() => void) => {
  const stop = (): void => {
    socket.pause();
    // Node resumes it when a message or an answer ends, a tick late: it may count as paused again by then, and `pause` does nothing.
    socket.emit('pause');
  };
  socket.on('resume', stop);
  stop();
  return () => {
    socket.off('resume', stop);
    socket.resume();
  };
};

/** Resolves when every connection has been sent what it is owed, to the last byte, or has gone. */
export type WhenSent = () => Promise<unknown>;

/** Connections are watched, not answers: that costs a request nothing. */
export const trackAnswers = (server: Server): WhenSent => {
  const open = new Set<Duplex>();
  server.on('connection', (socket: Duplex) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return () => Promise.all(Array.from(open, whenSentTo));
};

// One answer at a time: that of the next request of the connection is known when the one before it is sent.
const whenSentTo = async (socket: Duplex): Promise<void> => {
  for (let owed = findOwedAnswer(socket); owed !== null; owed = findOwedAnswer(socket)) await once(owed, 'close');
};

export type StallOptions = {
  /** A connection that takes nothing of what it is sent for this time is ended, in milliseconds. */
  readonly stallMs: number;
  readonly onStalled: () => void;
};

// A connection is ended after one to seven sixths of the time. Sweeps are counted, not milliseconds: while the event loop
// stands still nothing can be sent, and that is not the client's fault.
const SWEEPS = 6;

/** Ends connections whose clients do not read what they have asked for: until then it stays in memory. */
export const endStalledConnections = (server: Server, { stallMs, onStalled }: StallOptions): void => {
  const connections = new Map<Socket, { taken: number; sweepsWithout: number }>();
  server.on('connection', (socket) => {
    connections.set(socket, { taken: 0, sweepsWithout: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  const sweep = (): void => {
    for (const [socket, progress] of connections) {
      const unsent = unsentBytesOf(socket);
      // What is written meanwhile adds to both: events of a stream are no sign that anybody reads it.
      const taken = socket.bytesWritten - unsent;
      const stands = unsent > 0 && taken === progress.taken;
      progress.taken = taken;
      progress.sweepsWithout = stands ? progress.sweepsWithout + 1 : 0;
      if (progress.sweepsWithout < SWEEPS) continue;
      onStalled();
      socket.destroy();
    }
  };
  server.once('listening', () => {
    const timer = setInterval(sweep, Math.ceil(stallMs / SWEEPS)).unref();
    server.once('close', () => clearInterval(timer));
  });
};

/**
 * What is written and not yet taken by the system. `writableLength` counts a piece until all of it is taken; how much of
 * that is left only the handle knows, which Node's own timeout of a socket asks, too, and which has no public way.
 */
const unsentBytesOf = (socket: Socket): number => {
  if (socket.writableLength === 0) return 0;
  const handle: unknown = Reflect.get(socket, '_handle');
  const queued: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'writeQueueSize') : 0;
  return socket.writableLength + (typeof queued === 'number' ? queued : 0);
};
