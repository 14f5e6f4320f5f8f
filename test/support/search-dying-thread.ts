import { parentPort } from 'node:worker_threads';
import '@recourse/toolkit-kit/workspace/searching/search-worker';

// The real thread that searches files, but for one word that ends it as soon as it is looked for.
parentPort?.on('message', (message: unknown) => {
  if (JSON.stringify(message).includes('dropdead')) process.exit(3);
});
