import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { servers } from './mcp-lab.ts';

export type HttpServerProcess = AsyncDisposable & { readonly url: string; readonly stop: () => Promise<void> };

/** A port that nobody has now, for a server that goes away and comes back. */
export const findFreePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('There is no port.');
  return address.port;
};

/** The scripted HTTP server as a process; resolves once it listens. */
export const startHttpServer = async (port: number, countPath: string, mode = 'plain'): Promise<HttpServerProcess> => {
  const { command, args } = servers.http(String(port), countPath, mode);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { url: `http://127.0.0.1:${port}/mcp`, stop, [Symbol.asyncDispose]: stop };
};
