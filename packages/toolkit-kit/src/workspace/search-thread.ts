import type { Worker } from 'node:worker_threads';
import { startThread } from 'recourse-server/files/own-thread';
import { RetryableToolError, UpstreamToolError } from 'recourse-server/tools/tool-errors';
import { checkReadable, withPlace } from './place.ts';
import type { FileAccess, Workspace } from './workspace.ts';
import { quotePath } from './workspace-path.ts';

export type SearchLimits = {
  /** Names of files and directories looked at. */
  readonly maxEntries: number;
  /** Characters of those names and of the paths of the directories, in all. */
  readonly maxNameCharacters: number;
  /** Bytes searched in one file, from its start. */
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxMatches: number;
  readonly maxMs: number;
};

export type Match = { readonly path: string; readonly line: number; readonly text: string };

export type SearchFindings = {
  readonly matches: readonly Match[];
  readonly truncated: boolean;
  /** Files that could not be opened. */
  readonly unreadable: number;
};

/** One search as the thread takes it. */
export type SearchRequest = {
  /** The workspace's root, a real path. */
  readonly root: string;
  readonly access: FileAccess;
  /** Where to search, a plain path below the root. */
  readonly path: string;
  /** What was found there when the call began. */
  readonly kind: 'file' | 'directory';
  readonly query: string;
  readonly limits: SearchLimits;
  /** Unix milliseconds at which it ends with what it has found, whatever it waited for. */
  readonly endsAtMs: number;
};

/**
 * `binary`: the one file to search is no text. `unreadable`: the system answers with this code where the search should
 * begin.
 */
export type SearchOutcome =
  | { readonly kind: 'found'; readonly findings: SearchFindings }
  | { readonly kind: 'binary' }
  | { readonly kind: 'unreadable'; readonly code: string };

/** To the thread. A search that was called off is not answered. */
export type ToSearchThread =
  | { readonly kind: 'search'; readonly id: number; readonly request: SearchRequest }
  | { readonly kind: 'call_off'; readonly id: number };

/** From the thread. */
export type FromSearchThread = { readonly id: number; readonly outcome: SearchOutcome };

/** What a search may cost: some seconds, some ten megabytes of memory, and an answer a model can still read. */
export const DEFAULT_SEARCH_LIMITS: SearchLimits = {
  maxEntries: 200_000,
  // Of 200 000 names with 40 characters, half remain.
  maxNameCharacters: 16_777_216,
  maxFileBytes: 2_097_152,
  maxTotalBytes: 1_073_741_824,
  maxMatches: 100,
  // Well inside the 30 s of the tool: what was found is worth more than a timeout.
  maxMs: 10_000,
};

type Search = {
  readonly query: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly limits: SearchLimits;
  /** What the call has left. */
  readonly timeoutMs: number;
};

// The same for a call whose caller gave it less than 30 s.
const PART_OF_TIMEOUT = 0.75;

/**
 * Searches one file, or all below a directory, until a limit is reached. Below a directory, what cannot be opened is
 * counted and passed over; a `path` that itself cannot be opened or searched rejects.
 */
export const searchText = async (
  workspace: Workspace,
  files: FileSearch,
  { query, path, signal, limits, timeoutMs }: Search,
): Promise<SearchFindings> => {
  // The thread has a clock of its own, with another origin.
  const endsAtMs = performance.timeOrigin + performance.now() + timeoutMs * PART_OF_TIMEOUT;
  const kind = await toKind(workspace, path);
  const request = { ...workspace, path, kind, query, limits, endsAtMs };
  const outcome = await files.search(request, signal);
  switch (outcome.kind) {
    case 'found':
      return outcome.findings;
    case 'binary':
      throw new RetryableToolError(`${quotePath(path)} is binary. Choose a text file or a directory.`);
    case 'unreadable':
      throw Object.assign(new Error('The file cannot be read.'), { code: outcome.code });
  }
};

/** Refuses what cannot be searched in the words of the other file tools. The thread pins it anew. */
const toKind = (workspace: Workspace, path: string): Promise<SearchRequest['kind']> =>
  withPlace(workspace, path, async ({ stats }) => {
    if (stats.isDirectory()) return 'directory';
    checkReadable(stats, path);
    return 'file';
  });

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

type PendingSearch = { readonly resolve: (outcome: SearchOutcome) => void; readonly reject: (error: unknown) => void };

type Thread = {
  readonly worker: Worker;
  /** By the id of the search. */
  readonly pending: Map<number, PendingSearch>;
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
    for (const { reject } of ended.pending.values()) reject(toStopped(ended.reason));
  };

  const forget = ({ pending, worker }: Thread, id: number): void => {
    pending.delete(id);
    if (pending.size > 0 || isClosed) return;
    // An idle thread keeps no process from ending.
    worker.unref();
    clearTimeout(idle);
    idle = setTimeout(() => void stop(), idleMs).unref();
  };

  const start = (): Thread => {
    const started: Thread = { worker: startWorker(file), pending: new Map(), reason: undefined };
    started.worker.on('message', ({ id, outcome }: FromSearchThread) => {
      started.pending.get(id)?.resolve(outcome);
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
      const current = thread;
      lastId += 1;
      const id = lastId;
      const { promise, resolve, reject } = Promise.withResolvers<SearchOutcome>();
      current.pending.set(id, { resolve, reject });
      current.worker.ref();
      say(current, { kind: 'search', id, request });
      const onAbort = (): void => {
        say(current, { kind: 'call_off', id });
        forget(current, id);
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
  startThread(file, {
    name: 'file-search',
    // Texts are looked through once: 16 MB, the default, would only fill with what nobody needs any more.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });

const say = ({ worker }: Thread, message: ToSearchThread): void => worker.postMessage(message);

const toStopped = (cause: unknown): UpstreamToolError =>
  new UpstreamToolError('upstream_unavailable', 'The search stopped before it ended. Call again.', {
    executed: 'maybe',
    cause,
  });
