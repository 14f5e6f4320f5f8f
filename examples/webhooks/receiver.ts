import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

//   WEBHOOK_SECRET=whsec_… node examples/webhooks/receiver.ts
//
// Receives webhooks of the service and checks that they are its own. The secret is that of the endpoint in the
// configuration file; while it is rotated the service signs with both, so either of them is right here.
const { WEBHOOK_SECRET = '', PORT = '9000' } = process.env;
const webhook = new Webhook(WEBHOOK_SECRET);

// Every message comes at least once: a receiver that does something keeps the ids it has seen where it keeps its data.
const seen = new Set<string>();

/** The message, or null where it is not the service's: another secret, changed, or older than five minutes. */
const verify = (body: string, headers: IncomingMessage['headers']): unknown => {
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  try {
    return webhook.verify(body, texts);
  } catch {
    return null;
  }
};

const server = createServer(async (request, response) => {
  // The bytes as they came: JSON that is parsed and written again has another signature.
  const message = verify((await buffer(request)).toString('utf8'), request.headers);
  if (message === null) {
    response.writeHead(401).end();
    return;
  }
  // Answer first, work later: an attempt ends after 15 s, and is then made again.
  response.writeHead(204).end();
  const id = String(request.headers['webhook-id']);
  if (seen.has(id)) return;
  seen.add(id);
  // Ids, outcome and code; the result itself is at GET /tool-calls/{request_id}.
  console.log(JSON.stringify(message));
});

server.listen(Number(PORT), '127.0.0.1', () => console.log(JSON.stringify({ listening: server.address() })));
