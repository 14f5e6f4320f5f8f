import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

// One read of a socket. Of the worst there is, a thousand answers without an end or ten thousand chunks of one byte, the
// parser takes some 10 ms for as much.
const BYTES_A_TURN = 65_536;

/**
 * A connector for an undici Agent: whatever comes on all its sockets, other work has its turn after 64 KiB of it. undici
 * (8.12) reads a socket until it is empty, and the system fills it meanwhile.
 */
export const createPacedConnector = (options: buildConnector.BuildOptions): buildConnector.connector => {
  const connect = buildConnector(options);
  let left = BYTES_A_TURN;
  const waiting = new Set<Socket>();
  const nextTurn = (): void => {
    left = BYTES_A_TURN;
    const sockets = [...waiting];
    waiting.clear();
    for (const socket of sockets) socket.emit('readable');
  };
  const pace = (socket: Socket): Socket => {
    const read: Socket['read'] = socket.read.bind(socket);
    socket.read = (size) => {
      // The last words of a socket that has ended are no flood, and no turn would bring them.
      if (left <= 0 && !socket.readableEnded && !socket.destroyed) {
        waiting.add(socket);
        return null;
      }
      const chunk: unknown = read(size);
      if (!(chunk instanceof Uint8Array)) return chunk;
      if (left === BYTES_A_TURN) setImmediate(nextTurn);
      left -= chunk.byteLength;
      return chunk;
    };
    return socket;
  };
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error === null) callback(null, pace(socket));
      else callback(error, null);
    });
};
