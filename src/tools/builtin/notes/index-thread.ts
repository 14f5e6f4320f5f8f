import { Worker } from 'node:worker_threads';
import { IndexMessage, type IndexRequest, type IndexSetup } from './index-messages.ts';

export type IndexThread = {
  readonly send: (request: IndexRequest) => void;
  /** Whether somebody waits: a process that has nothing else to do may end otherwise. */
  readonly hold: (isAwaited: boolean) => void;
  readonly end: () => Promise<void>;
};

export type IndexThreadOptions = {
  readonly file: URL;
  readonly setup: IndexSetup;
  readonly onMessage: (message: IndexMessage) => void;
  /** Once, when the thread is no more, whoever ended it. */
  readonly onEnd: (reason: string) => void;
};

/** The file of the thread, in src and in the built dist alike. */
export const INDEX_WORKER = new URL(
  `./indexing/index-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

/** Starts the thread that searches notes: SQLite is synchronous, and the service's own event loop must never wait. */
export const startIndexThread = ({ file, setup, onMessage, onEnd }: IndexThreadOptions): IndexThread => {
  const worker = new Worker(file, {
    name: 'notes-index',
    // Its own code alone: nothing of the service's environment is needed there.
    env: {},
    workerData: setup,
    execArgv: [],
    // Little is young here for long: 16 MB, the default, would only fill with what nobody needs any more. No limit of the
    // heap as a whole: passing it ends the process now and then, not the thread (nodejs/node#65019).
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  let reason = 'it was ended';
  let isEnding = false;
  worker.on('message', (message: unknown) => onMessage(IndexMessage.parse(message)));
  worker.on('error', (error: unknown) => {
    reason = String(error);
  });
  worker.once('exit', () => onEnd(reason));
  return {
    send: (request) => worker.postMessage(request),
    // A late answer must not let the process end before `end` has resolved.
    hold: (isAwaited) => (isAwaited || isEnding ? worker.ref() : worker.unref()),
    end: async () => {
      isEnding = true;
      await worker.terminate();
    },
  };
};
