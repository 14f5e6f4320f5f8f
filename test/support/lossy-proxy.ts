import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

export type LossyProxy = {
  readonly url: string;
  /** From now on the next so many answers to POST /tool-calls are lost: the service has given them, and the connection breaks. */
  readonly lose: (count: number) => void;
  /** The Idempotency-Keys that came with POST /tool-calls, in order. */
  readonly keys: () => readonly (string | null)[];
  readonly stop: () => Promise<void>;
};

/** Passes requests on to a service on loopback, and loses answers where it is told to. */
export const startLossyProxy = async (serviceUrl: string, count = 0): Promise<LossyProxy> => {
  const keys: (string | null)[] = [];
  let toLose = count;
  const server = createServer(async (incoming, response) => {
    const isExecution = incoming.method === 'POST' && incoming.url?.startsWith('/tool-calls') === true;
    if (isExecution) keys.push(incoming.headers['idempotency-key']?.toString() ?? null);
    const answer = await passOn(serviceUrl, incoming);
    const body = await buffer(answer);
    if (isExecution && toLose > 0) {
      toLose -= 1;
      response.destroy();
      return;
    }
    response.writeHead(answer.statusCode ?? 500, answer.headers).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    lose: (next) => {
      toLose = next;
    },
    keys: () => keys,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const passOn = async (serviceUrl: string, incoming: IncomingMessage): Promise<IncomingMessage> => {
  const { method = 'GET', url = '/', headers } = incoming;
  const outgoing = request(new URL(url, serviceUrl), { method, headers });
  outgoing.end(await buffer(incoming));
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  if (answer === undefined) throw new Error('The service has not answered.');
  return answer;
};
