import { parentPort } from 'node:worker_threads';
import '#src/indexing/index-worker.ts';

// The real thread of the notes' index, but for one word that ends it as soon as it is asked for.
parentPort?.on('message', (message: unknown) => {
  if (JSON.stringify(message).includes('dropdead')) process.exit(3);
});
