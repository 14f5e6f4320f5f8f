import { once } from 'node:events';
import { createServer } from 'node:https';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Certificate } from '../http-target.ts';
import { isObject, type JsonObject } from './json-type.ts';
import type { PlannedCall } from './provider.ts';

export type RealtimeEndpoint = {
  readonly url: string;
  /** The tools that the session was told of. */
  readonly tools: () => unknown;
  readonly stop: () => Promise<void>;
};

/**
 * A session of OpenAI's Realtime API on loopback, over TLS, as the client wants it. Asked for the first response the model
 * makes these calls; asked for the next one it says all outputs, or closes the session where a call has none.
 */
export const startRealtimeEndpoint = async (
  calls: readonly PlannedCall[],
  certificate: Certificate,
): Promise<RealtimeEndpoint> => {
  const secure = createServer(certificate);
  const server = new WebSocketServer({ server: secure });
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  const session: Session = { calls, tools: null, outputs: new Map(), responses: 0 };
  server.on('connection', (socket) => {
    socket.on('message', (data) => takeEvent(session, JSON.parse(String(data)), socket));
  });
  const address = secure.address();
  if (address === null || typeof address === 'string') throw new Error('The endpoint has no port.');
  return {
    url: `https://127.0.0.1:${address.port}`,
    tools: () => session.tools,
    stop: async () => {
      for (const socket of server.clients) socket.terminate();
      server.close();
      secure.close();
      await once(secure, 'close');
    },
  };
};

type Session = {
  readonly calls: readonly PlannedCall[];
  tools: unknown;
  readonly outputs: Map<unknown, unknown>;
  responses: number;
};

const takeEvent = (session: Session, { type, item, session: update }: JsonObject, socket: WebSocket): void => {
  if (type === 'session.update' && isObject(update)) session.tools = update['tools'];
  if (type === 'conversation.item.create' && isObject(item)) session.outputs.set(item['call_id'], item['output']);
  if (type === 'response.create') respond(session, socket);
};

const respond = (session: Session, socket: WebSocket): void => {
  session.responses += 1;
  const said = session.calls.map(({ id }) => session.outputs.get(id));
  const isWhole = !said.includes(undefined) && session.outputs.size === session.calls.length;
  const text = { type: 'output_text', text: said.join('\n') };
  if (session.responses === 1) sendDone(socket, session.calls.map(toItem));
  else if (isWhole) sendDone(socket, [{ type: 'message', content: [text] }]);
  else socket.close(1008, 'calls without outputs');
};

const toItem = ({ id, name, arguments: given }: PlannedCall, place: number): JsonObject => ({
  id: `item_${place}`,
  object: 'realtime.item',
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: typeof given === 'string' ? given : JSON.stringify(given),
});

const sendDone = (socket: WebSocket, output: readonly JsonObject[]): void =>
  socket.send(
    JSON.stringify({
      type: 'response.done',
      event_id: 'event_1',
      response: { object: 'realtime.response', id: 'resp_1', status: 'completed', output },
    }),
  );
