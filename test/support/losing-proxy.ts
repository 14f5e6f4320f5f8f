import { createServer, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A proxy in front of a service that loses answers: the request arrives and is answered, and its sender hears nothing. */
export type LosingProxy = {
  readonly url: string;
  /** The Idempotency-Key of each request to /tool-calls, lost ones included. */
  readonly keys: () => readonly string[];
  /** How many answers have been lost. */
  readonly lost: () => number;
};

/** Loses the answers to the first `lose` requests to POST /tool-calls; passes everything else on. */
export const startLosingProxy = async (serviceUrl: string, lose: number): Promise<LosingProxy> => {
  const keys: string[] = [];
  let lost = 0;
  const server = createServer((incoming, outgoing) => {
    const isExecution = incoming.method === 'POST' && incoming.url?.startsWith('/tool-calls') === true;
    if (isExecution) keys.push(String(incoming.headers['idempotency-key']));
    const { method, headers } = incoming;
    const passedOn = send(new URL(incoming.url ?? '/', serviceUrl), { method, headers }, (answer) => {
      if (!isExecution || lost >= lose) {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      lost += 1;
      const drop = (): void => void incoming.socket.resetAndDestroy();
      buffer(answer).then(drop, drop);
    });
    passedOn.on('error', () => outgoing.destroy());
    incoming.pipe(passedOn);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  return { url: `http://127.0.0.1:${address.port}`, keys: () => keys, lost: () => lost };
};
