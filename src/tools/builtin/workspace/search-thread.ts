import { Worker } from 'node:worker_threads';
import { UpstreamToolError } from '../../tool-errors.ts';
import type { FromSearchThread, SearchOutcome, SearchRequest, ToSearchThread } from './search-messages.ts';

/** Searches files beside the event loop. */
export type FileSearch = {
  /** Rejects with the signal's reason as soon as it is aborted, and with UpstreamToolError where the thread has ended. */
  readonly search: (request: SearchRequest, signal: AbortSignal) => Promise<SearchOutcome>;
  /** Ends the thread and all searches in it. */
  readonly close: () => Promise<void>;
};

export type FileSearchOptions = {
  /** How long the thread is kept without a search. */
  readonly idleMs?: number;
  /** Another file to run as the thread, for tests. */
  readonly file?: URL;
};

const SEARCH_WORKER = new URL(
  `./searching/search-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`,
  import.meta.url,
);

// Starting takes some 50 ms; what is kept meanwhile is some 10 MB.
const IDLE_MS = 60_000;

type Asked = { readonly resolve: (outcome: SearchOutcome) => void; readonly reject: (error: unknown) => void };

type Thread = {
  readonly worker: Worker;
  /** By the id of the search. */
  readonly asked: Map<number, Asked>;
  /** Why it ends. */
  reason: unknown;
};

/** One thread for all searches: started with the first, stopped when there was none for a while. */
export const createFileSearch = ({ idleMs = IDLE_MS, file = SEARCH_WORKER }: FileSearchOptions = {}): FileSearch => {
  let thread: Thread | undefined;
  let idle: NodeJS.Timeout | undefined;
  let isClosed = false;
  let lastId = 0;

  const stop = async (): Promise<void> => {
    clearTimeout(idle);
    const stopped = thread;
    thread = undefined;
    await stopped?.worker.terminate();
  };

  const onEnd = (ended: Thread): void => {
    if (thread === ended) thread = undefined;
    for (const { reject } of ended.asked.values()) reject(toStopped(ended.reason));
  };

  const forget = ({ asked, worker }: Thread, id: number): void => {
    asked.delete(id);
    if (asked.size > 0 || isClosed) return;
    // An idle thread keeps no process from ending.
    worker.unref();
    clearTimeout(idle);
    idle = setTimeout(() => void stop(), idleMs).unref();
  };

  const start = (): Thread => {
    const started: Thread = { worker: startWorker(file), asked: new Map(), reason: undefined };
    started.worker.on('message', ({ id, outcome }: FromSearchThread) => {
      started.asked.get(id)?.resolve(outcome);
      forget(started, id);
    });
    started.worker.on('error', (error) => {
      started.reason = error;
    });
    started.worker.once('exit', () => onEnd(started));
    return started;
  };

  return {
    search: async (request, signal) => {
      if (isClosed) throw toStopped(undefined);
      signal.throwIfAborted();
      clearTimeout(idle);
      thread ??= start();
      const asked = thread;
      lastId += 1;
      const id = lastId;
      const { promise, resolve, reject } = Promise.withResolvers<SearchOutcome>();
      asked.asked.set(id, { resolve, reject });
      asked.worker.ref();
      say(asked, { kind: 'search', id, request });
      const onAbort = (): void => {
        say(asked, { kind: 'call_off', id });
        forget(asked, id);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      return await promise.finally(() => signal.removeEventListener('abort', onAbort));
    },
    close: async () => {
      isClosed = true;
      await stop();
    },
  };
};

const startWorker = (file: URL): Worker =>
  new Worker(file, {
    name: 'file-search',
    // Its own code alone: nothing of the service's environment is needed there.
    env: {},
    execArgv: [],
    // Texts are looked through once: 16 MB, the default, would only fill with what nobody needs any more.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });

const say = ({ worker }: Thread, message: ToSearchThread): void => worker.postMessage(message);

const toStopped = (cause: unknown): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', 'The search stopped before it ended. Call again.', {
    executed: 'maybe',
    cause,
  });
