import { once } from 'node:events';
import type { ServerResponse as Answer, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServerResponse } from './node-http.ts';

/**
 * The response that is still owed to an earlier, whole request of the connection. Node has no public way to ask.
 */
export const findOwedAnswer = (socket: Duplex): Answer | null => {
  const response: unknown = Reflect.get(socket, '_httpMessage');
  return response instanceof ServerResponse && response.req.complete && !response.closed ? response : null;
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
