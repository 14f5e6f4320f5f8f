import type { Server } from 'node:http';

// Longer than a lane waits for its next turn.
const KEEP_ALIVE_MS = 120_000;

/** Listens on loopback, on a port that is free, tells the bench which, and ends with the bench, however that ends. */
export const listenForBench = (server: Server): void => {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) process.send?.({ port: address.port });
  });
  process.once('disconnect', () => process.exit(0));
};
