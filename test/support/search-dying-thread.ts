import { parentPort } from 'node:worker_threads';
import '../../src/workspace/searching/search-worker.ts';

// The real thread that searches files, but for one word that ends it as soon as it is looked for.
parentPort?.on('message', (message: unknown) => {
  if (JSON.stringify(message).includes('dropdead')) process.exit(3);
});
