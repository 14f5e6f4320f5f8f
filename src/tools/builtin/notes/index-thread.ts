import { Worker } from 'node:worker_threads';
import { IndexMessage, type IndexRequest } from './index-messages.ts';

export type IndexThread = {
  readonly send: (request: IndexRequest) => void;
  /** Whether somebody waits: a process that has nothing else to do may end otherwise. */
  readonly hold: (isAwaited: boolean) => void;
  readonly end: () => Promise<void>;
};

export type IndexThreadOptions = {
  readonly file: URL;
  readonly onMessage: (message: IndexMessage) => void;
  /** Once, when the thread is no more, whoever ended it. */
  readonly onEnd: (reason: string) => void;
};

/** The file of the thread, in src and in the built dist alike. */
export const INDEX_WORKER = new URL(
  `./indexing/index-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

// The heap holds a list of paths and one note at a time; text and index are SQLite's, outside of it.
const MAX_HEAP_MB = 512;

/** Starts the thread that searches notes: SQLite is synchronous, and the service's own event loop must never wait. */
export const startIndexThread = ({ file, onMessage, onEnd }: IndexThreadOptions): IndexThread => {
  const worker = new Worker(file, {
    name: 'notes-index',
    // Its own code alone: nothing of the service's environment is needed there.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  let reason = 'it was ended';
  worker.on('message', (message: unknown) => onMessage(IndexMessage.parse(message)));
  worker.on('error', (error: unknown) => {
    reason = String(error);
  });
  worker.once('exit', () => onEnd(reason));
  return {
    send: (request) => worker.postMessage(request),
    hold: (isAwaited) => (isAwaited ? worker.ref() : worker.unref()),
    end: () => worker.terminate().then(() => undefined),
  };
};
