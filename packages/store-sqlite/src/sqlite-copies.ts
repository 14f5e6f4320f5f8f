import { rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';

// The process that has the file is the only one that can read it: it is asked at a socket beside it, which its owner alone may use.
const toSocketPath = (path: string): string => `${path}-sock`;

/** Copies the file for who asks, until it is closed. `onFailed`: it cannot be asked, for example because the path is too long. */
export const serveCopies = (
  path: string,
  backup: (to: string) => void,
  onFailed: (error: unknown) => void,
): { readonly close: () => void } => {
  const socketPath = toSocketPath(path);
  // Of a process that was killed: this one has the lock of the file.
  rmSync(socketPath, { force: true });
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const words: string[] = [];
    socket.setEncoding('utf8');
    socket.on('error', () => undefined);
    socket.on('data', (text: string) => words.push(text));
    socket.on('end', () => {
      try {
        backup(words.join(''));
        socket.end('done');
      } catch (error) {
        socket.end(error instanceof Error ? error.message : String(error));
      }
    });
  });
  server.on('error', onFailed);
  server.unref();
  const umask = process.umask(0o177);
  try {
    server.listen(socketPath);
  } finally {
    process.umask(umask);
  }
  return { close: () => void server.close() };
};

/** Has the process that uses the file copy it; null: no process can be asked. Else `done`, or why it failed. */
export const askForCopy = (path: string, to: string): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = connect(toSocketPath(path), () => socket.end(to));
    const words: string[] = [];
    socket.setEncoding('utf8');
    socket.on('error', () => resolve(null));
    socket.on('data', (text: string) => words.push(text));
    socket.on('end', () => resolve(words.join('')));
  });
