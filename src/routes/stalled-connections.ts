import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export type StallOptions = {
  /** A connection that takes nothing of what it is sent for this time is ended, in milliseconds. */
  readonly stallMs: number;
  readonly onStalled: () => void;
};

type Progress = { unsent: number; written: number; sweepsWithout: number };

// A connection is ended after one to seven sixths of the time. Sweeps are counted, not milliseconds: while the event loop
// stands still nothing can be sent, and that is not the client's fault.
const SWEEPS = 6;

/** Ends connections whose clients do not read what they have asked for: until then it stays in memory. */
export const endStalledConnections = (server: Server, { stallMs, onStalled }: StallOptions): void => {
  const connections = new Map<Socket, Progress>();
  server.on('connection', (socket) => {
    connections.set(socket, { unsent: 0, written: 0, sweepsWithout: 0 });
    socket.once('close', () => connections.delete(socket));
  });
  const sweep = (): void => {
    for (const [socket, progress] of connections) {
      const unsent = unsentBytesOf(socket);
      const { bytesWritten: written } = socket;
      const stands = unsent > 0 && unsent === progress.unsent && written === progress.written;
      progress.unsent = unsent;
      progress.written = written;
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
