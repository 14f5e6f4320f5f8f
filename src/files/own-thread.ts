import { Worker, type WorkerOptions } from 'node:worker_threads';
import { SOURCE_FLAGS } from './own-package.ts';

/** Starts a thread of the service's own code. It gets nothing of the environment, and no flag that the process was started with. */
export const startThread = (file: URL, options: WorkerOptions & { readonly name: string }): Worker =>
  new Worker(file, { env: {}, execArgv: [...SOURCE_FLAGS], ...options });
