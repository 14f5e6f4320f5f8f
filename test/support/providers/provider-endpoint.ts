import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Provider, Rejection, Script } from './provider.ts';

export type ProviderEndpoint = {
  readonly url: string;
  /** The bodies that came, in order. */
  readonly requests: () => readonly unknown[];
  /** What was refused: a conversation the provider would not take, or one the script did not expect. */
  readonly rejections: () => readonly Rejection[];
  readonly stop: () => Promise<void>;
};

/** A model's endpoint on loopback that speaks one provider's format. `script` is the model. */
export const startProviderEndpoint = async (provider: Provider, script: Script): Promise<ProviderEndpoint> => {
  const requests: unknown[] = [];
  const rejections: Rejection[] = [];
  const decide = async (request: IncomingMessage): Promise<Rejection> => {
    const path = new URL(request.url ?? '/', 'http://loopback').pathname;
    if (request.method !== 'POST' || !provider.servesPath(path))
      return { status: 404, body: { error: { message: `Unknown request: ${request.method} ${path}` } } };
    const body: unknown = JSON.parse(await readText(request));
    requests.push(body);
    const taken = provider.take(body, request.headers);
    if (taken.kind === 'rejected') return taken.rejection;
    return { status: 200, body: provider.write(script(taken.conversation), requests.length) };
  };
  const server = createServer(async (request, response) => {
    const answer = await decide(request).catch(toScriptFault);
    if (answer.status !== 200) rejections.push(answer);
    send(response, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The endpoint has no port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests: () => requests,
    rejections: () => rejections,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** 400, because clients repeat what answers 5xx, and the test would only fail later. */
const toScriptFault = (error: unknown): Rejection => ({
  status: 400,
  body: { error: { message: `The script did not expect this: ${error instanceof Error ? error.message : error}` } },
});

const readText = async (request: IncomingMessage): Promise<string> => {
  const chunks: string[] = [];
  request.setEncoding('utf8');
  for await (const chunk of request) chunks.push(String(chunk));
  return chunks.join('');
};

const send = (response: ServerResponse, { status, body }: Rejection): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
