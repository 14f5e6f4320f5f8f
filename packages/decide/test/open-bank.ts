import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

/** Opens the server of a bank until the test ends, and gives its address. */
export const openBank = async (
  serve: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<string> => {
  const server = createServer((request, response) => {
    // Who asked may have died over it.
    response.on('error', () => undefined);
    serve(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
};
