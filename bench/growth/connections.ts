import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Part } from '../part.ts';
import { startService } from '../servers.ts';
import { type FilledServer, type GrowthRow, measureFilled } from './growth-row.ts';

const COUNTS = [1, 100, 10_000] as const;
// A listening socket keeps 511 new connections; one more, and the kernel lets it wait for a second or longer.
const OPENED_AT_ONCE = 100;

/** Connections that have answered once and are kept open, beside those of the load. */
export const measureConnections = async (part: Part): Promise<GrowthRow> => {
  const filled: FilledServer[] = [];
  const sockets: Socket[] = [];
  for (const count of COUNTS) {
    const server = await startService(part.surroundings);
    for (let opened = 0; opened < count; opened += OPENED_AT_ONCE) {
      const batch = Array.from({ length: Math.min(OPENED_AT_ONCE, count - opened) }, () => openKept(server.url));
      sockets.push(...(await Promise.all(batch)));
    }
    filled.push({ count, server });
  }
  const row = await measureFilled(part, 'open connections', filled);
  for (const socket of sockets) socket.destroy();
  return row;
};

/** A connection that says nothing for ten seconds is closed; one that has been used is kept. */
const openKept = async (url: string): Promise<Socket> => {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(`GET /live HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  await once(socket, 'data');
  return socket;
};
