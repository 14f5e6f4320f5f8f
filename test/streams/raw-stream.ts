import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection that has sent `text`, and reads nothing until it is told to. */
export const openUnread = async (port: number, text: string): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write(text);
  return socket;
};

/** What comes back for `text`, up to where `end` stands in it. */
export const readLines = async (port: number, text: string, end: string): Promise<string> => {
  const socket = await openUnread(port, text);
  let read = '';
  for await (const chunk of socket) {
    read += String(chunk);
    if (read.includes(end)) break;
  }
  return read;
};
